"""Opening what a user calls TABLE: a file, plain or compressed, or standard input.

The content decides the format, not the name: the first megabyte is looked at
once, here, and everything else works on a `Source`.
"""

import bz2
import difflib
import gzip
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

from widemargin.app.encoding import decode_head, find_encoding
from widemargin.app.errors import AppError

LOOK_BYTES = 1 << 20

Format = Literal["delimited", "libsvm", "json", "parquet"]
Packing = Literal["", "gzip", "bz2"]

# Files people hand over by mistake: first bytes, what it is, what to do.
_REFUSED = [
    (b"SQLite format 3\x00", "is an SQLite database; export the table as CSV"),
    (b"PK\x03\x04", "is an Excel, NumPy or zip file; save the sheet or array as CSV"),
    (b"\xd0\xcf\x11\xe0", "is an old Excel or Word file; save the sheet as CSV"),
    (b"\x93NUMPY", "is a NumPy array; write it with numpy.savetxt(..., delimiter=',')"),
    (b"\x89HDF", "is an HDF5 file; export the table as CSV or Parquet"),
    (b"%PDF", "is a PDF file, not a table"),
    (b"\x80\x04", "is a pickle, which could run code when read; save it as CSV"),
    (b"\x80\x05", "is a pickle, which could run code when read; save it as CSV"),
    (b"ARROW1", "is an Arrow or Feather file; save it as Parquet"),
    (b"\xfd7zXZ", "is packed with xz; unpack it, or use gzip"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it, or use gzip"),
]

# Generous on purpose: a broken LIBSVM file must reach the LIBSVM reader, whose
# messages name the line, and not be taken for a ragged table.
_LIBSVM_LINE = re.compile(
    r"\s*(?![0-9]+[-/.][0-9]+[-/.])(?:[0-9]+(?:,[0-9]+)+|[^\s#,;]+)"
    r"(?:\s+(?:qid|-?[0-9]+):(?:\s+[-+.0-9]+(?=\s|$)|\S*))*\s*(?:#.*)?"
)
_LIBSVM_PAIR = re.compile(r"\s-?[0-9]+:\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?(?:\s|$)")
_LIBSVM_NAMES = (".svm", ".libsvm", ".svmlight")


@dataclass(frozen=True)
class Source:
    """A readable table file and what the first look found."""

    path: Path
    name: str  # how messages call it
    format: Format
    packing: Packing
    encoding: str  # "" for binary formats
    head: bytes  # the first megabyte, unpacked
    complete: bool  # whether `head` is all there is

    def open(self) -> BinaryIO:
        """The unpacked bytes from the start."""
        return _open(self.path, self.packing)

    def head_text(self) -> str:
        """The first megabyte as text, cut back to whole lines."""
        return decode_head(self.head, self.encoding, complete=self.complete)


@contextmanager
def open_source(table: str) -> Iterator[Source]:
    """Look at `table` (a path, or ``-`` for standard input)."""
    if table != "-":
        yield _look(_existing(table), Path(table).name)
        return
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        # Spooled to disk: the reader needs two looks, and a pipe gives one.
        path = Path(folder) / "stdin"
        with path.open("wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        yield _look(path, "standard input")


def _existing(table: str) -> Path:
    path = Path(table)
    if path.is_dir():
        raise AppError(f"{table} is a folder; name a table file inside it")
    if not path.exists():
        folder = path.parent
        near: list[str] = []
        if folder.is_dir():
            names = [item.name for item in folder.iterdir() if item.is_file()]
            near = difflib.get_close_matches(path.name, names, n=2, cutoff=0.75)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AppError(f"{table}: there is no such file{hint}")
    return path


def _open(path: Path, packing: Packing) -> BinaryIO:
    if packing == "gzip":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if packing == "bz2":
        return cast("BinaryIO", bz2.open(path, "rb"))
    return path.open("rb")


def _look(path: Path, name: str) -> Source:
    with path.open("rb") as file:
        magic = file.read(3)
    packing: Packing = ""
    if magic[:2] == b"\x1f\x8b":
        packing = "gzip"
    elif magic == b"BZh":
        packing = "bz2"
    with _open(path, packing) as file:
        head = file.read(LOOK_BYTES)
        complete = not file.read(1)
    if not head:
        raise AppError(f"{name} is empty")
    if head.startswith(b"PAR1"):
        return Source(path, name, "parquet", packing, "", head, complete)
    for start, what in _REFUSED:
        if head.startswith(start):
            raise AppError(f"{name} {what}")
    encoding = find_encoding(head, name, complete=complete)
    text = decode_head(head, encoding, complete=complete)
    if not text.strip():
        raise AppError(f"{name} holds no data, only blank lines")
    if re.match(r"(?:\s*%[^\n]*\n|\s)*@relation\b", text, re.IGNORECASE):
        raise AppError(f"{name} is a Weka ARFF file; save the table as CSV")
    if all(line.lstrip()[:1] in ("", "#") for line in text.splitlines()):
        raise AppError(f"{name} holds no data, only comments")
    found = _text_format(text, path.name)
    return Source(path, name, found, packing, encoding, head, complete)


def _text_format(text: str, file_name: str) -> Format:
    start = text.lstrip()[:200]
    if re.match(r"\{\s*[\"}]|\[\s*[\[{\]]", start):
        return "json"
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    rows = [line for line in lines if not line.lstrip().startswith("#")][:50]
    pairs = [line for line in rows if _LIBSVM_PAIR.search(line)]
    fitting = [line for line in rows if _LIBSVM_LINE.fullmatch(line)]
    named = file_name.lower().removesuffix(".gz").removesuffix(".bz2")
    # Rows without any feature are legal, so a few may have no pair; a broken row or
    # two must not hide the format either.
    share = 0.4 if named.endswith(_LIBSVM_NAMES) else 0.8
    if pairs and len(fitting) >= share * len(rows):
        return "libsvm"
    return "delimited"
