"""The first look and the reading of many dialects: the same table comes out of all."""

import bz2
import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from widemargin.app.errors import AppError
from widemargin.app.sniff import find_look
from widemargin.app.tables import Table, read_table

NAMES = ["größe", "zahl", "stadt", "klasse"]
ROWS = [
    ["1.5", "10", "Köln", "a"],
    ["-0.25", "20", "São Paulo", "b"],
    ["3e-2", "-30", "Zürich, West", "a"],
    ["12345.678", "", 'the "big" one', "b"],
    [".5", "50", "Köln", "a"],
]
NUMBERS = [1.5, -0.25, 0.03, 12345.678, 0.5]
WHOLE = [10, 20, -30, np.nan, 50]
TOWNS = ["Köln", "São Paulo", "Zürich, West", 'the "big" one', "Köln"]


def text_of(
    sign: str = ",", end: str = "\n", quote: str = '"', **options: object
) -> str:
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=sign,
        lineterminator=end,
        quotechar=quote,
        **options,  # type: ignore[arg-type]
    )
    writer.writerow(NAMES)
    writer.writerows(ROWS)
    return stream.getvalue()


def decimal_commas(sign: str) -> str:
    rows = [[row[0].replace(".", ","), *row[1:]] for row in ROWS]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=sign, lineterminator="\r\n")
    writer.writerows([NAMES, *rows])
    return stream.getvalue()


DIALECTS: dict[str, bytes] = {
    "plain": text_of().encode(),
    "CRLF": text_of(end="\r\n").encode(),
    "old Mac": text_of(end="\r").encode(),
    "no newline at the end": text_of().rstrip("\n").encode(),
    "blank lines": text_of().replace("\n", "\n\n").encode(),
    "semicolons": text_of(";").encode(),
    "tabs": text_of("\t").encode(),
    "bars": text_of("|").encode(),
    "semicolons and decimal commas": decimal_commas(";").encode(),
    "tabs and decimal commas": decimal_commas("\t").encode(),
    "commas and quoted decimal commas": decimal_commas(",").encode(),
    "all quoted": text_of(quoting=csv.QUOTE_ALL).encode(),
    "single quotes": text_of(quote="'", quoting=csv.QUOTE_ALL).encode(),
    "escaped quotes": text_of(doublequote=False, escapechar="\\").encode(),
    "blanks after commas": text_of(quoting=csv.QUOTE_ALL).replace(",", ", ").encode(),
    "byte-order mark": text_of().encode("utf-8-sig"),
    "latin-1": text_of().encode("latin-1"),
    "cp1252 semicolons": decimal_commas(";").encode("cp1252"),
    "utf-16": text_of().encode("utf-16"),
    "utf-16 little, no mark": text_of().encode("utf-16-le"),
    "utf-16 big, no mark": text_of().encode("utf-16-be"),
    "utf-32": text_of().encode("utf-32"),
    "Excel's sep line": b"sep=;\r\n" + text_of(";", "\r\n").encode(),
    "comments above": b"# a survey\n# of 2024\n" + text_of().encode(),
    "gzip": gzip.compress(text_of().encode()),
    "bzip2": bz2.compress(text_of().encode()),
}


def read(tmp_path: Path, content: bytes | str, target: str | None = None) -> Table:
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(str(path), target=target)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_table(dialect: str, tmp_path: Path) -> None:
    table = read(tmp_path, DIALECTS[dialect])
    assert table.names == NAMES
    # "Zürich, West" lost a blank or gained one where commas are followed by blanks.
    towns = [" ".join(str(town).split()) for town in table.columns[2].values]
    np.testing.assert_allclose(table.columns[0].values, NUMBERS, rtol=1e-15)
    np.testing.assert_array_equal(table.columns[1].values, WHOLE)
    assert towns == TOWNS
    assert table.columns[3].values.tolist() == ["a", "b", "a", "b", "a"]


def test_numbers_are_read_to_the_last_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, np.pi, 1 + 2.0**-52, 1.7976931348623157e308, 5e-324]
    table = read(tmp_path, "x,y\n" + "".join(f"{v!r},a\n" for v in values))
    assert table.columns[0].values.tolist() == values


def test_quoted_line_breaks_keep_the_line_numbers(tmp_path: Path) -> None:
    table = read(
        tmp_path, 'a,b\n1,"two\nlines"\n2,x\n\n3,"three\r\nmore\nlines"\n4,y\n'
    )
    assert table.n_rows == 4
    assert [table.where(row) for row in range(4)] == [
        "line 2",
        "line 4",
        "line 6",
        "line 9",
    ]
    with pytest.raises(AppError, match="line 9: 1 field, expected 2"):
        read(tmp_path, 'a,b\n1,"two\nlines"\n2,x\n\n3,"three\r\nmore\nlines"\n4\n')


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b,c\n1,2,3\n4,5,6\n", True),
        ("1,2,3\n4,5,6\n", False),
        ("M,0.4,15\nF,0.5,7\nM,0.1,8\n", False),
        ("sex,length,rings\nM,0.4,15\n", True),
        ("p,x,s\np,x,y\ne,b,s\n", False),
        ("class,cap,odour\np,x,s\ne,x,y\n", True),
        ("0,1,2,label\n3.5,2.5,1.5,a\n1.5,2.5,3.5,b\n", True),  # pandas' numbers
        (",a,b\n0,x,y\n1,z,w\n", True),  # pandas' index above its column
        ("id,2019,2020\nx,1,2\ny,3,4\n", False),
        ("name,2019,2020\n7,1,2\n8,3,4\n", True),
        ("?,1,2\nx,3,4\n", False),
    ],
)
def test_header_or_not(text: str, header: bool) -> None:
    assert find_look(text, "utf-8").header is header


def test_the_target_asked_for_makes_the_header() -> None:
    assert find_look("2019,2020\n1,2\n3,4\n", "utf-8", {"2020"}).header


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("a\n1\n2\n", ","),
        ("a b c\n1 2 3\n4 5 6\n", " "),
        ("  1.0   2.0 3\n  4.0 5.0   6 \n", " "),
        ("when;what\n2024-01-31 12:30;x, y\n2024-02-01 12:31;z, w\n", ";"),
        ("text,n\nhello there,1\nhow are you,2\n", ","),
        # Ragged files must be found ragged, not read as one column.
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", ","),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
    ],
)
def test_delimiter(text: str, sign: str) -> None:
    assert find_look(text, "utf-8").delimiter == sign


@pytest.mark.parametrize(
    ("cells", "numbers", "note"),
    [
        (["1,234", "12,345,678", "5"], [1234, 12345678, 5], "'1,234' read as 1234"),
        (["1,234.5", "2,000.25", "7"], [1234.5, 2000.25, 7], "read as"),
        (["1.234,5", "2.000,25", "7,5"], [1234.5, 2000.25, 7.5], ""),
        (["1 234,5", "12\u00a0000,1", "3\u202f000,1"], [1234.5, 12000.1, 3000.1], ""),
        (["1'234.5", "2.5", "3"], [1234.5, 2.5, 3], ""),
        (["1", "none", "3"], [1, np.nan, 3], "'none' read as missing"),
        (["1", "-", "3"], [1, np.nan, 3], "'-' read as missing"),
        (["NA", "1", "NaN"], [np.nan, 1, np.nan], ""),
        (["null", "?", "1"], [np.nan, np.nan, 1], ""),
    ],
)
def test_spellings_of_numbers(
    cells: list[str], numbers: list[float], note: str, tmp_path: Path
) -> None:
    rows = "".join(f"{cell};a\n" for cell in cells)
    column = read(tmp_path, "x;y\n" + rows).columns[0]
    np.testing.assert_allclose(column.values.astype(float), numbers, rtol=1e-15)
    assert note in column.note


@pytest.mark.parametrize(
    "cell", ["1_000", "0x1F", "1e", "--1", "\u0661", "1.2.3", "1%"]
)
def test_what_python_takes_for_a_number_but_people_do_not(
    cell: str, tmp_path: Path
) -> None:
    column = read(tmp_path, f"x,y\n{cell},a\nz,b\n").columns[0]
    assert column.values.tolist() == [cell, "z"]


def test_a_column_that_turns_out_to_be_text_late_keeps_its_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widemargin.app.delimited._BLOCK_CELLS", 8)
    rows = [f"{i:03d},{i}\n" for i in range(40)]
    table = read(tmp_path, "code,n\n" + "".join(rows) + "A7,99\n")
    assert table.columns[0].values.tolist()[:2] == ["000", "001"]
    assert table.columns[0].values.tolist()[-1] == "A7"
    assert table.columns[1].values.tolist() == [*map(float, range(40)), 99.0]


def test_rows_of_r_have_names(tmp_path: Path) -> None:
    table = read(tmp_path, '"a" "b"\n"first" 1 2\n"second" 3 4\n"third" 5 6\n')
    assert table.names == ["row name", "a", "b"]
    assert table.columns[1].values.tolist() == [1, 3, 5]


def test_separators_at_the_end_of_rows(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\n1,2,\n1,4,\n5,6,\n")
    assert table.names == ["a", "b", "column 3"]
    assert table.columns[1].values.tolist() == [2, 4, 6]


def test_a_value_too_many_in_every_row_is_no_row_name(tmp_path: Path) -> None:
    with pytest.raises(AppError, match="line 1: 2 fields, expected 3 as most lines"):
        read(tmp_path, "a,b\n1,2,3\n1,4,5\n5,6,7\n")


def test_late_letters_decide_the_encoding_again(tmp_path: Path) -> None:
    """The first megabyte is ASCII, a latin-1 letter comes later."""
    lines = b"x,town,class\n" + b"1,Bonn,a\n2,Kiel,b\n" * 70_000
    table = read(tmp_path, lines + "3,Köln,a\n".encode("latin-1"))
    assert table.columns[1].values[-1] == "Köln"
    assert "encoded as cp1252" in table.how


def test_mixed_encodings_are_refused_with_the_line(tmp_path: Path) -> None:
    lines = "x,town,class\n1,Köln,a\n".encode() + b"1,Bonn,a\n2,Kiel,b\n" * 70_000
    with pytest.raises(AppError, match=r"line 140003: not valid utf-8"):
        read(tmp_path, lines + "3,Köln,a\n".encode("latin-1"))


def test_wide_tables_are_quick(tmp_path: Path) -> None:
    """20,000 columns, as expression data have."""
    names = ",".join(f"g{i}" for i in range(20_000))
    row = ",".join(["0.5"] * 20_000)
    table = read(tmp_path, f"{names}\n" + f"{row}\n" * 10)
    assert (table.n_rows, len(table.columns)) == (10, 20_000)


def test_real_files(
    data_dir: Path, check_shape: Callable[[Path, int, int], None]
) -> None:
    check_shape(data_dir / "uci" / "crx.csv.gz", 653, 16)
    check_shape(data_dir / "uci" / "german.csv.gz", 1000, 21)
    check_shape(data_dir / "ordinal" / "uci" / "abalone.csv", 4177, 9)
    check_shape(data_dir / "ordinal" / "orca" / "train_tae.0", 113, 55)
    check_shape(data_dir / "ordinal" / "alexa" / "amazon_alexa.tsv.gz", 3150, 5)
    check_shape(data_dir / "ordinal" / "sst5" / "sst_dev.txt.gz", 1101, 2)


@pytest.fixture
def check_shape() -> Callable[[Path, int, int], None]:
    def check(path: Path, n_rows: int, n_columns: int) -> None:
        table = read_table(str(path))
        assert (table.n_rows, len(table.columns)) == (n_rows, n_columns)

    return check
