"""What the tests of the program share: running it, and small tables."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

Run = Callable[..., Any]


@dataclass
class Ran:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str


def installed_program() -> list[str]:
    script = Path(sysconfig.get_path("scripts")) / "widemargin"
    if script.exists():
        return [str(script)]
    return [sys.executable, "-c", "from widemargin.app.cli import main; main()"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Run]:
    """Start the installed program in a folder of its own."""
    with ExitStack() as stack:

        def run(*args: object, **environment: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [*installed_program(), *map(str, args)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=tmp_path,
                env={**os.environ, "COLUMNS": "200", **environment},
            )
            return stack.enter_context(process)

        yield run


@pytest.fixture
def program(start: Run) -> Run:
    """Run the installed program to its end."""

    def run(*args: object, stdin: bytes = b"", **environment: str) -> Ran:
        process = start(*args, **environment)
        out, err = process.communicate(stdin, timeout=120)
        return Ran(process.returncode, out.decode(), err.decode())

    return run


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command inside this process: quick, for messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: object) -> Ran:
        from widemargin.app.cli import app

        result = CliRunner().invoke(app, [str(arg) for arg in args])
        failed = result.exception
        if failed is not None and not isinstance(failed, SystemExit):
            raise failed
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="session")
def flower_rows() -> list[list[str]]:
    """Header and 60 rows: two numbers, a colour, and a class they nearly decide."""
    rng = np.random.default_rng(0)
    rows = [["width", "height", "colour", "class"]]
    for _ in range(60):
        width, height = rng.normal(0.0, 1.0), rng.normal(5.0, 2.0)
        colour = str(rng.choice(["red", "blue", "green"]))
        label = "rose" if width + (colour == "red") > 0.3 else "lily"
        rows.append([f"{width:.3f}", f"{height:.3f}", colour, label])
    return rows


@pytest.fixture
def flowers(tmp_path: Path, flower_rows: list[list[str]]) -> Path:
    """A good CSV file of 60 rows."""
    path = tmp_path / "flowers.csv"
    path.write_text("".join(",".join(row) + "\n" for row in flower_rows))
    return path
