"""The first look at a text table: delimiter, quotes, header, decimal sign.

Nothing here is final: the reader then checks every line of the file against what
this look found, and stops at the first line that does not fit.
"""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from widemargin.app.errors import AppError
from widemargin.app.spelling import is_missing, is_number

_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9.]*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?[0-9,]*\.[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
# 1,234 is a thousand in one country and one and a bit in another.
_EITHER = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}\s*")

_DELIMITERS = [",", ";", "\t", "|"]
_LOOK_ROWS = 1000


@dataclass(frozen=True)
class Look:
    """How to read a delimited file."""

    encoding: str
    delimiter: str
    quote: str = '"'
    escape: str | None = None
    header: bool = True
    decimal: str = "."
    names: tuple[str, ...] = ()  # of the columns, made up where there is no header
    skip_lines: int = 0  # comment lines and Excel's "sep=" before the table
    short_header: bool = False  # one name fewer than fields, and that is meant
    notes: tuple[str, ...] = field(default=())

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Python's CSV reader with these settings; `strict` finds broken quotes."""
        if self.delimiter == " ":
            lines = (line.strip() for line in lines)
        return make_reader(lines, self.delimiter, self.quote, self.escape, strict=True)


def make_reader(
    lines: Iterable[str],
    delimiter: str,
    quote: str = '"',
    escape: str | None = None,
    *,
    strict: bool = False,
) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 24)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote,
        doublequote=True,
        escapechar=escape,
        skipinitialspace=True,
        strict=strict,
    )


def find_look(text: str, encoding: str, names: Collection[str] = ()) -> Look:
    """Delimiter, quotes, header and decimal sign of the text of a delimited file.

    `names` are columns the table should have: a first line that holds one of them is
    the header, whatever else it looks like.
    """
    lines = text.splitlines(keepends=True)
    notes: list[str] = []
    delimiter, skip = _leading_lines(lines)
    lines = lines[skip:]
    if skip:
        notes.append(f"{skip} comment line{'s' * (skip > 1)} before the table skipped")
    quote, escape = '"', None
    if not delimiter:
        delimiter, quote, escape = _find_dialect(lines)
    if delimiter == " ":
        lines = [line.strip() for line in lines]
    rows = _rows(lines, delimiter, quote, escape)
    if not rows:
        raise AppError("no rows to read")
    header = _has_header(rows, known=names)
    found = [cell.strip() for cell in rows[0]] if header else [""] * _width(rows)
    short = header and len(rows) > 1 and _width(rows[1:]) == len(found) + 1
    if short:
        whole = [row for row in rows[1:] if len(row) == len(found) + 1]
        if not any(row[-1].strip() for row in whole):
            found = [*found, ""]
            notes.append("all rows end with a separator, the header does not")
        elif len({row[0] for row in whole}) == len(whole):
            found = ["row name", *found]
            notes.append("the header has one name fewer than the rows: R's row names")
        else:
            short = False
    found = _widened(found, rows) if header and not short else found
    full = [name or f"column {i}" for i, name in enumerate(found, start=1)]
    if not header:
        notes.append(f"no header line; columns are called 'column 1' to '{full[-1]}'")
    body = rows[1:] if header else rows
    return Look(
        encoding=encoding,
        delimiter=delimiter,
        quote=quote,
        escape=escape,
        header=header,
        decimal=_find_decimal(body, delimiter),
        names=tuple(full),
        skip_lines=skip,
        short_header=short,
        notes=tuple(notes),
    )


def _widened(names: list[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Names for the width of the rows, where all rows agree against the first line.

    The reader then reports the first line, a title perhaps, and not all the others.
    """
    body = rows[1:]
    if len(body) < 3 or any(len(row) != len(body[0]) for row in body):
        return names
    width = len(body[0])
    return names[:width] + [""] * (width - len(names))


def _leading_lines(lines: Sequence[str]) -> tuple[str, int]:
    """A delimiter said by Excel's ``sep=;`` line, and the lines before the table."""
    if lines and (said := re.fullmatch(r'"?sep=(.)"?\s*', lines[0], re.IGNORECASE)):
        return said.group(1), 1
    skip = 0
    while skip < len(lines) - 1 and lines[skip].startswith("#"):
        skip += 1
    if skip and skip < len(lines):
        # "#id,x,y" is a header with a hash sign, not a comment.
        last, after = lines[skip - 1], lines[skip]
        counts = [(last.count(d), after.count(d)) for d in _DELIMITERS]
        if any(mine == next_ > 0 for mine, next_ in counts):
            skip -= 1
    return "", skip


def _rows(
    lines: Sequence[str], delimiter: str, quote: str, escape: str | None
) -> list[list[str]]:
    reader = make_reader(lines, delimiter, quote, escape)
    try:
        return [row for row in islice(reader, _LOOK_ROWS) if row]
    except csv.Error:  # a broken quote: the reader proper will name its line
        plain = [line.rstrip("\r\n").split(delimiter) for line in lines[:_LOOK_ROWS]]
        return [row for row in plain if row != [""]]


def _width(rows: Sequence[Sequence[str]]) -> int:
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def _find_dialect(lines: Sequence[str]) -> tuple[str, str, str | None]:
    """Delimiter, quote and escape: what splits every line alike, into clean cells."""
    quote, escape = _find_quote(lines)
    agreement: dict[str, float] = {}
    for delimiter in _DELIMITERS:
        rows = _rows(lines, delimiter, quote, escape)
        width = _width(rows) if rows else 1
        if width > 1:
            agreement[delimiter] = sum(len(r) == width for r in rows) / len(rows)
    best = max(agreement.values(), default=0.0)
    # A ragged file must be found ragged, not read as one column: half the lines
    # agreeing on more than one field is taken as evidence enough.
    close = [d for d, share in agreement.items() if share >= max(0.5, 0.95 * best)]
    if not close:
        blank = _rows([line.strip() for line in lines], " ", quote, escape)
        body = blank[1:] or blank  # R leaves out the name above the row names
        width = _width(body) if body else 1
        same = sum(len(row) == width for row in body) / max(1, len(body))
        if width > 1 and same >= 0.95:
            return " ", quote, escape
        widest = max(agreement, key=lambda d: agreement[d], default=",")
        return (widest if best >= 0.3 else ","), quote, escape
    if len(close) == 1:
        return close[0], quote, escape
    return _tie(lines, close, quote, escape)


def _find_quote(lines: Sequence[str]) -> tuple[str, str | None]:
    """Double quotes unless single ones enclose cells; a backslash if it escapes."""
    text = "".join(lines[:_LOOK_ROWS])
    edge = r"(?:^|[,;\t|])\s*{q}[^{q}\r\n]*{q}\s*(?=[,;\t|\r\n]|$)"
    double = len(re.findall(edge.format(q='"'), text, re.MULTILINE))
    single = len(re.findall(edge.format(q="'"), text, re.MULTILINE))
    quote = "'" if single > double else '"'
    return quote, "\\" if f"\\{quote}" in text else None


def _tie(
    lines: Sequence[str], delimiters: list[str], quote: str, escape: str | None
) -> tuple[str, str, str | None]:
    """Several delimiters split all lines alike (``1,5;2,5``): judge the cells."""
    import clevercsv

    # clevercsv weighs the regularity of rows against the types of cells; its time
    # grows with the text, and a hundred lines tell as much as a thousand.
    sample = "".join(lines[:100])[:20_000]
    found = clevercsv.Detector().detect(sample, delimiters=delimiters)
    if found is not None and found.delimiter in delimiters:
        return found.delimiter, quote, escape

    def clean(delimiter: str) -> float:
        cells = [c for row in _rows(lines, delimiter, quote, escape) for c in row]
        good = sum(_is_value(cell) for cell in cells)
        return good / max(1, len(cells))

    return max(delimiters, key=clean), quote, escape


def _is_value(cell: str) -> bool:
    cell = cell.strip()
    return (
        is_missing(cell) or is_number(cell) or bool(re.fullmatch(r"[\w .:/-]+", cell))
    )


def _has_header(rows: Sequence[list[str]], known: Collection[str]) -> bool:
    """Whether the first row names the columns.

    In this order: it holds the name asked for; it is text above numbers; it counts
    the columns; its cells do not come again below.
    """
    first, body = rows[0], rows[1:201]
    cells = [cell.strip() for cell in first]
    if any(name in cells for name in known):
        return True
    texts = [not is_number(cell) and not is_missing(cell, weak=True) for cell in cells]
    shift = 1 if body and _width(body) == len(cells) + 1 else 0
    below = [
        [r[j + shift] for r in body if j + shift < len(r)] for j in range(len(cells))
    ]
    for is_text, column in zip(texts, below, strict=True):
        told = [c.strip() for c in column if not is_missing(c, weak=True)]
        if is_text and told and sum(map(is_number, told)) >= 0.9 * len(told):
            return True
    numbers = [cell for cell, text in zip(cells, texts, strict=True) if not text]
    counting = [str(i) for i in range(len(numbers) + 1)]
    if numbers in (counting[1:], counting[:-1]) and len(numbers) >= 3:
        # 1,2,3 may be a row of data; 1,2,3,name or 0,1,2,3,4 hardly is.
        if any(texts) or len(numbers) >= 5:
            return True
    if not all(texts):
        # An empty first name is what pandas writes above its row numbers.
        return cells[0] == "" and all(texts[1:]) and len(cells) > 1
    recurring = sum(
        cell in {other.strip() for other in column}
        for cell, column in zip(cells, below, strict=True)
    )
    return recurring == 0


def _find_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    comma = point = unsure = 0
    for row in rows:
        for cell in row:
            if _EITHER.fullmatch(cell):
                unsure += "," in cell
            elif _DECIMAL_COMMA.fullmatch(cell):
                comma += 1
            elif _DECIMAL_POINT.fullmatch(cell):
                point += 1
    if comma or point:
        return "," if comma > point else "."
    return "," if unsure and delimiter in ";\t" else "."
