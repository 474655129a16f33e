"""The target column as classes: what the learner sees, and how the file spells it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.app.errors import AppError, UsageError, clip, quoted
from widemargin.app.spelling import is_date
from widemargin.app.tables import Column, Objects, Table, spelled

# More distinct numbers than this may be a measurement; fewer are taken as classes.
MAX_NUMBER_CLASSES = 20
# A measurement has few rows for each of its values.
MIN_ROWS_PER_VALUE = 5


@dataclass
class Labels:
    """Classes of the rows that have one.

    Whole numbers go to the learner as int64, everything else as text, so that
    "10" does not come before "9"; predictions are written as the file spells them.
    """

    name: str
    rows: npt.NDArray[np.intp]  # of the table, those with a label
    values: npt.NDArray[Any]  # one for each of these rows
    classes: list[Any]  # sorted
    spellings: list[str]  # of the classes, as in the file
    counts: list[int]

    def spell(self, values: npt.NDArray[Any]) -> list[str]:
        return spell_labels(values, self.classes, self.spellings)


def spell_labels(
    values: npt.NDArray[Any], classes: list[Any], spellings: list[str]
) -> list[str]:
    known = dict(zip(classes, spellings, strict=True))
    return [known[value] for value in values.tolist()]


def target_column(table: Table, target: str | None) -> Column:
    """The column to learn; a LIBSVM file brings its own."""
    if table.labels is not None:
        if target not in (None, table.labels.name):
            raise UsageError(
                f"{table.source} is a LIBSVM file, whose first number in each line is "
                f"the label; leave out --target {target}"
            )
        return table.labels
    if target is None:
        names = quoted(table.names, 8)
        raise UsageError(
            f"which column of {table.source} is to be learned? Name it with --target; "
            f"there are {names}"
        )
    return table.column(target)


def find_labels(table: Table, column: Column) -> Labels:
    """Check the target and make classes of it."""
    try:
        return _find_labels(table, column)
    except AppError as error:
        raise AppError(f"{table.source}: {error}") from None


def _find_labels(table: Table, column: Column) -> Labels:
    name = column.name
    missing = column.missing()
    rows = np.flatnonzero(~missing)
    if not len(rows):
        raise AppError(f"the target '{name}' has no value in any row")
    if column.is_number:
        values = _number_labels(table, column, rows)
    else:
        values = _text_labels(table, column, rows)
    text = column.values.astype(object) if column.text is None else column.text
    labels = _spelled_labels(name, rows, values, text[rows])
    if len(labels.classes) == 1:
        raise AppError(
            f"the target '{name}' is '{labels.spellings[0]}' in every row; "
            "two classes are needed"
        )
    single = [i for i, count in enumerate(labels.counts) if count == 1]
    if single:
        names = quoted((labels.spellings[i] for i in single), 5)
        first = rows[np.flatnonzero(values == labels.classes[single[0]])[0]]
        who = (
            f"the class {names} has only one row ({table.where(first)})"
            if len(single) == 1
            else f"{len(single)} classes have only one row: {names} (first: "
            f"{table.where(first)})"
        )
        raise AppError(
            f"{who}; every class needs two or more, so merge it with another or "
            "delete the row"
        )
    return labels


def _number_labels(
    table: Table, column: Column, rows: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    values = column.values[rows].astype(np.float64)
    if np.isinf(values).any():
        row = rows[np.flatnonzero(np.isinf(values))[0]]
        raise AppError(f"the target '{column.name}' is infinite ({table.where(row)})")
    distinct = np.unique(values)
    whole = bool(np.all(distinct == np.floor(distinct)))
    whole = whole and bool(np.abs(distinct).max() < 2**53)
    sparse_values = len(values) < MIN_ROWS_PER_VALUE * len(distinct)
    if len(distinct) > MAX_NUMBER_CLASSES and (not whole or sparse_values):
        raise AppError(
            f"the target '{column.name}' looks continuous ({len(distinct):,} "
            f"different numbers from {distinct[0]:.6g} to {distinct[-1]:.6g}): that is "
            "regression, which widemargin does not do; to learn classes, cut it into "
            "ranges first"
        )
    if whole:
        return values.astype(np.int64)
    return np.array([spelled(value) for value in values.tolist()])


def _text_labels(
    table: Table, column: Column, rows: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    cells = [str(cell) for cell in column.values[rows]]
    distinct = sorted(set(cells))
    if column.is_date or sum(map(is_date, distinct)) > len(distinct) / 2:
        raise AppError(
            f"the target '{column.name}' holds dates such as "
            f"'{clip(distinct[0], 30)}', not classes"
        )
    if len(distinct) > MAX_NUMBER_CLASSES and len(cells) < 2 * len(distinct):
        raise AppError(
            f"the target '{column.name}' has {len(distinct):,} different values in "
            f"{len(cells):,} rows, such as {quoted(distinct[:2])}: too many to be "
            "classes; name another column with --target"
        )
    return np.array(cells)


def _spelled_labels(
    name: str, rows: npt.NDArray[np.intp], values: npt.NDArray[Any], text: Objects
) -> Labels:
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    spellings = []
    for code in range(len(classes)):
        written = Counter(text[codes == code].tolist())
        # The commonest spelling ("+1" or "1.0"), the first one in a draw.
        spelling = written.most_common(1)[0][0]
        spellings.append(spelled(spelling) if spelling is not None else "")
    return Labels(name, rows, values, classes.tolist(), spellings, counts.tolist())
