"""The program end to end, through the installed console script."""

import csv
import gzip
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin.app.records import connect

Run = Callable[..., Any]


def test_the_main_job(program: Run, flowers: Path, tmp_path: Path) -> None:
    done = program("fit", "flowers.csv", "--target", "class", "--set", "C=3")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "flowers.csv: 60 rows"
    keys = [line.split()[0] for line in lines[1:] if line[0] != " "]
    assert keys == [
        *("target", "features", "hold-out", "model", "certificate", "support"),
        *("time", "written", "next"),
    ]
    for expected in (
        "2 numbers, scaled to mean 0 and variance 1; 1 category, as 3 indicators",
        "right on 15 rows kept back; 95% interval",
        "fitted again on all 60 rows; the hold-out scores are those of the same "
        "settings fitted on 45",
        "of the optimum, proven (duality gap",
        "support vector classifier, C=3, gamma=scale, kernel=rbf",
        "widemargin predict flowers.wm NEW_TABLE",
    ):
        assert expected in " ".join(done.out.split()), expected
    assert "fitting on 75% of the rows" in done.err
    assert "fitting" not in done.out

    shown = program("show", "flowers.wm")
    assert shown.code == 0 and shown.err == ""
    for expected in ("'width' and 'height'", "'colour'", "scikit-learn 1.", "smo"):
        assert expected in shown.out

    rows = [line.split(",")[:3] for line in flowers.read_text().splitlines()]
    (tmp_path / "new.csv").write_text("\n".join(map(",".join, rows)))
    predicted = program("predict", "flowers.wm", "new.csv")
    assert (predicted.code, predicted.err) == (0, "")
    table = list(csv.reader(io.StringIO(predicted.out)))
    assert table[0] == ["prediction", "score rose"]
    assert len(table) == 61
    assert all((float(s) > 0) == (p == "rose") for p, s in table[1:])

    checked = program("check", "flowers.csv", "-t", "class")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.splitlines()[-1] == "usable"

    again = program("fit", "flowers.csv", "--target", "class")
    assert (again.code, again.out) == (1, "")
    assert again.err == (
        "error: flowers.wm holds a model already; replace it with --force, or name "
        "another folder with --output\n"
    )


def test_predictions_do_not_depend_on_how_the_table_came(
    invoke: Run, flowers: Path, tmp_path: Path
) -> None:
    assert invoke("fit", flowers, "-t", "class", "-o", "m.wm").code == 0
    expected = invoke("predict", "m.wm", flowers)
    assert "accuracy" in expected.err
    text = flowers.read_text()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    german = text.replace(",", ";").replace(".", ",").encode("utf-16")
    (tmp_path / "t.txt").write_bytes(german)
    rows = list(csv.DictReader(io.StringIO(text)))
    typed = [{**r, "width": float(r["width"])} for r in rows]
    (tmp_path / "t.json").write_text(json.dumps(typed))
    with connect() as con:
        con.read_csv(str(flowers)).write_parquet(str(tmp_path / "t.parquet"))
    for name in ("t.csv.gz", "t.txt", "t.json", "t.parquet"):
        assert invoke("predict", "m.wm", name).out == expected.out, name


def test_standard_input_and_output_file(
    program: Run, flowers: Path, tmp_path: Path
) -> None:
    data = flowers.read_bytes()
    done = program("fit", "-", "-t", "class", "--quiet", stdin=gzip.compress(data))
    assert done.code == 0 and "standard input" in done.out
    assert "fitting" not in done.err
    done = program("predict", "model.wm", "-", "-o", "p.csv", stdin=data)
    assert (done.code, done.out) == (0, "")
    assert "accuracy" in done.err and "60 predictions written to p.csv" in done.err
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 61


def test_json(invoke: Run, flowers: Path) -> None:
    done = invoke("fit", flowers, "-t", "class", "--json", "--seed", 3)
    facts = json.loads(done.out)
    assert facts["rows"] == 60
    assert facts["holdout"]["rows"] == 15
    assert facts["certificate"]["converged"] is True
    assert 0 <= facts["certificate"]["dual_gap"] < 1e-2
    assert facts["seed"] == 3 and facts["model"] == "flowers.wm"
    assert facts["columns"]["categories"] == ["colour"]
    shown = json.loads(invoke("show", "flowers.wm", "--json").out)
    assert shown["holdout"] == facts["holdout"]
    predicted = json.loads(invoke("predict", "flowers.wm", flowers, "--json").out)
    assert len(predicted["predictions"]) == len(predicted["scores"]) == 60
    assert predicted["truth"]["accuracy"] > 0.8
    checked = json.loads(invoke("check", flowers, "--json").out)
    assert checked["usable"] is True


def test_same_seed_same_model(invoke: Run, flowers: Path) -> None:
    def facts(seed: int) -> dict[str, Any]:
        args = ("fit", flowers, "-t", "class", "--json", "-f", "--seed", seed)
        found: dict[str, Any] = json.loads(invoke(*args).out)
        return {k: v for k, v in found.items() if not k.endswith("seconds")}

    assert facts(1) == facts(1)
    assert facts(1)["holdout"] != facts(2)["holdout"]


def test_no_holdout_and_sample(invoke: Run, flowers: Path) -> None:
    done = invoke("fit", flowers, "-t", "class", "--holdout", 0, "--sample", 30)
    assert done.code == 0
    assert "none, so nothing is known about new rows" in done.out
    assert "drawn from 60 rows" in done.out


def test_many_rows_need_a_decision(
    invoke: Run, flowers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widemargin.app.training.KERNEL_ROWS", 50)
    monkeypatch.setattr("widemargin.app.training._TRIAL_ROWS", (20, 40))
    done = invoke("fit", flowers, "-t", "class")
    assert (done.code, done.out) == (1, "")
    assert "error: 60 rows: one fit of a kernel model would take about" in done.err
    assert "--sample 20000" in done.err and "--sample 60 to go on" in done.err
    assert invoke("fit", flowers, "-t", "class", "--sample", 60).code == 0


def test_three_classes_of_a_libsvm_file(invoke: Run, tmp_path: Path) -> None:
    rows = [f"{k}.0 1:{k}.{i} 2:{i} 5:{i % 3}" for k in (1, 2, 3) for i in range(9)]
    (tmp_path / "rows").write_text("\n".join(rows))
    done = invoke("fit", "rows")
    assert done.code == 0, done.err
    assert "rows (LIBSVM): 27 rows" in done.out
    # Trailing zeros are not written, so a file may look narrower than the model.
    (tmp_path / "narrow").write_text("1 1:1.1\n2 1:2.2\n3 1:3.3 2:4\n")
    done = invoke("predict", "rows.wm", "narrow")
    assert done.out.splitlines()[0] == "prediction,score 1.0,score 2.0,score 3.0"
    assert [line[:3] for line in done.out.splitlines()[1:]] == ["1.0", "2.0", "3.0"]
    (tmp_path / "wide").write_text("1 1:1.1\n2 1:2.2 7:1\n")
    done = invoke("predict", "rows.wm", "wide")
    pairs = invoke("fit", "rows", "-f", "--set", "decision_function_shape=ovo")
    assert pairs.code == 0
    done_pairs = invoke("predict", "rows.wm", "narrow")
    assert done_pairs.out.startswith(
        "prediction,score 1.0|2.0,score 1.0|3.0,score 2.0|3.0\n"
    )
    assert done.err.splitlines()[-1] == (
        "error: wide, line 2: index 7, but the model knows indices 1 to 5; leave "
        "higher ones out, or fit again on rows that have them"
    )


def test_quoting_of_predictions(invoke: Run, tmp_path: Path) -> None:
    rows = "".join(f'{i},"a, ""b"""\n{i + 50},"line\nbreak"\n' for i in range(20))
    (tmp_path / "t.csv").write_text("x,what\n" + rows)
    assert invoke("fit", "t.csv", "-t", "what").code == 0
    done = invoke("predict", "t.wm", "t.csv")
    labels = [row[0] for row in csv.reader(io.StringIO(done.out))]
    assert labels[1:] == ['a, "b"', "line\nbreak"] * 20


def test_what_predict_says_of_a_new_table(
    invoke: Run, flowers: Path, tmp_path: Path
) -> None:
    assert invoke("fit", flowers, "-t", "class").code == 0
    (tmp_path / "new.csv").write_text(
        "zip,colour,width,height,class\n1,violet,0.5,5,rose\n2,,NA,4,lily\n"
        "3,red,1,1,daisy\n"
    )
    done = invoke("predict", "flowers.wm", "new.csv")
    assert done.code == 0
    notes = done.err.splitlines()
    assert notes[0] == "note: ignored, not known to the model: 'zip'"
    assert notes[1] == (
        "note: column 'colour': 'violet' not seen in training (1 row), treated as none "
        "of the known ones"
    )
    assert notes[2] == (
        "note: values are missing in 1 row ('width' and 'colour'); they are filled as "
        "in training"
    )
    assert notes[3] == (
        "note: 'class' is 'daisy' in 1 row, which the model does not know; they are "
        "left out of the scores"
    )
    assert notes[4].startswith("accuracy ") and "on 2 rows" in notes[4]
    assert len(done.out.splitlines()) == 4


def test_check_lists_everything(invoke: Run, tmp_path: Path) -> None:
    rows = [f"{i},{i % 7},{i * 3},7,c{i % 2},{'ab'[i % 2]}" for i in range(30)]
    rows[3] = "3,1,2"
    rows[9] = "9,1,2,3,4,5,6,7"
    rows[12] = "12,5,spam,7,c1,a"
    rows[20] = "20,,2000000,7,C1,b"
    rows[25] = rows[24]
    rows[27] = rows[26][:-1] + "b"
    header = "id,x,y,same,kind,class"
    (tmp_path / "t.csv").write_text(header + "\n" + "\n".join(rows) + "\n")
    done = invoke("check", "t.csv", "-t", "class")
    assert done.code == 1
    assert done.err == "error: t.csv cannot be used as it is: 3 problems\n"
    text = " ".join(done.out.split())
    for expected in (
        "problem line 5: 3 fields, expected 6 as the header has, separated by ','; "
        "fill in what is missing, empty if it is not known",
        "problem line 11: 8 fields, expected 6 as the header has, separated by ','; "
        "put quotes around values that contain ','",
        "problem column 'y' has numbers, but for 'spam' (line 14); correct the cells",
        "remark 'x' has no value in 1 row (first: line 22)",
        "remark 'same' would be left out: it is 7 in every row",
        "remark 'kind' has 'C1' and 'c1', which count as different",
        "remark 2 rows that occur more than once (first: line 26 and line 27)",
        "remark 2 rows with equal features but different classes (first: line 28 and "
        "line 29)",
    ):
        assert expected in text, expected


def test_check_of_scales_and_small_classes(invoke: Run, tmp_path: Path) -> None:
    rows = [f"{i % 7},{i * i * 1000.5},{'rare' if i < 2 else 'abc'[i % 3]}"
            for i in range(600)]  # fmt: skip
    (tmp_path / "t.csv").write_text("x,y,class\n" + "\n".join(rows) + "\n")
    text = " ".join(invoke("check", "t.csv", "-t", "class").out.split())
    assert "unlike units: 'y' spreads" in text
    assert "class 'rare' has only 2 rows of 600" in text
    assert text.endswith("usable")
    bare = invoke("check", "t.csv").out
    assert "name the column to be learned with --target" in bare


def test_check_of_libsvm_lists_all_bad_lines(invoke: Run, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("1 1:1\n-1 0:1\n1\n1 2:nan\n-1 0:3\n-1 1:1 3:1\n")
    done = invoke("check", "rows")
    assert done.code == 1
    text = " ".join(done.out.split())
    assert "problem lines 2, 5: index 0, but LIBSVM counts from 1" in text
    assert "problem line 4: index 2 has the value nan" in text
    assert "remark 1 row without any feature (first: line 3)" in text


def test_class_weights_are_named_as_in_the_file(invoke: Run, flowers: Path) -> None:
    args = ("fit", flowers, "-t", "class", "-f", "--set")
    assert invoke(*args, 'class_weight={"rose": 5}').code == 0
    done = invoke(*args, 'class_weight={"tulip": 5}')
    assert done.err.endswith("there is no class 'tulip'; there are lily, rose\n")


def test_help_says_what_there_is(invoke: Run) -> None:
    done = invoke("--help")
    assert done.code == 0
    for command in ("fit", "predict", "check", "show", "demo"):
        assert f"\n  {command} " in done.out
    assert invoke("--version").out.startswith("widemargin 0.")


def test_importing_the_program_is_cheap() -> None:
    code = (
        "import sys, widemargin.app.cli\n"
        "heavy = {'numpy', 'sklearn', 'numba', 'duckdb', 'skops', 'rich', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("width", ["30", "200"])
def test_narrow_terminals_and_no_colour(
    invoke: Run, flowers: Path, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("COLUMNS", width), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    done = invoke("fit", "flowers.csv", "-t", "class")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert all(line == line.rstrip() for line in done.out.splitlines())
    rows = [line for line in done.out.splitlines()[1:] if "flowers.wm" not in line]
    assert max(map(len, rows)) <= max(int(width), 34)


def test_whoever_reads_may_stop_early(invoke: Run, start: Run, tmp_path: Path) -> None:
    rows = "".join(f"{i % 90},{'ab'[i % 90 > 44]}\n" for i in range(20_000))
    (tmp_path / "t.csv").write_text("x,class\n" + rows)
    assert invoke("fit", "t.csv", "-t", "class", "--sample", 200).code == 0
    process = start("predict", "t.wm", "t.csv")
    assert process.stdout.readline() == b"prediction,score b\n"
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(timeout=60) == 141
    assert err.splitlines()[1:] == [] and "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")
def test_interruption_is_one_line(start: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.4f},{b:.4f},{c}"
        for a, b, c in zip(
            *rng.normal(size=(2, 20_000)), rng.integers(2, size=20_000), strict=True
        )
    ]
    (tmp_path / "t.csv").write_text("x,y,class\n" + "\n".join(rows))
    process = start("fit", "t.csv", "-t", "class", "--set", "C=1000")
    while b"fitting" not in (line := process.stderr.readline()):
        assert line.startswith(b"compiling"), line
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stderr.read().decode().splitlines()[-1] == "error: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_an_unexpected_failure_is_one_line(
    invoke: Run, flowers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("widemargin.app.training.fit_table", broken)
    done = invoke("fit", flowers, "-t", "class")
    assert done.code == 1
    assert done.err == (
        "error: unexpected RuntimeError: two lines (set WIDEMARGIN_TRACEBACK=1 to see "
        "where, and please report it)\n"
    )


def test_warnings_of_the_library_are_one_line_each(invoke: Run, flowers: Path) -> None:
    done = invoke("fit", flowers, "-t", "class", "--set", "max_iter=2", "--holdout", 0)
    assert done.code == 0
    warned = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 1 and "max_iter" in warned[0]
    assert "not converged: KKT gap" in done.out


@pytest.mark.slow
def test_demo(program: Run) -> None:
    done = program("demo")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert "of the optimum, proven" in done.out
    assert "converged" in done.out


@pytest.mark.parametrize(
    ("name", "target", "rows"),
    [("crx.csv.gz", "class", 653), ("iris.csv.gz", "class", 150)],
)
def test_real_tables(
    invoke: Run, data_dir: Path, name: str, target: str, rows: int
) -> None:
    path = data_dir / "uci" / name
    done = invoke("fit", path, "-t", target, "--json")
    facts = json.loads(done.out)
    assert facts["rows"] == rows
    assert facts["holdout"]["accuracy"] > 0.8
    assert facts["certificate"]["dual_gap"] < 0.01


def test_real_libsvm_files(invoke: Run, data_dir: Path) -> None:
    folder = data_dir / "libsvm"
    done = invoke("fit", folder / "a9a.gz", "--sample", 2000, "--json")
    assert done.code == 0, done.err
    done = invoke("predict", "a9a.wm", folder / "a9a.t.gz", "--json")
    assert json.loads(done.out)["truth"]["accuracy"] > 0.82
