"""What the columns of a table are: numbers, categories, identifiers, dates, text.

`study` looks at one column and says; the rules are few and each is told to the user
in the words of `Study.why`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from widemargin.app.errors import clip, quoted
from widemargin.app.spelling import WEAK_MISSING, is_date, is_number
from widemargin.app.tables import Column, Table

# More distinct values than this, on more than this share of the rows, is free text.
MAX_CATEGORIES = 50
MAX_CATEGORY_SHARE = 0.2
# A text column of which this share are numbers is a number column with mistakes.
NUMBER_SHARE = 0.9
# Its square and the sum of such squares are still finite numbers.
LARGEST = 1e100
# Rows below which 1, 2, 3, ... may well be a measurement and not a row number.
MIN_ROWS_FOR_ROW_NUMBERS = 20


class Kind(StrEnum):
    NUMBER = "number"
    CATEGORY = "category"
    IDENTIFIER = "identifier"
    TEXT = "text"
    CONSTANT = "constant"
    EMPTY = "empty"
    DATE = "date"
    FAULTY = "faulty"  # numbers, but for a few cells


USABLE = (Kind.NUMBER, Kind.CATEGORY)
DROPPED = (Kind.IDENTIFIER, Kind.TEXT, Kind.CONSTANT, Kind.EMPTY)


@dataclass
class Study:
    """What one column is, and why."""

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    why: str  # a clause: "all 150 values differ"
    bad_rows: list[int]  # of the cells that make it faulty, or that are infinite


_ID_NAME = re.compile(
    r"(?:.*[_\-. ])?(?:ids?|uuid|guid|key|index|idx|row ?(?:id|no|nr|num|number|name)?)"
    r"|.*[a-z]I[dD]|unnamed: ?0",
)


def study_table(table: Table) -> list[Study]:
    return [study(column) for column in table.columns]


def study(column: Column) -> Study:
    """Decide what a column is."""
    return _study_numbers(column) if column.is_number else _study_text(column)


def _study_numbers(column: Column) -> Study:
    values = column.values.astype(np.float64, copy=False)
    missing = np.isnan(values)
    known = values[~missing]
    n_distinct = len(np.unique(known))
    n = len(known)

    def found(kind: Kind, why: str, bad: list[int] | None = None) -> Study:
        n_missing = int(missing.sum())
        return Study(column.name, kind, n_missing, n_distinct, why, bad or [])

    if n == 0:
        return found(Kind.EMPTY, "it has no value in any row")
    infinite = np.flatnonzero(np.isinf(values)).tolist()
    if infinite:
        return found(Kind.FAULTY, "infinite values", infinite)
    huge = np.flatnonzero(np.abs(values) > LARGEST).tolist()
    if huge:
        text = f"{values[huge[0]]:.3g}, too large a number to compute with"
        return found(Kind.FAULTY, text, huge)
    if n_distinct == 1:
        return found(Kind.CONSTANT, f"it is {known[0]:g} in every row")
    if n_distinct == n and not missing.any() and bool(np.all(known == np.floor(known))):
        low, high = known.min(), known.max()
        named = _ID_NAME.fullmatch(_words(column.name)) is not None
        counting = high - low == n - 1 and (
            low in (0, 1) or bool(np.all(np.diff(known) == 1))
        )
        if counting and (named or n >= MIN_ROWS_FOR_ROW_NUMBERS):
            return found(
                Kind.IDENTIFIER, f"it counts the rows from {low:g} to {high:g}"
            )
        if named:
            return found(
                Kind.IDENTIFIER, f"a whole number of its own in all {n:,} rows"
            )
    if "date" in column.name.lower() and _eight_digits(known):
        return found(Kind.DATE, f"dates such as {known[0]:.0f}")
    return found(Kind.NUMBER, "")


def _words(name: str) -> str:
    """``customerID`` keeps its capitals for the pattern; all else is folded."""
    return name if re.search(r"[a-z]I[dD]$", name) else name.lower()


def _eight_digits(known: np.ndarray) -> bool:
    """20240131 and the like."""
    month, day = known // 100 % 100, known % 100
    inside = (known >= 1800_01_01) & (known <= 2199_12_31)
    return bool(
        np.all(inside & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))
    )


def _study_text(column: Column) -> Study:
    cells = column.values
    known = [(row, cell) for row, cell in enumerate(cells) if cell is not None]
    distinct = {cell for _, cell in known}
    n, n_distinct = len(known), len(distinct)

    def found(kind: Kind, why: str, bad: list[int] | None = None) -> Study:
        return Study(column.name, kind, len(cells) - n, n_distinct, why, bad or [])

    if n == 0:
        return found(Kind.EMPTY, "it has no value in any row")
    if n_distinct == 1:
        return found(Kind.CONSTANT, f"it is '{clip(known[0][1], 30)}' in every row")
    dates = sum(1 for cell in distinct if is_date(cell))
    if column.is_date or dates >= NUMBER_SHARE * n_distinct:
        example = next(cell for _, cell in known if column.is_date or is_date(cell))
        return found(Kind.DATE, f"dates or times such as '{clip(example, 30)}'")
    numbers = {cell for cell in distinct if is_number(cell)}
    odd = [
        row
        for row, cell in known
        if cell not in numbers and cell.lower() not in WEAK_MISSING
    ]
    if len(numbers) >= 5 and len(odd) <= max(1.0, (1 - NUMBER_SHARE) * n):
        words = quoted(sorted({cells[row] for row in odd}), 3)
        return found(Kind.FAULTY, f"numbers, but for {words}", odd)
    if n_distinct == n and n > 2:
        return found(Kind.IDENTIFIER, f"all its {n:,} values differ")
    if n_distinct > MAX_CATEGORIES and n_distinct > MAX_CATEGORY_SHARE * n:
        return found(Kind.TEXT, f"{n_distinct:,} different texts in {n:,} rows")
    return found(Kind.CATEGORY, "")
