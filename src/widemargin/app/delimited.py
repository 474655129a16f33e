"""Reading delimited text: every line checked, numbers recognised block by block.

Python's CSV reader splits the lines (60 ns a cell) and NumPy converts whole blocks
of cells. This one pass is the check of the field counts and the reading at once.
DuckDB's CSV reader is not used: it would need that same pass before it, fails on
quoted line breaks in files with CRLF, and takes minutes where a file has 20,000
columns, which expression data do.
"""

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from widemargin.app.encoding import guess_encoding
from widemargin.app.errors import AppError, Report, clip
from widemargin.app.sniff import Look, find_look
from widemargin.app.source import Source
from widemargin.app.spelling import (
    MISSING,
    NUMBER,
    WEAK_MISSING,
    comma_number,
    is_missing,
    point_number,
)
from widemargin.app.tables import Column, Floats, Objects, Table, objects

_BLOCK_CELLS = 200_000


@dataclass
class _Block:
    """Some rows of the file and the line each of them starts at."""

    cells: Objects  # (n_rows, n_columns)
    lines: list[int]


class _Rows:
    """The checked rows of a delimited file, in blocks."""

    def __init__(self, source: Source, look: Look, report: Report) -> None:
        self.source = source
        self.look = look
        self.report = report
        self.width = len(look.names)
        self.complete = True
        self.size = max(1, _BLOCK_CELLS // max(1, self.width))

    def blocks(self) -> Iterator[_Block]:
        with self.source.open() as binary:
            yield from self._blocks(binary)

    def _blocks(self, binary: BinaryIO) -> Iterator[_Block]:
        text = io.TextIOWrapper(binary, encoding=self.look.encoding, newline="")
        try:
            yield from self._checked(text)
        finally:
            text.detach()  # whoever opened the bytes closes them

    def _checked(self, text: io.TextIOWrapper) -> Iterator[_Block]:
        for _ in range(self.look.skip_lines):
            text.readline()
        reader = self.look.reader(text)
        rows: list[list[str]] = []
        lines: list[int] = []
        start = self.look.skip_lines + 1
        first = self.look.header
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                why = _broken_quote(error, self.look)
                self.report(start, f"{why}; nothing below was read")
                self.complete = False
                break
            if row is None:
                break
            here, start = start, self.look.skip_lines + _lines_read(reader) + 1
            if not row or (len(row) == 1 and self.width > 1 and not row[0].strip()):
                continue  # a blank line
            if len(row) + (first and self.look.short_header) != self.width:
                self.report(here, self._ragged(row, here, header=first))
                first = False
                continue
            if first:
                first = False
                continue
            rows.append(row)
            lines.append(here)
            if len(rows) == self.size:
                yield _Block(np.array(rows, dtype=object), lines)
                rows, lines = [], []
        if rows:
            yield _Block(np.array(rows, dtype=object), lines)

    def _ragged(self, row: list[str], line: int, *, header: bool) -> str:
        found, expected = len(row), self.width
        what = f"{found} field{'s' * (found != 1)}, expected {expected}"
        sign = {"\t": "tabs", " ": "blanks"}.get(
            self.look.delimiter, f"'{self.look.delimiter}'"
        )
        by = "as the header has"
        if header or not self.look.header:
            by = "as most lines have"
        if header or line == 1:
            tip = "delete this line if it is not part of the table"
        elif found > expected:
            tip = f"put quotes around values that contain {sign}"
        else:
            tip = "fill in what is missing, empty if it is not known"
        return f"{what} {by}, separated by {sign}; {tip}"


def _lines_read(reader: Iterator[list[str]]) -> int:
    return int(reader.line_num)  # type: ignore[attr-defined]


def _broken_quote(error: csv.Error, look: Look) -> str:
    if "unexpected end of data" in str(error):
        return f"the quote {look.quote} that opens in this row is never closed"
    if "expected after" in str(error):
        return (
            f"text follows a closing quote {look.quote}; "
            f"double the quotes that belong to a value ({look.quote * 2})"
        )
    return str(error)


@dataclass
class _Builder:
    """One column while it is read: numbers as long as all cells are numbers."""

    name: str
    decimal: str
    keep_text: bool
    numbers: list[Floats] | None = field(default_factory=list)
    texts: list[str | None] | None = None  # spelling of all cells so far
    interned: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keep_text:
            self.texts = []

    def add(self, cells: Objects, *, first: bool) -> None:
        if self.numbers is not None:
            block = _to_numbers(cells, self.decimal)
            if block is not None:
                self.numbers.append(block)
            else:
                self.numbers = None
                if first and self.texts is None:
                    self.texts = []
        if self.texts is not None:
            known = self.interned
            for cell in cells:
                text = cell.strip()
                if text.lower() in MISSING:
                    self.texts.append(None)
                else:
                    self.texts.append(known.setdefault(text, text))

    @property
    def needs_second_pass(self) -> bool:
        """It turned out to be text after its first blocks were kept as numbers."""
        return self.numbers is None and self.texts is None

    def column(self) -> Column:
        text = None if self.texts is None else objects(self.texts)
        if self.numbers is not None:
            values = np.concatenate(self.numbers) if self.numbers else np.empty(0)
            return Column(self.name, values, text)
        assert text is not None
        column = text_column(self.name, text, self.decimal)
        column.text = text if self.keep_text else None
        return column


def _to_numbers(cells: Objects, decimal: str) -> Floats | None:
    """The cells as numbers, or None if one of them is something else.

    Infinity comes back as such; whoever studies the column reports it.
    """
    joined = "\n".join(cells)
    if "_" in joined or not joined.isascii():  # float("1_000") is a number to Python
        return None
    if decimal == ",":
        if "." in joined:
            return None  # thousands or a decimal point: `text_column` decides
        cells = objects(cell.replace(",", ".") for cell in cells)
    try:
        return cells.astype(np.float64)
    except ValueError:
        pass
    filled = ["nan" if is_missing(c) else c for c in cells.tolist()]
    try:
        return objects(filled).astype(np.float64)
    except ValueError:
        return None


def text_column(name: str, cells: Objects, decimal: str) -> Column:
    """A column with cells that are not plain numbers: other spellings, or text."""
    known = {cell for cell in cells if cell is not None}
    weak = {cell for cell in known if cell.lower() in WEAK_MISSING}
    rest = known - weak
    if not rest:
        return Column(name, cells)
    spellings = [point_number, comma_number]
    if decimal == ",":
        spellings.reverse()
    for spelling in spellings:
        values = {cell: spelling(cell) for cell in rest}
        if all(value is not None for value in values.values()):
            break
    else:
        return Column(name, cells)
    numbers = [np.nan if c is None or c in weak else values[c] for c in cells]
    notes = []
    grouped = sorted(cell for cell in rest if not NUMBER.fullmatch(cell))
    if grouped:
        number = values[grouped[0]]
        notes.append(f"'{clip(grouped[0], 20)}' read as {number:.12g}")
    if weak:
        shown = " and ".join(f"'{cell}'" for cell in sorted(weak)[:3])
        notes.append(f"{shown} read as missing")
    array = np.array(numbers, dtype=np.float64)
    return Column(name, array, note=", ".join(notes))


def read_delimited(
    source: Source, keep: Collection[str], names: Collection[str], report: Report
) -> Table:
    """Read CSV, TSV and their relatives."""
    look = find_look(source.head_text(), source.encoding, names)
    try:
        return _read(source, look, keep, report)
    except UnicodeDecodeError as error:
        # The first megabyte was plain ASCII; what follows says more.
        if not source.head.isascii():
            raise AppError(_bad_byte(source, error)) from None
    encoding = _late_encoding(source)
    look = find_look(source.head_text(), encoding, names)
    return _read(source, look, keep, report)


def _read(source: Source, look: Look, keep: Collection[str], report: Report) -> Table:
    _check_names(look, report)
    rows = _Rows(source, look, report)
    builders = [_Builder(name, look.decimal, name in keep) for name in look.names]
    lines: list[int] = []
    for block in rows.blocks():
        for builder, cells in zip(builders, block.cells.T, strict=True):
            builder.add(cells, first=not lines)
        lines += block.lines
    if not lines and rows.complete:
        report(0, "there is a header but no row below it" if look.header else "no rows")
    again = {j: b for j, b in enumerate(builders) if b.needs_second_pass}
    if again:
        for builder in again.values():
            builder.texts = []
        silent = _Rows(source, look, lambda line, text: None)
        for block in silent.blocks():
            for j, builder in again.items():
                builder.add(block.cells[:, j], first=False)
    return Table(
        source=source.name,
        n_rows=len(lines),
        columns=[builder.column() for builder in builders],
        lines=np.array(lines, dtype=np.int64),
        how=_how(look),
        complete=rows.complete,
    )


def _check_names(look: Look, report: Report) -> None:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(look.names, start=1):
        places.setdefault(name, []).append(place)
    for name, where in places.items():
        if len(where) > 1:
            columns = " and ".join(map(str, where[:4]))
            report(
                look.skip_lines + 1,
                f"the name '{clip(name)}' stands above columns {columns}; rename one",
            )


def _how(look: Look) -> list[str]:
    words = []
    named = {",": "", ";": "semicolons", "\t": "tabs", " ": "blanks"}
    if sign := named.get(look.delimiter, f"'{look.delimiter}'"):
        words.append(f"separated by {sign}")
    if look.decimal == ",":
        words.append("decimal commas")
    if look.quote != '"':
        words.append("single quotes")
    if look.encoding not in ("utf-8", "utf-8-sig"):
        words.append(f"encoded as {look.encoding}")
    return words + list(look.notes)


def _bad_byte(source: Source, error: UnicodeDecodeError) -> str:
    line = _undecodable(source)[0]
    return (
        f"{source.name}, line {line}: not valid {error.encoding}, though the lines "
        "before it are; save the whole file as UTF-8"
    )


def _late_encoding(source: Source) -> str:
    _, sample, bad = _undecodable(source)
    return guess_encoding(sample, bad, source.name)


def _undecodable(source: Source) -> tuple[int, bytes, int]:
    """The first line that is not UTF-8: its number, text after it, the bad byte."""
    encoding = "utf-8" if source.encoding == "utf-8-sig" else source.encoding
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return number, line + file.read(50_000), error.start
    return 0, b"", 0
