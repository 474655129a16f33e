"""Golden messages: what a user does wrong is one clear line and an exit code."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

GOOD = "x,colour,class\n" + "".join(
    f"{i % 13}.5,{'rgb'[i % 3]},{'pq'[i % 13 > 6]}\n" for i in range(40)
)
LINES = GOOD.splitlines()


def with_line(number: int, text: str) -> str:
    """The good table with line `number` (from 1) replaced."""
    return "\n".join([*LINES[: number - 1], text, *LINES[number:]]) + "\n"


FIT_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty file": ("", "t.csv is empty"),
    "blank lines only": ("\n \n", "t.csv holds no data, only blank lines"),
    "comments only": ("# a\n# b\n", "t.csv holds no data, only comments"),
    "header only": (
        "x,colour,class\n",
        "t.csv: there is a header but no row below it",
    ),
    "short row": (
        with_line(9, "1,r"),
        "t.csv, line 9: 2 fields, expected 3 as the header has, separated by ','; fill "
        "in what is missing, empty if it is not known",
    ),
    "long row": (
        with_line(41, "1,r,p,2"),
        "t.csv, line 41: 4 fields, expected 3 as the header has, separated by ','; put "
        "quotes around values that contain ','",
    ),
    "title above the table": (
        "My table\n" + GOOD,
        "t.csv, line 1: 1 field, expected 3 as most lines have, separated by ','; "
        "delete this line if it is not part of the table",
    ),
    "open quote": (
        with_line(5, '1,"r,p'),
        't.csv, line 5: the quote " that opens in this row is never closed; nothing '
        "below was read",
    ),
    "text after a quote": (
        with_line(5, '1,"r"s,p'),
        't.csv, line 5: text follows a closing quote "; double the quotes that belong '
        'to a value (""); nothing below was read',
    ),
    "equal names": (
        GOOD.replace("colour", "x", 1),
        "t.csv, line 1: the name 'x' stands above columns 1 and 2; rename one",
    ),
    "infinity": (
        with_line(7, "inf,r,p"),
        "t.csv: column 'x' has infinite values (line 7); correct the cells, write NA "
        "where a value is not known, or leave the column out with --drop",
    ),
    "a word among numbers": (
        with_line(7, "12O,r,p"),
        "t.csv: column 'x' has numbers, but for '12O' (line 7); correct the cells, "
        "write NA where a value is not known, or leave the column out with --drop",
    ),
    "one class": (
        GOOD.replace(",q", ",p"),
        "t.csv: the target 'class' is 'p' in every row; two classes are needed",
    ),
    "a class of one row": (
        with_line(8, "1,r,z"),
        "t.csv: the class 'z' has only one row (line 8); every class needs two or "
        "more, so merge it with another or delete the row",
    ),
    "nothing to learn from": (
        "id,class\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(30)),
        "t.csv has no column to learn from; left out: 'id' (it counts the rows from 0 "
        "to 29)",
    ),
    "target not there": (
        GOOD.replace("class", "klass", 1),
        "t.csv has no column 'class'; did you mean 'klass'?",
    ),
    "binary": (
        bytes(range(256)),
        "t.csv is a binary file, not a table; CSV, TSV, JSON, LIBSVM and Parquet are "
        "read",
    ),
    "Excel": (
        b"PK\x03\x04" + b"\0" * 50,
        "t.csv is an Excel, NumPy or zip file; save the sheet or array as CSV",
    ),
    "SQLite": (
        b"SQLite format 3\0" + b"\0" * 50,
        "t.csv is an SQLite database; export the table as CSV",
    ),
    "pickle": (
        b"\x80\x04\x95" + b"\0" * 50,
        "t.csv is a pickle, which could run code when read; save it as CSV",
    ),
    "ARFF": (
        "% about\n@relation t\n@attribute x numeric\n@data\n1\n",
        "t.csv is a Weka ARFF file; save the table as CSV",
    ),
    "gzip cut off": (
        gzip.compress(GOOD.encode())[:60],
        "t.csv: the compressed data are cut off or damaged",
    ),
}


@pytest.mark.parametrize("kind", FIT_FILES)
def test_bad_files(kind: str, invoke: Run, tmp_path: Path) -> None:
    content, message = FIT_FILES[kind]
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / "t.csv").write_bytes(data)
    done = invoke("fit", "t.csv", "--target", "class", "-q")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"error: {message}\n"
    assert not (tmp_path / "t.wm").exists()


def test_a_continuous_target(invoke: Run, tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i * 1.25}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("x,price\n" + rows)
    done = invoke("fit", "t.csv", "-t", "price")
    assert done.code == 1
    assert done.err == (
        "error: t.csv: the target 'price' looks continuous (60 different numbers from "
        "0 to 73.75): that is regression, which widemargin does not do; to learn "
        "classes, cut it into ranges first\n"
    )


USAGE: list[tuple[list[str], int, str]] = [
    (["none.csv"], 1, "none.csv: there is no such file"),
    (["tt.csv"], 1, "tt.csv: there is no such file; did you mean t.csv?"),
    (["."], 1, ". is a folder; name a table file inside it"),
    (
        ["t.csv", "--learner", "svm"],
        2,
        "--learner svm is not known; did you mean 'svc'?",
    ),
    (
        ["t.csv", "--set", "c=1"],
        2,
        "--set c: svc has no such setting; did you mean 'C'?",
    ),
    (
        ["t.csv", "--set", "kernal=rbf"],
        2,
        "--set kernal: svc has no such setting; did you mean 'kernel'?",
    ),
    (["t.csv", "--set", "C"], 2, "--set C: write NAME=VALUE, such as --set C=10"),
    (["t.csv", "--set", "n_jobs=2"], 2, "--set n_jobs: use --jobs for this"),
    (
        ["t.csv", "--set", "kernel=precomputed"],
        2,
        "--set kernel=precomputed needs a kernel matrix in place of a table; use "
        "widemargin.SVC from Python for that",
    ),
    (["t.csv", "--set", "C=-1"], 1, "C must be > 0, got -1"),
    (["t.csv", "--set", "gamma=-1"], 1, "gamma must be >= 0, got -1"),
    (
        ["t.csv", "--holdout", "0.9"],
        2,
        "--holdout must be between 0 and 0.5, got 0.9; the share is of all rows, 0 "
        "holds out none",
    ),
    (
        ["t.csv", "--holdout", "0.01"],
        1,
        "--holdout 0.01 of 40 rows is 1 row, fewer than the 2 classes; hold out 0.05 "
        "or more, or nothing with --holdout 0",
    ),
    (
        ["t.csv", "--sample", "3"],
        1,
        "--sample 3 is too few for 2 classes; take 4 or more",
    ),
    (
        ["t.csv", "--jobs", "0"],
        2,
        "--jobs must be 1 or more, or -1 for all cores, got 0",
    ),
    (
        ["t.csv", "--drop", "color"],
        1,
        "--drop color: there is no such column; did you mean 'colour'?",
    ),
    (["t.csv", "--drop", "class"], 1, "--drop class: this is the target"),
    (["t.csv", "-o", "t.csv"], 1, "t.csv is a file; name another folder with --output"),
]


@pytest.mark.parametrize(("args", "code", "message"), USAGE)
def test_wrong_usage(
    args: list[str], code: int, message: str, invoke: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(GOOD)
    done = invoke("fit", *args, "--target", "class", "-q")
    assert (done.code, done.out) == (code, "")
    assert done.err == f"error: {message}\n"


def test_no_target(invoke: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(GOOD)
    done = invoke("fit", "t.csv")
    assert (done.code, done.err) == (
        2,
        "error: which column of t.csv is to be learned? Name it with --target; there "
        "are 'x', 'colour' and 'class'\n",
    )


@pytest.mark.parametrize(
    "args",
    [["fit"], ["fit", "t.csv", "--nosuch"], ["nosuch"], ["fit", "t", "--seed=x"]],
)
def test_usage_of_typer(args: list[str], invoke: Run) -> None:
    done = invoke(*args)
    assert done.code == 2
    assert "Traceback" not in done.err and "Usage: " in done.err


PREDICT_FILES: dict[str, tuple[str, str]] = {
    "column missing": (
        "colour,class\nr,p\n",
        "t.csv lacks the column 'x'",
    ),
    "column renamed": (
        "x,color\n1,r\n",
        "t.csv lacks the column 'colour'; did you mean 'color'?",
    ),
    "all columns missing": (
        "a,b\n1,r\n",
        "t.csv lacks 2 of the 2 columns the model needs: 'x' and 'colour'",
    ),
    "no header": (
        "1,r\n2,g\n",
        "t.csv lacks 2 of the 2 columns the model needs: 'x' and 'colour'; it has no "
        "header line",
    ),
    "text for a number": (
        "x,colour\n1,r\ntall,r\n",
        "t.csv, line 3: column 'x' should be a number as in the training data, but is "
        "'tall'",
    ),
    "infinity": (
        "x,colour\n1,r\n-inf,r\n",
        "t.csv, line 3: column 'x' is infinite; write a number, or NA where it is not "
        "known",
    ),
    "LIBSVM": (
        "1 1:2 2:3\n1 1:3\n",
        "t.csv lacks 2 of the 2 columns the model needs: 'x' and 'colour'",
    ),
}


@pytest.mark.parametrize("kind", PREDICT_FILES)
def test_tables_that_do_not_fit_the_model(
    kind: str, invoke: Run, tmp_path: Path
) -> None:
    (tmp_path / "good.csv").write_text(GOOD)
    assert invoke("fit", "good.csv", "-t", "class", "-o", "m.wm").code == 0
    content, message = PREDICT_FILES[kind]
    (tmp_path / "t.csv").write_text(content)
    done = invoke("predict", "m.wm", "t.csv")
    assert (done.code, done.out, done.err) == (1, "", f"error: {message}\n")


def test_models_that_are_none(invoke: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(GOOD)
    done = invoke("predict", "no.wm", "t.csv")
    assert done.err == (
        "error: no.wm: there is no such model; `widemargin fit` makes one\n"
    )
    done = invoke("show", "t.csv")
    assert done.err == "error: t.csv is not a widemargin model, or is damaged\n"
    assert invoke("fit", "t.csv", "-t", "class").code == 0
    done = invoke("predict", "t.wm", "t.csv", "-o", "t.csv")
    assert done.err == "error: --output t.csv is the input; name another file\n"
    done = invoke("predict", "t.wm", "t.csv", "-o", "no/p.csv")
    assert done.err == (
        "error: --output no/p.csv cannot be written: No such file or directory\n"
    )
    (tmp_path / "rows").write_text("1 1:2 200:3\n-1 1:3\n1 3:1\n-1 5:1\n" * 3)
    assert invoke("fit", "rows").code == 0
    done = invoke("predict", "rows.wm", "t.csv")
    assert done.err == (
        "error: the model learned from a LIBSVM file, but t.csv is a table with "
        "columns; give it a LIBSVM file\n"
    )


@pytest.mark.parametrize(
    "rows",
    [
        "".join(f"{i % 2},5,{'pq'[i % 2]}\n" for i in range(30)),
        "".join(f"1.5,{i % 3},{'pq'[i % 2]}\n" for i in range(30)),  # torn duplicates
        "".join(f"{i}e90,{i % 3},{'pq'[i % 2]}\n" for i in range(30)),
        "".join(f"{20_000 + i / 1000},{i % 3},{'pq'[i > 14]}\n" for i in range(30)),
    ],
)
@pytest.mark.parametrize("settings", ["C=1e6", "kernel=poly", "kernel=sigmoid"])
def test_hard_but_legal_tables_end_well(
    rows: str, settings: str, invoke: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("x,y,class\n" + rows)
    done = invoke("fit", "t.csv", "-t", "class", "--set", settings)
    assert done.code == 0, done.err
    assert "certificate" in done.out
