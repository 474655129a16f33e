"""Labels and scores for new rows."""

import csv
import io
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.app import words
from widemargin.app.errors import AppError, quoted
from widemargin.app.models import Model
from widemargin.app.preparing import match_columns
from widemargin.app.spelling import point_number
from widemargin.app.summary import interval
from widemargin.app.tables import Table, spelled
from widemargin.app.training import score


@dataclass
class Predictions:
    """What the model says of a table, in the order of its rows."""

    labels: list[str]
    scores: npt.NDArray[np.float64]  # (n_rows, n_scores)
    score_names: list[str]
    truth: dict[str, Any] | None = None  # scores, where the target is known
    notes: list[str] = field(default_factory=list)


def predict_table(model: Model, table: Table) -> Predictions:
    """Predict all rows of a table, and compare with its target where it has one."""
    notes = []
    if not model.plan.sparse and table.features is None:
        notes += match_columns(model.plan, table, model.target)
        notes += _unseen(model, table)
        notes += _filled(model, table)
    matrix = model.matrix(table)
    scores = np.asarray(model.pipeline.decision_function(matrix))
    if scores.ndim == 1:  # the sign decides; kernel values are not computed twice
        values = model.pipeline.classes_[(scores > 0).astype(int)]
    else:
        values = np.asarray(model.pipeline.predict(matrix))
    result = Predictions(
        labels=model.spell(values),
        scores=scores.reshape(len(values), -1),
        score_names=_score_names(model, scores),
        notes=notes,
    )
    _compare(model, table, values, result)
    return result


def _score_names(model: Model, scores: npt.NDArray[Any]) -> list[str]:
    if scores.ndim == 1:
        return [f"score {model.spellings[1]}"]
    names = model.spellings
    by_pair = getattr(model.pipeline[-1], "decision_function_shape", "ovr") == "ovo"
    if not by_pair:
        return [f"score {name}" for name in names]
    count = range(len(names))
    return [f"score {names[i]}|{names[j]}" for i in count for j in count if i < j]


def _unseen(model: Model, table: Table) -> list[str]:
    """Words on categories that the training data did not have."""
    notes: list[str] = []
    if not model.plan.categories:
        return notes
    encoder = model.pipeline["prepare"].named_transformers_["categories"]["encode"]
    for name, levels in zip(model.plan.categories, encoder.categories_, strict=True):
        column = table.column(name)
        cells = column.values if column.text is None else column.text
        known = set(levels)
        texts = [None if c is None or c != c else spelled(c) for c in cells]
        new = sorted({text for text in texts if text is not None} - known)
        if new:
            rows = sum(text in set(new) for text in texts)
            notes.append(
                f"column '{name}': {quoted(new, 3)} not seen in training "
                f"({words.plural(rows, 'row')}), treated as none of the known ones"
            )
    return notes


def _filled(model: Model, table: Table) -> list[str]:
    """Words on missing values."""
    names = [n for n in model.plan.names if table.column(n).missing().any()]
    if not names:
        return []
    rows = np.zeros(table.n_rows, dtype=bool)
    for name in names:
        rows |= table.column(name).missing()
    return [
        f"values are missing in {words.plural(int(rows.sum()), 'row')} "
        f"({quoted(names, 3)}); they are filled as in training"
    ]


def _compare(
    model: Model, table: Table, values: npt.NDArray[Any], result: Predictions
) -> None:
    """Score the predictions of the rows whose class is known to the model."""
    column = table.labels
    if column is None:
        if model.target not in table.names:
            return
        column = table.column(model.target)
    cells = column.values.tolist()
    whole = not isinstance(model.classes[0], str)
    truth = [_as_class(cell, whole=whole) for cell in cells]
    known = set(model.classes)
    rows = [i for i, label in enumerate(truth) if label in known]
    new = sorted({str(t) for t in truth if t is not None and t not in known})
    if new:
        lost = sum(t is not None and t not in known for t in truth)
        result.notes.append(
            f"'{model.target}' is {quoted(new, 3)} in {words.plural(lost, 'row')}, "
            "which the model does not know; they are left out of the scores"
        )
    if rows:
        right = np.array([truth[i] for i in rows], dtype=values.dtype)
        result.truth = score(right, values[rows], model.classes)


def _as_class(cell: Any, *, whole: bool) -> Any:
    """A cell of the target as the model's classes are: whole numbers or text."""
    if cell is None or cell != cell:
        return None
    if not whole:
        return spelled(cell)
    number = point_number(cell) if isinstance(cell, str) else float(cell)
    if number is None or not number.is_integer():
        return cell
    return int(number)


def truth_in_words(truth: dict[str, Any]) -> str:
    return (
        f"accuracy {words.percent(truth['accuracy'])} on "
        f"{words.plural(truth['rows'], 'row')} (95% interval {interval(truth)}), "
        f"balanced accuracy {words.percent(truth['balanced_accuracy'])}"
    )


def as_csv(result: Predictions) -> str:
    """Prediction and scores; nine digits bring back every float32."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["prediction", *result.score_names])
    for label, scores in zip(result.labels, result.scores.tolist(), strict=True):
        writer.writerow([label, *(f"{value:.9g}" for value in scores)])
    return text.getvalue()


def as_json(result: Predictions) -> dict[str, Any]:
    return {
        "predictions": result.labels,
        "score_names": result.score_names,
        "scores": result.scores.tolist(),
        "truth": result.truth,
        "notes": result.notes,
    }


def check_file(path: Path, inputs: list[str]) -> None:
    """Find out before the work whether the output can be written."""
    if path.is_dir():
        raise AppError(f"--output {path} is a folder; name a file")
    for name in inputs:
        if name != "-" and path.exists() and path.samefile(name):
            raise AppError(f"--output {path} is the input; name another file")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        what = error.strerror or str(error)
        raise AppError(f"--output {path} cannot be written: {what}") from error


def write_file(path: Path, text: str) -> None:
    """Write all of it or nothing."""
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            what = error.strerror or str(error)
            raise AppError(f"--output {path} cannot be written: {what}") from error
        raise
