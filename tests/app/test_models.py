"""Saved models: whole or not at all, and never code from elsewhere."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io

from widemargin.app.errors import AppError
from widemargin.app.learners import find_learner, parse_settings
from widemargin.app.models import (
    FILE,
    Model,
    check_output,
    default_output,
    load,
    save,
)
from widemargin.app.tables import read_table
from widemargin.app.training import Request, fit_table


def silent(text: str) -> None:
    pass


@pytest.fixture
def model(flowers: Path) -> Model:
    request = Request(find_learner("svc"), {"C": 3.0}, "class")
    return fit_table(read_table(str(flowers), target="class"), request, silent)


@pytest.fixture
def folder(model: Model, tmp_path: Path) -> Path:
    save(model, tmp_path / "flowers.wm")
    return tmp_path / "flowers.wm"


def test_round_trip(model: Model, folder: Path, flowers: Path) -> None:
    again = load(folder)
    table = read_table(str(flowers))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    np.testing.assert_array_equal(
        again.decision_function(table), model.decision_function(table)
    )
    assert again.spellings == ["lily", "rose"]
    assert again.target == "class"
    assert again.plan == model.plan
    versions = again.facts.pop("versions")
    assert set(versions) == {"widemargin", "python", "numpy", "scikit-learn"}
    assert again.facts == model.facts
    assert load(folder / FILE).target == "class"  # the file itself will do


def test_data_frames_in_labels_out(
    model: Model, flowers: Path, require_package: Callable[[str], Any]
) -> None:
    pandas, polars = require_package("pandas"), require_package("polars")
    expected = model.predict(read_table(str(flowers)))
    frame = pandas.read_csv(flowers)
    np.testing.assert_array_equal(model.predict(frame), expected)
    # Other order, more columns, a column less (the target).
    shuffled = frame[["colour", "height", "width"]].assign(more=1)
    np.testing.assert_array_equal(model.predict(shuffled), expected)
    np.testing.assert_array_equal(model.predict(polars.read_csv(flowers)), expected)
    np.testing.assert_array_equal(model.predict(frame.to_dict("list")), expected)
    with pytest.raises(AppError, match="the data frame lacks the column 'width'"):
        model.predict(frame.drop(columns="width"))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
def test_libsvm_round_trip(sparse: bool, kernel: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(80):
        used = sorted(rng.choice(30, 3 if sparse else 25, replace=False) + 1)
        pairs = " ".join(f"{i}:{rng.normal():.3f}" for i in used)
        rows.append(f"{rng.integers(3)} {pairs}")
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(rows))
    request = Request(find_learner("svc"), {"kernel": kernel}, holdout=0)
    table = read_table(str(path))
    model = fit_table(table, request, silent)
    assert model.plan.sparse is sparse
    save(model, tmp_path / "m.wm")
    again = load(tmp_path / "m.wm")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def test_an_interrupted_save_leaves_the_old_file(
    model: Model, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder / FILE).read_bytes()

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(model, folder)
    assert [path.name for path in folder.iterdir()] == [FILE]
    assert (folder / FILE).read_bytes() == before


def test_an_interrupted_first_save_leaves_nothing(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AppError, match=r"cannot be written to .*: No space left on"):
        save(model, tmp_path / "new.wm")
    assert not (tmp_path / "new.wm").exists()


class Evil:
    """An object whose loading would run code."""

    def __reduce__(self) -> Any:
        return (Path("ran").touch, ())


def rewritten(file: Path, **changes: Any) -> None:
    """Write the zip file again, with members replaced (valid checksums)."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= {name: data for name, data in changes.get("members", {}).items()}
    compression = changes.get("compression", zipfile.ZIP_STORED)
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def schema_of(file: Path) -> Any:
    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read("schema.json"))


def refused(file: Path) -> str:
    with pytest.raises(AppError) as caught:
        load(file)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_other_files_are_refused(folder: Path, tmp_path: Path) -> None:
    file = folder / FILE
    assert "there is no such model; " in refused(tmp_path / "none.wm")
    empty = tmp_path / "empty.wm"
    empty.mkdir()
    assert "is a folder without a model" in refused(empty)
    whole = file.read_bytes()
    file.write_bytes(pickle.dumps(Evil()))
    assert "is not a widemargin model, or is damaged" in refused(file)
    file.write_bytes(whole[: len(whole) // 2])
    assert "is not a widemargin model, or is damaged" in refused(file)
    middle = whole.index(b"NUMPY") + 200
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    file.write_bytes(flipped)
    assert "damaged" in refused(file)
    assert not Path("ran").exists()


def test_foreign_types_are_refused(folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    file = folder / FILE
    skops.io.dump({"format": 1, "pipeline": LogisticRegression()}, file)
    assert "of the type sklearn.linear_model._logistic.LogisticRegression" in refused(
        file
    )
    skops.io.dump({"format": 1, "function": np.linalg.norm}, file)
    assert "it was not loaded" in refused(file)
    skops.io.dump({"other": 1}, file)
    assert "is not a widemargin model" in refused(file)
    skops.io.dump({"format": 1, "versions": {}, "pipeline": 3, "rest": "{}"}, file)
    assert "is not a complete widemargin model" in refused(file)


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "TypeNode"),
        ("widemargin.estimators.svc", "SVC", "ReduceNode"),
        ("subprocess", "Popen", "ObjectNode"),
    ],
)
def test_tampered_types_are_refused(
    module: str, name: str, loader: str, folder: Path
) -> None:
    schema = schema_of(folder / FILE)
    node = {"__module__": module, "__class__": name, "__loader__": loader}
    schema["content"]["more"] = {**node, "content": {}}
    rewritten(folder / FILE, members={"schema.json": json.dumps(schema)})
    message = refused(folder / FILE)
    assert f"of the type {module}.{name}" in message


def test_a_huge_array_is_refused_before_it_is_allocated(folder: Path) -> None:
    with zipfile.ZipFile(folder / FILE) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".npy"))
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
    np.lib.format.write_array_header_1_0(stream, header)
    rewritten(folder / FILE, members={name: stream.getvalue() + b"\0" * 64})
    assert "an array is not as long as it says" in refused(folder / FILE)


def test_packed_members_are_refused(folder: Path) -> None:
    """A few kB cannot unpack to gigabytes, since nothing is unpacked."""
    rewritten(folder / FILE, compression=zipfile.ZIP_DEFLATED)
    assert "was not written by widemargin" in refused(folder / FILE)


def test_parts_that_do_not_fit_together_are_refused(model: Model, folder: Path) -> None:
    model.pipeline[-1].dual_coef_ = model.pipeline[-1].dual_coef_[:, :-1]
    save(model, folder)
    assert "is not a complete widemargin model" in refused(folder)


def test_a_model_of_a_newer_version(
    model: Model, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widemargin.app.models.FORMAT", 2)
    monkeypatch.setattr("widemargin.app.models.__version__", "9.1")
    save(model, folder)
    monkeypatch.undo()
    assert "was written by widemargin 9.1" in refused(folder)
    assert "install the newer version" in refused(folder)


@pytest.mark.parametrize(
    ("table", "folder"),
    [
        ("a/b/iris.csv.gz", "iris.wm"),
        ("iris.data", "iris.wm"),
        ("a9a.gz", "a9a.wm"),
        ("a9a.t", "a9a.t.wm"),
        ("my table.parquet", "my table.wm"),
        (".csv", ".csv.wm"),
        ("-", "model.wm"),
    ],
)
def test_default_output(table: str, folder: str) -> None:
    assert default_output(table) == Path(folder)


def test_output_is_checked_before_training(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        AppError, match="holds a model already; replace it with --force"
    ):
        check_output(folder, force=False)
    check_output(folder, force=True)
    check_output(tmp_path / "deep" / "down" / "new.wm", force=False)
    assert not (tmp_path / "deep").exists()
    with pytest.raises(AppError, match="is a file; name another folder"):
        check_output(folder / FILE, force=True)

    def denied(**options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    with pytest.raises(AppError, match=r"cannot be written to .*: Permission denied"):
        check_output(tmp_path / "new.wm", force=False)


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("C=10", 10),
        ("C=.5", 0.5),
        ("C=1e-3", 1e-3),
        ("kernel=linear", "linear"),
        ("shrinking=false", False),
        ("class_weight=balanced", "balanced"),
        ('class_weight={"a": 2}', {"a": 2}),
        ("calibration=None", None),
        ("gamma=[0.1, 0.2]", [0.1, 0.2]),
    ],
)
def test_settings(item: str, value: Any) -> None:
    assert parse_settings(find_learner("svc"), [item]) == {item.split("=")[0]: value}
