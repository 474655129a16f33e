"""How people write missing values, numbers and dates in a cell of a table."""

import re

MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "-nan", "null", "<na>", "?"])
# Read as missing only in a column whose other cells are all numbers.
WEAK_MISSING = frozenset(["none", "nil", "-", "--", ".", "missing", "unknown"])

NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")

# Numbers with groups of three digits. The blanks are the ordinary one, the no-break
# space and the narrow no-break space.
_BLANKS = " \u00a0\u202f"
_GROUPED_POINT = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?:[,'{_BLANKS}][0-9]{{3}})+(?:\.[0-9]*)?"
)
_GROUPED_COMMA = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?:[.'{_BLANKS}][0-9]{{3}})+(?:,[0-9]*)?"
)
_PLAIN_COMMA = re.compile(r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = (
    r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
    r"(?:\s*[ap]m)?(?:z|[+-][0-9:]{2,6})?"
)
_DAY = (
    r"[0-9]{4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,2})?"  # 2024-01-31, 2024-01
    r"|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})"  # 31.01.2024, 1/31/24
    rf"|[0-9]{{1,2}}[-/. ]+{_MONTH}(?:[-/. ,]+[0-9]{{2,4}})?"  # 31-Jul-18
    rf"|{_MONTH}[-/. ]+(?:[0-9]{{1,2}},?\s+)?[0-9]{{4}}"  # Jul 31, 2018
)
_DATE = re.compile(rf"(?:{_DAY})(?:[T\s]+{_TIME})?|{_TIME}", re.IGNORECASE)


def is_missing(cell: str, *, weak: bool = False) -> bool:
    """``NA`` and the like; with `weak` also what may be a category (``none``)."""
    folded = cell.strip().lower()
    return folded in MISSING or (weak and folded in WEAK_MISSING)


def point_number(cell: str) -> float | None:
    """1234.5, or 1,234.5 with groups of three."""
    if NUMBER.fullmatch(cell):
        return float(cell)
    if _GROUPED_POINT.fullmatch(cell):
        return float(re.sub(rf"[,'{_BLANKS}]", "", cell))
    return None


def comma_number(cell: str) -> float | None:
    """1234,5, or 1.234,5 with groups of three."""
    if _PLAIN_COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    if _GROUPED_COMMA.fullmatch(cell):
        return float(re.sub(rf"[.'{_BLANKS}]", "", cell).replace(",", "."))
    return None


def is_number(cell: str) -> bool:
    """A number in any of the spellings above."""
    return point_number(cell) is not None or comma_number(cell) is not None


def is_date(cell: str) -> bool:
    """A date or a time; what is also a plain number (2024.1) is a number first."""
    return not NUMBER.fullmatch(cell) and _DATE.fullmatch(cell) is not None
