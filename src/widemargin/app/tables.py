"""A table in memory, and `read_table`, which reads every format the program takes."""

import zlib
from collections.abc import Collection, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from widemargin.app.errors import AppError, Report, did_you_mean, strict
from widemargin.app.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]


@dataclass
class Column:
    """One column: float64 with nan for missing, or objects with None for missing."""

    name: str
    values: Floats | Objects
    text: Objects | None = None  # as written in the file; kept for the target
    note: str = ""  # what was done to read it, if that is worth a word
    is_date: bool = False  # typed as date or time by the file

    @property
    def is_number(self) -> bool:
        return self.values.dtype == np.float64

    def missing(self) -> npt.NDArray[np.bool_]:
        if self.is_number:
            return np.isnan(self.values.astype(np.float64, copy=False))
        return np.array([value is None for value in self.values], dtype=bool)


@dataclass
class Table:
    """Columns of equal length, or the sparse rows of a LIBSVM file with its labels."""

    source: str
    n_rows: int
    columns: list[Column]
    lines: npt.NDArray[np.int64] | None = None  # of each row in a text file
    how: list[str] = field(default_factory=list)  # how it was read, in words
    features: "csr_array | None" = None  # of a LIBSVM file
    labels: Column | None = None
    complete: bool = True  # whether the file could be read to its end

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def where(self, row: int) -> str:
        """``line 17`` of a text file, else ``row 16``."""
        if self.lines is not None:
            return f"line {self.lines[row]}"
        return f"row {row + 1}"

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        hint = did_you_mean(name, self.names)
        raise AppError(f"{self.source} has no column '{name}'; {hint}")

    def take(self, rows: npt.NDArray[np.intp]) -> "Table":
        """The table of these rows, in rising order."""
        if len(rows) == self.n_rows:
            return self
        columns = [_take(column, rows) for column in self.columns]
        return Table(
            source=self.source,
            n_rows=len(rows),
            columns=columns,
            lines=None if self.lines is None else self.lines[rows],
            how=self.how,
            features=None if self.features is None else self.features[rows],
            labels=None if self.labels is None else _take(self.labels, rows),
        )

    @classmethod
    def from_frame(cls, frame: Any) -> "Table":
        """From a pandas or polars data frame, or a dict of arrays."""
        names = list(frame.keys() if hasattr(frame, "keys") else frame.columns)
        columns = [
            column_from_array(str(name), np.asarray(frame[name])) for name in names
        ]
        n_rows = len(columns[0].values) if columns else 0
        return cls(source="the data frame", n_rows=n_rows, columns=columns)


def _take(column: Column, rows: npt.NDArray[np.intp]) -> Column:
    text = None if column.text is None else column.text[rows]
    return Column(
        column.name, column.values[rows], text, column.note, is_date=column.is_date
    )


def column_from_array(name: str, array: npt.NDArray[Any]) -> Column:
    """A column from typed data: numbers stay numbers, all else becomes text."""
    mask = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
    data: npt.NDArray[Any] = np.ma.getdata(array) if mask is not None else array
    if data.ndim != 1:
        raise AppError(f"column '{name}' has {data.ndim} dimensions, expected one")
    kind = data.dtype.kind
    if kind in "iuf":
        values = data.astype(np.float64)
        if mask is not None:
            values[mask] = np.nan
        return Column(name, values)
    cells = list(data)
    if mask is not None:
        cells = [None if gone else c for c, gone in zip(cells, mask, strict=True)]
    if kind == "M":
        texts = [None if c is None or c != c else str(c) for c in cells]
        return Column(name, objects(texts), is_date=True)
    return column_from_cells(name, cells)


def column_from_cells(name: str, cells: Iterable[Any]) -> Column:
    """A column from Python objects (JSON, data frames): numbers or text."""
    known: list[Any] = []
    only_numbers = True
    dates = False
    for cell in cells:
        if cell is None or cell != cell or str(cell) in ("<NA>", "NaT", ""):
            known.append(None)
            continue
        if isinstance(cell, bool | np.bool_):
            only_numbers = False
            known.append("true" if cell else "false")
        elif isinstance(cell, int | float | np.number) or _is_decimal(cell):
            known.append(cell)
        elif isinstance(cell, str):
            only_numbers = False
            known.append(cell.strip() or None)
        elif hasattr(cell, "isoformat"):
            only_numbers, dates = False, True
            known.append(cell.isoformat())
        else:
            kind = type(cell).__name__
            raise AppError(
                f"column '{name}' holds a nested value ({kind}); "
                "spread it over columns of its own, or leave it out of the file"
            )
    if only_numbers:
        numbers = [np.nan if cell is None else float(cell) for cell in known]
        return Column(name, np.array(numbers, dtype=np.float64))
    interned: dict[str, str] = {}
    texts = [
        None if cell is None else interned.setdefault(spelled(cell), spelled(cell))
        for cell in known
    ]
    return Column(name, objects(texts), is_date=dates)


def _is_decimal(cell: Any) -> bool:
    return type(cell).__module__ == "decimal"


def spelled(value: Any) -> str:
    """A number as people write it (``3``, not ``3.0``), or the text itself."""
    if isinstance(value, str):
        return value
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def objects(cells: Iterable[str | None]) -> Objects:
    items = list(cells)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


@contextmanager
def damaged_files_explained(name: str) -> "Iterator[None]":
    """Truncated or broken compressed files, as one line."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise AppError(f"{name}: the compressed data are cut off or damaged") from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        what = error.strerror or str(error)
        raise AppError(f"{name} cannot be read: {what}") from error


def read_table(
    table: str,
    *,
    text: Collection[str] = (),
    target: str | None = None,
    expected: Collection[str] = (),
    report: Report | None = None,
) -> Table:
    """Read a table file of any format.

    Parameters
    ----------
    table : str
        A path, or ``-`` for standard input.
    text : collection of str
        Columns whose spelling is kept beside their values.
    target : str, optional
        The column to be learned; its spelling is kept.
    expected : collection of str
        Other columns the table should have; they tell whether it has a header line.
    report : callable, optional
        Called with line and text of each problem; by default the first one raises.
    """
    keep = {*text, target} if target is not None else set(text)
    name = "standard input" if table == "-" else table
    with damaged_files_explained(name), open_source(table) as source:
        return _read(source, keep, {*keep, *expected}, report or strict(source.name))


def _read(source: Source, keep: set[str], names: set[str], report: Report) -> Table:
    from widemargin.app import delimited, libsvm, records

    if source.format == "libsvm":
        return libsvm.read_libsvm(source, report)
    if source.format == "parquet":
        table = records.read_parquet(source)
    elif source.format == "json":
        table = records.read_json(source, report)
    else:
        return delimited.read_delimited(source, keep, names, report)
    for column in table.columns:
        if column.name in keep:
            column.text = _respelled(column)
    return table


def _respelled(column: Column) -> Objects:
    if not column.is_number:
        return column.values.astype(object)
    return objects(None if v != v else spelled(v) for v in column.values.tolist())
