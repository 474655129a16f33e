"""Reading LIBSVM text: ``label index:value index:value ... # comment``.

Whole blocks of lines are checked by one regular expression and converted at once;
only a block that does not pass is read line by line, to name the line and the cause.
What users trip over elsewhere is either read rightly (comments, blank and CRLF
lines, tabs, a blank after the colon, ``+2E-1``, ``.50``, ``1.``) or refused with the
line (index 0, descending or repeated indices, nan, infinity).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from widemargin.app.errors import AppError, Report, clip
from widemargin.app.source import Source
from widemargin.app.tables import Column, Floats, Table, objects

_BLOCK_BYTES = 1 << 21
_MAX_INDEX = 2**31 - 1

_NUMBER = rb"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
_PAIRS = re.compile(rb"(?:[0-9]++:" + _NUMBER + rb"[ \t]++)*+")
_LABEL = re.compile(_NUMBER)
_AFTER_COLON = re.compile(rb":[ \t]+")


@dataclass
class _Lines:
    """The lines of one block that hold a row, without comments, and their numbers."""

    rows: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


@dataclass
class _Rows:
    """Parsed rows: labels as written, CSR parts without the index pointer's sum."""

    labels: list[bytes]
    numbers: list[int]
    counts: list[int]
    indices: npt.NDArray[np.int64]  # from 1, as written
    values: Floats


def read_libsvm(source: Source, report: Report) -> Table:
    """Read a LIBSVM file into CSR rows and labels."""
    if source.encoding not in ("utf-8", "utf-8-sig"):
        raise AppError(
            f"{source.name} is a LIBSVM file encoded as {source.encoding}; "
            "save it as plain text (ASCII or UTF-8)"
        )
    parts = [_parse(lines, report) for lines in _blocks(source)]
    labels = [label.decode() for part in parts for label in part.labels]
    numbers = [number for part in parts for number in part.numbers]
    if not labels:
        report(0, "no rows, only comments or blank lines")
    counts = np.array([n for part in parts for n in part.counts], dtype=np.int64)
    empty = [np.empty(0)]
    indices = np.concatenate([part.indices for part in parts] or empty).astype(np.int64)
    values = np.concatenate([part.values for part in parts] or empty)
    n_features = int(indices.max(initial=0))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    features = csr_array(
        (values, (indices - 1).astype(np.int32), indptr.astype(np.int32))
        if len(values) < _MAX_INDEX
        else (values, indices - 1, indptr),
        shape=(len(labels), n_features),
    )
    target = Column("label", np.array([float(label) for label in labels]))
    target.text = objects(labels)
    return Table(
        source=source.name,
        n_rows=len(labels),
        columns=[],
        lines=np.array(numbers, dtype=np.int64),
        how=["LIBSVM"],
        features=features,
        labels=target,
    )


def _blocks(source: Source) -> Iterator[_Lines]:
    with source.open() as file:
        if source.encoding == "utf-8-sig":
            file.read(3)
        number = 0
        while True:
            block = _whole_lines(file)
            if not block:
                return
            lines = _Lines()
            comments = b"#" in block
            for raw in block.splitlines():  # of bytes: splits at \n, \r and \r\n only
                number += 1
                line = raw.partition(b"#")[0] if comments else raw
                line = line.strip()
                if line:
                    lines.rows.append(line)
                    lines.numbers.append(number)
            yield lines


def _whole_lines(file: BinaryIO) -> bytes:
    block = file.read(_BLOCK_BYTES)
    if block and not block.endswith(b"\n"):
        block += file.readline()
    return block


def _parse(lines: _Lines, report: Report) -> _Rows:
    rows = _parse_fast(lines)
    return rows if rows is not None else _parse_slow(lines, report)


def _parse_fast(lines: _Lines) -> _Rows | None:
    """The whole block at once, or None where anything in it needs a closer look."""
    labels: list[bytes] = []
    rests: list[bytes] = []
    counts: list[int] = []
    for row in lines.rows:
        parts = row.split(None, 1)
        labels.append(parts[0])
        rest = parts[1] if len(parts) > 1 else b""
        rests.append(rest)
        counts.append(rest.count(b":"))
    joined = b" ".join(rests) + b" "
    if b": " in joined or b":\t" in joined:
        joined = _AFTER_COLON.sub(b":", joined)
    joined = joined.lstrip()
    if not _PAIRS.fullmatch(joined) or not all(map(_LABEL.fullmatch, labels)):
        return None
    total = 2 * sum(counts)
    tokens = joined.replace(b":", b" ").split()
    flat = np.fromiter(map(float, tokens), dtype=np.float64, count=total)
    indices, values = flat[0::2], flat[1::2]
    # Within a row indices must rise; at the first pair of a row they may fall.
    steps = np.diff(indices, prepend=-np.inf)
    starts = np.cumsum([0, *counts], dtype=np.int64)[:-1]
    rising = steps > 0
    rising[starts[starts < len(rising)]] = True
    sound = rising.all() and np.isfinite(values).all()
    if not sound or (total and not 1 <= indices.min() <= indices.max() <= _MAX_INDEX):
        return None
    return _Rows(labels, lines.numbers, counts, indices.astype(np.int64), values)


def _parse_slow(lines: _Lines, report: Report) -> _Rows:
    rows = _Rows([], [], [], np.empty(0, dtype=np.int64), np.empty(0))
    indices: list[int] = []
    values: list[float] = []
    for row, number in zip(lines.rows, lines.numbers, strict=True):
        try:
            label, pairs = _parse_line(row)
        except ValueError as error:
            report(number, str(error))
            continue
        rows.labels.append(label)
        rows.numbers.append(number)
        rows.counts.append(len(pairs))
        indices += [index for index, _ in pairs]
        values += [value for _, value in pairs]
    rows.indices = np.array(indices, dtype=np.int64)
    rows.values = np.array(values, dtype=np.float64)
    return rows


def _parse_line(row: bytes) -> tuple[bytes, list[tuple[int, float]]]:
    """One line, or a ValueError that says what is wrong in it."""
    label, *tokens = _AFTER_COLON.sub(b":", row).split()
    if b":" in label:
        raise ValueError(
            f"starts with the pair '{_show(label)}'; a label must come first"
        )
    if b"," in label:
        raise ValueError(
            f"several labels '{_show(label)}'; only one label a row can be learned"
        )
    _finite(label, "label")
    pairs: list[tuple[int, float]] = []
    before = 0
    for token in tokens:
        name, colon, text = token.partition(b":")
        if not colon:
            raise ValueError(f"'{_show(token)}' is not of the form index:value")
        if name == b"qid":
            raise ValueError(
                f"'{_show(token)}': ranking groups (qid) are not supported"
            )
        index = _index(name, token)
        if index == before:
            raise ValueError(
                f"index {index} is repeated; keep one value for each index"
            )
        if index < before:
            raise ValueError(
                f"index {index} comes after {before}; indices must rise within a row"
            )
        pairs.append((index, _finite(text, f"index {index}")))
        before = index
    return label, pairs


def _index(name: bytes, token: bytes) -> int:
    if not re.fullmatch(rb"[+-]?[0-9]+", name):
        raise ValueError(
            f"'{_show(token)}': the index must be a whole number from 1 on"
        )
    # Python refuses to read numbers of thousands of digits, and so do we.
    index = int(name) if len(name) < 20 else _MAX_INDEX + 1
    if index == 0:
        raise ValueError("index 0, but LIBSVM counts from 1; add 1 to every index")
    if index < 0:
        raise ValueError(f"'{_show(token)}': the index must be 1 or more")
    if index > _MAX_INDEX:
        raise ValueError(f"'{_show(token)}': the index must be at most {_MAX_INDEX}")
    return index


def _finite(text: bytes, what: str) -> float:
    if not text:
        raise ValueError(f"{what} has no value after its colon")
    if re.fullmatch(rb"[+-]?(?:nan|inf|infinity)", text, re.IGNORECASE):
        raise ValueError(
            f"{what} has the value {_show(text)}; leave the pair out or give a number"
            if what != "label"
            else f"the label is {_show(text)}; give a number"
        )
    if not _LABEL.fullmatch(text):
        raise ValueError(f"{what}: '{_show(text)}' is not a number")
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{what}: {_show(text)} is too large for a number")
    return value


def _show(token: bytes) -> str:
    return clip(token.decode("utf-8", "replace"), 30)
