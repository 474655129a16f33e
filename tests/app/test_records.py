"""JSON and Parquet."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin.app.errors import AppError
from widemargin.app.records import connect
from widemargin.app.tables import Table, read_table

ROWS: list[dict[str, Any]] = [
    {"x": 1.5, "n": 1, "town": "Köln", "class": "a", "flag": True},
    {"x": None, "n": 2, "town": "Bonn", "class": "b", "flag": False},
    {"x": -3, "n": 3, "town": None, "class": "a", "flag": None},
]


def assert_is_table(table: Table) -> None:
    assert table.names == ["x", "n", "town", "class", "flag"]
    columns = {column.name: column.values for column in table.columns}
    np.testing.assert_array_equal(columns["x"], [1.5, np.nan, -3])
    np.testing.assert_array_equal(columns["n"], [1.0, 2.0, 3.0])
    assert columns["town"].tolist() == ["Köln", "Bonn", None]
    assert columns["flag"].tolist() == ["true", "false", None]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2, ensure_ascii=False),
        "".join(json.dumps(row) + "\n" for row in ROWS),
        json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
    ],
    ids=["list", "indented", "lines", "lists"],
)
def test_json(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(content, encoding="utf-8")
    assert_is_table(read_table(str(path)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"a": 1},\n {"a": }]', "t.json, line 2: not valid JSON at character 8"),
        ('{"a": 1}\n{"a": 2\n', "t.json, line 2: not valid JSON at character 8"),
        ('{"a": 1}\n[3]\n', "t.json, line 2: expected an object"),
        ('{"a": [1, 2], "b": [1]}', "t.json: 'b' has 1 values but 'a' has 2"),
        ('{"a": [1, 2], "b": {"c": 1}}', "t.json: 'b' is not a list"),
        ('[{"a": [1, 2]}]', "column 'a' holds a nested value (list)"),
        ("[[1, 2], [3, 4]]", "t.json: expected a list of objects"),
        ("[]", "t.json holds no rows"),
    ],
)
def test_bad_json(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(AppError) as caught:
        read_table(str(path))
    assert message in str(caught.value)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "it's a table.parquet"
    rows = ", ".join(
        "({}, {}, {}, {}, {})".format(
            *("NULL" if v is None else repr(v) for v in row.values())
        )
        for row in ROWS
    )
    with connect() as con:
        con.sql(
            f'SELECT x::DOUBLE AS x, n::TINYINT AS n, town, "class", flag::BOOLEAN AS '
            f'flag FROM (VALUES {rows}) AS t(x, n, town, "class", flag)'
        ).write_parquet(str(path))
    assert_is_table(read_table(str(path)))
    packed = tmp_path / "t.csv"  # the content decides, not the name
    packed.write_bytes(__import__("gzip").compress(path.read_bytes()))
    assert_is_table(read_table(str(packed)))


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with connect() as con:
        con.sql(
            "SELECT DATE '2024-01-31' AS day, TIME '12:30' AS hour, "
            "1.25::DECIMAL(5, 2) AS price, 3::HUGEINT AS big, 'x' AS name"
        ).write_parquet(str(path))
    table = read_table(str(path))
    assert [c.is_date for c in table.columns] == [True, True, False, False, False]
    assert table.columns[2].values.tolist() == [1.25]
    assert table.columns[3].values.tolist() == [3.0]


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(AppError, match=r"t\.parquet cannot be read: "):
        read_table(str(path))


def test_no_extension_is_ever_fetched() -> None:
    with connect() as con:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            (value,) = con.execute(f"SELECT current_setting('{name}')").fetchone()
            assert value is False
