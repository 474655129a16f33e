"""All that is wrong with a file, with line numbers, and what would be done about it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.app import words
from widemargin.app.columns import DROPPED, Kind, Study, study_table
from widemargin.app.errors import AppError, clip, numbered, quoted
from widemargin.app.labels import find_labels, target_column
from widemargin.app.preparing import problem_of
from widemargin.app.tables import Column, Table, read_table


@dataclass
class Check:
    """What a look at a file found: problems stop `fit`, remarks do not."""

    source: str
    rows: int = 0
    columns: int = 0
    read_as: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "rows": self.rows,
            "columns": self.columns,
            "read_as": self.read_as,
            "usable": not self.problems,
            "problems": self.problems,
            "remarks": self.remarks,
        }


def check_file(path: str, target: str | None) -> Check:
    """Read a file to its end, whatever is in it, and study every column."""
    lines_of: dict[str, list[int]] = {}

    def collect(line: int, text: str) -> None:
        lines_of.setdefault(text, []).append(line)

    table = read_table(path, target=target, report=collect)
    found = Check(table.source, table.n_rows, len(table.columns), table.how)
    for text, lines in lines_of.items():
        if lines == [0]:
            found.problems.append(text)
        else:
            word = "line" if len(lines) == 1 else "lines"
            found.problems.append(f"{word} {numbered(lines)}: {text}")
    if table.n_rows and table.complete:
        _check_target(table, target, found)
        if table.features is not None:
            found.columns = table.features.shape[1]
            _check_sparse(table, found)
        else:
            _check_columns(table, target, found)
        _check_duplicates(table, target, found)
    return found


def _check_target(table: Table, target: str | None, found: Check) -> None:
    if target is None and table.labels is None:
        found.remarks.append("name the column to be learned with --target to check it")
        return
    try:
        column = target_column(table, target)
        labels = find_labels(table, column)
    except AppError as error:
        found.problems.append(str(error).removeprefix(f"{table.source}: "))
        return
    lost = np.setdiff1d(np.arange(table.n_rows), labels.rows)
    if len(lost):
        found.remarks.append(
            f"'{column.name}' has no value in {words.plural(len(lost), 'row')} (first: "
            f"{table.where(lost[0])}); `fit` leaves them out"
        )
    small = int(np.argmin(labels.counts))
    if labels.counts[small] < 0.02 * len(labels.rows) / len(labels.classes):
        found.remarks.append(
            f"class '{clip(labels.spellings[small])}' has only "
            f"{words.plural(labels.counts[small], 'row')} of {len(labels.rows):,}; "
            "--set class_weight=balanced may help"
        )
    _check_spellings(column, found)


def _check_sparse(table: Table, found: Check) -> None:
    assert table.features is not None
    empty = np.flatnonzero(np.diff(table.features.indptr) == 0)
    if len(empty):
        found.remarks.append(
            f"{words.plural(len(empty), 'row')} without any feature (first: "
            f"{table.where(empty[0])})"
        )
    used = len(np.unique(table.features.indices))
    unused = table.features.shape[1] - used
    if not used:
        found.problems.append("no row has a feature, there is nothing to learn from")
    elif unused:
        count = words.plural(unused, "feature")
        found.remarks.append(
            f"{count} of {table.features.shape[1]:,} never occur, which is harmless"
        )


def _check_columns(table: Table, target: str | None, found: Check) -> None:
    studies = [s for s in study_table(table) if s.name != target]
    columns = {column.name: column for column in table.columns}
    for study in studies:
        column = columns[study.name]
        name = clip(study.name, 40)
        if study.kind in (Kind.FAULTY, Kind.DATE):
            found.problems.append(problem_of(table, column, study))
        elif study.kind in DROPPED:
            found.remarks.append(f"'{name}' would be left out: {study.why}")
        elif study.n_missing:
            first = int(np.flatnonzero(column.missing())[0])
            found.remarks.append(
                f"'{name}' has no value in {words.plural(study.n_missing, 'row')} "
                f"(first: {table.where(first)})"
            )
        if column.note:
            found.remarks.append(f"'{name}': {column.note}")
        if study.kind is Kind.CATEGORY:
            _check_spellings(column, found)
    if not any(study.kind in (Kind.NUMBER, Kind.CATEGORY) for study in studies):
        found.problems.append("no column can be learned from")
    _check_scales(studies, columns, found)


def _check_spellings(column: Column, found: Check) -> None:
    """``Yes`` and ``yes`` are two categories to a program."""
    if column.is_number:
        return
    alike: dict[str, set[str]] = {}
    for cell in set(column.values.tolist()) - {None}:
        alike.setdefault(" ".join(cell.casefold().split()), set()).add(cell)
    for spellings in alike.values():
        if len(spellings) > 1:
            found.remarks.append(
                f"'{clip(column.name, 40)}' has {quoted(sorted(spellings), 4)}, which "
                "count as different"
            )


def _check_scales(
    studies: list[Study], columns: dict[str, Column], found: Check
) -> None:
    from widemargin.estimators._base import SCALE_RATIO

    numbers = [study.name for study in studies if study.kind is Kind.NUMBER]
    if len(numbers) < 2:
        return
    spreads = np.array([np.nanstd(columns[name].values) for name in numbers])
    wide, narrow = int(np.argmax(spreads)), int(np.argmin(spreads))
    if spreads[wide] > SCALE_RATIO * spreads[narrow] > 0:
        ratio = spreads[wide] / spreads[narrow]
        found.remarks.append(
            f"unlike units: '{clip(numbers[wide], 30)}' spreads {ratio:,.0f} times as "
            f"wide as '{clip(numbers[narrow], 30)}'; `fit` scales them, in Python put "
            "a StandardScaler before the estimator"
        )


def _check_duplicates(table: Table, target: str | None, found: Check) -> None:
    label = table.labels
    if label is None and target in table.names:
        label = table.column(str(target))
    rows = _row_hashes(table, label)
    _, group, counts = np.unique(rows, return_inverse=True, return_counts=True)
    again = counts[group] > 1
    if label is None:
        _remark_repeats(table, again, group, "rows that occur more than once", found)
        return
    classes = _codes(label)
    pairs = np.unique(np.column_stack([group, classes]), axis=0)
    torn = np.bincount(pairs[:, 0], minlength=len(counts)) > 1
    same = again & ~torn[group]
    _remark_repeats(table, same, group, "rows that occur more than once", found)
    what = "rows with equal features but different classes"
    _remark_repeats(table, torn[group], group, what, found)


def _remark_repeats(
    table: Table,
    rows: npt.NDArray[np.bool_],
    group: npt.NDArray[np.intp],
    what: str,
    found: Check,
) -> None:
    if not rows.any():
        return
    first = int(np.flatnonzero(rows)[0])
    twin = np.flatnonzero(group == group[first])[1]
    found.remarks.append(
        f"{int(rows.sum()):,} {what} (first: {table.where(first)} and "
        f"{table.where(int(twin))})"
    )


def _row_hashes(table: Table, label: Column | None) -> npt.NDArray[Any]:
    """A number for each row, equal for equal features (and by chance in 1 of 2^64)."""
    rng = np.random.default_rng(0)
    if table.features is not None:
        return np.asarray(table.features @ rng.normal(size=table.features.shape[1]))
    total = np.zeros(table.n_rows, dtype=np.uint64)
    for column in table.columns:
        if column is not label:
            factor = rng.integers(1, 2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(
                1
            )
            total += _codes(column).astype(np.uint64) * factor
    return total


def _codes(column: Column) -> npt.NDArray[np.intp]:
    if column.is_number:
        return np.unique(column.values.astype(np.float64), return_inverse=True)[1]
    known: dict[Any, int] = {}
    codes = [known.setdefault(cell, len(known)) for cell in column.values.tolist()]
    return np.array(codes, dtype=np.intp)
