"""Saved models: one file that never runs code when it is loaded.

`save` writes ``NAME.wm/model.skops`` so that an interruption leaves the old file or
the new one, never half of it. `load` first reads the file's own list of types and
refuses all but ours and those of scikit-learn that a model of the program consists
of; it also compares every stated array size with the bytes that are there, before
anything of that size is allocated.
"""

import json
import os
import sys
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin import __version__
from widemargin.app.errors import AppError, quoted
from widemargin.app.labels import spell_labels
from widemargin.app.learners import LEARNERS
from widemargin.app.preparing import (
    Plan,
    as_columns,
    check_width,
    feature_matrix,
    match_columns,
)
from widemargin.app.tables import Table

FORMAT = 1
FILE = "model.skops"

# All that a model of the program is made of. skops would trust far more.
_TYPES = {
    *("builtins." + name for name in ("str", "list", "tuple", "dict", "slice")),
    *("builtins." + name for name in ("int", "float", "bool")),
    *("numpy." + name for name in ("ndarray", "dtype", "float64", "int64", "int32")),
    *("numpy." + name for name in ("bool", "bool_", "str_", "object_", "float32")),
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csr.csr_array",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.MaxAbsScaler",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
}
_LOADERS = {
    *("JsonNode", "TypeNode", "ListNode", "TupleNode", "DictNode", "SliceNode"),
    *("NdArrayNode", "DTypeNode", "ObjectNode", "SparseMatrixNode", "MaskedArrayNode"),
}


@dataclass
class Model:
    """A fitted pipeline with all that is needed to use it on a new table."""

    pipeline: Any
    plan: Plan
    target: str
    classes: list[Any]
    spellings: list[str]
    facts: dict[str, Any]

    def table_of(self, data: Any) -> Table:
        """`data` (a table, data frame or dict of arrays) as a table of the program."""
        return data if isinstance(data, Table) else Table.from_frame(data)

    def matrix(self, table: Table) -> Any:
        """The learner's matrix of a new table, in the order of its rows."""
        if table.features is not None and not self.plan.sparse:
            names = set(self.plan.names) | set(self.plan.dropped)
            if all(name.isdigit() for name in names):
                # Trailing zeros are not written: the model knows how wide rows are.
                table = _padded(table, names)
        if not self.plan.sparse:
            match_columns(self.plan, table, self.target)
        return feature_matrix(self.plan, table)

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """Labels for a table, a data frame or a dict of arrays."""
        return np.asarray(self.pipeline.predict(self.matrix(self.table_of(data))))

    def decision_function(self, data: Any) -> npt.NDArray[np.float64]:
        """Scores; with two classes, above 0 means the second one."""
        matrix = self.matrix(self.table_of(data))
        return np.asarray(self.pipeline.decision_function(matrix))

    def spell(self, labels: npt.NDArray[Any]) -> list[str]:
        """Labels as the training file spelled them."""
        return spell_labels(labels, self.classes, self.spellings)


def _padded(table: Table, names: set[str]) -> Table:
    width = max(map(int, names))
    check_width(table, width)
    return as_columns(table, width)


def versions() -> dict[str, str]:
    import sklearn

    return {
        "widemargin": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def default_output(table: str) -> Path:
    """``data/iris.csv.gz`` gives ``iris.wm`` here; standard input gives model.wm."""
    if table == "-":
        return Path("model.wm")
    name = Path(table).name
    known = [".gz", ".bz2", ".csv", ".tsv", ".txt", ".data", ".dat", ".parquet"]
    known += [".json", ".jsonl", ".ndjson", ".svmlight", ".libsvm", ".svm"]
    shorter = True
    while shorter:
        shorter = False
        for ending in known:
            if name.lower().endswith(ending) and len(name) > len(ending):
                name, shorter = name[: -len(ending)], True
    return Path(f"{name}.wm")


def check_output(folder: Path, *, force: bool) -> None:
    """Find out before training whether the model can be written afterwards."""
    if folder.exists() and not folder.is_dir():
        raise AppError(f"{folder} is a file; name another folder with --output")
    if (folder / FILE).exists() and not force:
        raise AppError(
            f"{folder} holds a model already; replace it with --force, "
            "or name another folder with --output"
        )
    nearest = folder
    while not nearest.exists():
        nearest = nearest.parent
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        what = error.strerror or str(error)
        raise AppError(
            f"the model cannot be written to {folder}: {what}; name a folder that can "
            "be written with --output"
        ) from error


def save(model: Model, path: str | Path) -> Path:
    """Write a model to the folder `path`; returns the file written."""
    import skops.io

    content = {
        "format": FORMAT,
        "versions": versions(),
        "pipeline": model.pipeline,
        # Text, not nested objects: what is not code need not be vetted as code.
        "rest": json.dumps(
            {
                "plan": asdict(model.plan),
                "target": model.target,
                "classes": model.classes,
                "spellings": model.spellings,
                "facts": model.facts,
            }
        ),
    }
    data = skops.io.dumps(content)
    folder = Path(path)
    try:
        return _write(folder, data)
    except OSError as error:
        what = error.strerror or str(error)
        raise AppError(f"the model cannot be written to {folder}: {what}") from error


def _write(folder: Path, data: bytes) -> Path:
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(folder / FILE)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)
            if is_new:
                folder.rmdir()
        raise
    return folder / FILE


def load(path: str | Path) -> Model:
    """Read a model that `save` wrote; a file from elsewhere is refused unread."""
    file = _model_file(Path(path))
    trusted = _TYPES.union(*(learner.types for learner in LEARNERS.values()))
    try:
        _vet(file, trusted)
        content = _construct(file, sorted(trusted))
    except AppError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise AppError(f"{file} is not a widemargin model, or is damaged") from error
    except (ArithmeticError, AttributeError, ImportError, LookupError, MemoryError,
            RecursionError, TypeError, ValueError) as error:  # fmt: skip
        raise AppError(
            f"{file} is damaged or of another version ({type(error).__name__}); "
            "fit the model again"
        ) from error
    return _checked(file, content)


def _model_file(path: Path) -> Path:
    if path.is_dir():
        if not (path / FILE).exists():
            raise AppError(f"{path} is a folder without a model ({FILE}) in it")
        return path / FILE
    if not path.exists():
        near = [str(p) for p in sorted(Path(".").glob("*.wm"))][:3]
        hint = f"; here are {quoted(near)}" if near else "; `widemargin fit` makes one"
        raise AppError(f"{path}: there is no such model{hint}")
    return path


def _vet(file: Path, allowed: set[str]) -> None:
    """Refuse types outside `allowed`, packed members and false array sizes."""
    with zipfile.ZipFile(file) as archive:
        if archive.testzip() is not None:
            raise AppError(f"{file} is damaged: its checksum is wrong")
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise AppError(f"{file} was not written by widemargin")
            if member.filename.endswith(".npy"):
                _vet_array(file, archive, member)
        if "schema.json" not in archive.namelist():
            raise AppError(f"{file} is not a widemargin model")
        schema = json.loads(archive.read("schema.json"))
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict):
            pending += node.values()
            if "__loader__" in node:
                kind = f"{node.get('__module__')}.{node.get('__class__')}"
                if kind not in allowed or node["__loader__"] not in _LOADERS:
                    raise AppError(
                        f"{file} holds an object of the type {kind}, which no model of "
                        "widemargin has; it was not loaded"
                    )


def _vet_array(file: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    from numpy.lib import format as npy

    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read = (
            npy.read_array_header_1_0
            if version == (1, 0)
            else npy.read_array_header_2_0
        )
        shape, _, dtype = read(stream)
        stated = dtype.itemsize
        for length in shape:
            stated *= int(length)  # Python's integers do not overflow
        if dtype.hasobject or stated != member.file_size - stream.tell():
            raise AppError(f"{file} is damaged: an array is not as long as it says")


def _construct(file: Path, trusted: list[str]) -> dict[str, Any]:
    import warnings

    import skops.io
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings():
        # `_checked` compares the versions and says so in words.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        content = skops.io.load(file, trusted=trusted)
    if not isinstance(content, dict) or "format" not in content:
        raise AppError(f"{file} is not a widemargin model")
    return content


def _checked(file: Path, content: dict[str, Any]) -> Model:
    if content["format"] > FORMAT:
        raise AppError(
            f"{file} was written by widemargin {content['versions']['widemargin']}, "
            f"this is {__version__}; install the newer version"
        )
    try:
        rest = json.loads(content["rest"])
        plan = Plan(**{f.name: rest["plan"][f.name] for f in fields(Plan)})
        model = Model(
            pipeline=content["pipeline"],
            plan=plan,
            target=rest["target"],
            classes=rest["classes"],
            spellings=rest["spellings"],
            facts={**rest["facts"], "versions": content["versions"]},
        )
        _check_learner(model)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise AppError(f"{file} is not a complete widemargin model") from error
    return model


def _check_learner(model: Model) -> None:
    fitted = model.pipeline[-1]
    learner = LEARNERS[model.facts["learner"]]
    sound = (
        fitted.classes_.tolist() == model.classes
        and len(model.spellings) == len(model.classes)
        and learner.is_sound(fitted, len(model.classes))
    )
    if not sound:
        raise ValueError("the parts of the model do not fit together")
