"""Reading typed records: JSON by Python's own parser, Parquet by DuckDB."""

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from widemargin.app.errors import AppError, Report, clip
from widemargin.app.source import Source
from widemargin.app.tables import Table, column_from_array, column_from_cells


def read_json(source: Source, report: Report) -> Table:
    """A list of objects, one object a line, or an object of equally long lists."""
    with source.open() as file:
        text = file.read().decode(source.encoding)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return _read_json_lines(source, text, report, error)
    if isinstance(data, dict):
        return _from_lists(source, data)
    if isinstance(data, list) and all(isinstance(item, dict) for item in data):
        return _from_objects(source, data, None)
    raise AppError(
        f"{source.name}: expected a list of objects, one object a line, or an object "
        'of lists, such as [{"height": 1.7, "class": "a"}, ...]'
    )


def _read_json_lines(
    source: Source, text: str, report: Report, whole: json.JSONDecodeError
) -> Table:
    objects: list[dict[str, Any]] = []
    lines: list[int] = []
    single = text.lstrip()[:1] == "["  # one array over many lines, broken somewhere
    for number, line in enumerate([] if single else text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except json.JSONDecodeError as error:
            report(number, f"not valid JSON at character {error.colno}: {error.msg}")
            continue
        if not isinstance(item, dict):
            report(number, 'expected an object such as {"height": 1.7}')
            continue
        objects.append(item)
        lines.append(number)
    if single:
        report(whole.lineno, f"not valid JSON at character {whole.colno}: {whole.msg}")
    if not objects:
        return Table(source.name, 0, [], how=["JSON"], complete=False)
    return _from_objects(source, objects, lines)


def _from_objects(
    source: Source, items: list[dict[str, Any]], lines: list[int] | None
) -> Table:
    import numpy as np

    names = list(dict.fromkeys(name for item in items for name in item))
    if not names:
        raise AppError(f"{source.name} holds no rows")
    return Table(
        source=source.name,
        n_rows=len(items),
        columns=[
            column_from_cells(name, (item.get(name) for item in items))
            for name in names
        ],
        lines=None if lines is None else np.array(lines, dtype=np.int64),
        how=["JSON"],
    )


def _from_lists(source: Source, data: dict[str, Any]) -> Table:
    lengths = {
        name: len(cells) for name, cells in data.items() if isinstance(cells, list)
    }
    if len(lengths) != len(data) or not data:
        if all(not isinstance(value, list | dict) for value in data.values()) and data:
            return _from_objects(source, [data], None)  # a file of one row
        wrong = next((name for name in data if name not in lengths), "")
        raise AppError(
            f"{source.name}: '{clip(wrong)}' is not a list; expected a list of objects "
            "or an object of equally long lists"
        )
    if len(set(lengths.values())) > 1:
        short = min(lengths, key=lambda name: lengths[name])
        long = max(lengths, key=lambda name: lengths[name])
        raise AppError(
            f"{source.name}: '{clip(short)}' has {lengths[short]} values but "
            f"'{clip(long)}' has {lengths[long]}"
        )
    return Table(
        source=source.name,
        n_rows=next(iter(lengths.values())),
        columns=[column_from_cells(name, cells) for name, cells in data.items()],
        how=["JSON"],
    )


def connect() -> Any:
    """A DuckDB that stays at home: no extension is fetched or loaded at run time."""
    import duckdb

    return duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )


def read_parquet(source: Source) -> Table:
    """All columns of a Parquet file with the types it states."""
    import duckdb

    with ExitStack() as stack:
        path = source.path
        if source.packing:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / "table.parquet"
            with source.open() as packed, path.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
        con = stack.enter_context(connect())
        try:
            # A relation object, not SQL: no quoting of the file's name.
            arrays = con.read_parquet(str(path)).fetchnumpy()
        except duckdb.Error as error:
            reason = clip(str(error), 200)
            raise AppError(f"{source.name} cannot be read: {reason}") from error
    names = list(arrays)
    n_rows = len(arrays[names[0]]) if names else 0
    if not n_rows:
        raise AppError(f"{source.name} holds no rows")
    return Table(
        source=source.name,
        n_rows=n_rows,
        columns=[column_from_array(name, arrays[name]) for name in names],
        how=["Parquet"],
    )
