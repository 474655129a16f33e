"""How long until something happens: imports, the program's help, the first fit."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Spread, spread
from benchmarks.processes import worker
from benchmarks.report import Report, Table, at_most, say, seconds
from benchmarks.suites import Options

# The first import of a module also writes its byte code, and the first help reads
# hundreds of files from disk: one run more than is counted.
UNCOUNTED = 1

NOTES = [
    "Every figure is the median (smallest-largest) over fresh processes. The limits, "
    "in seconds, are held against CPU time, which others on the machine disturb least; "
    "on an idle machine wall time is the same but for reading files.",
    "'over NumPy + SciPy + scikit-learn': the time of the import in a process that has "
    "imported numpy, scipy and sklearn (for SVC: also scipy.linalg, scipy.sparse and "
    "sklearn.svm, which scikit-learn's own SVC loads).",
    "First fit: SVC on 200 rows. 'empty' has no compiled kernels on disk, 'warm' is "
    "the next process; import of the package not counted. 'compiled' counts kernels "
    "that were compiled rather than read.",
]


def run(options: Options) -> Report:
    """Start processes."""
    report = Report("Start", list(NOTES))
    table = Table(
        "Start", ["what", "runs", "CPU", "wall", "CPU at most", "remark"]
    )  # fmt: skip
    report.tables.append(table)
    for what, limit, measure, rounds in (
        ("import widemargin, over NumPy + SciPy + scikit-learn", 0.2, _package, 7),
        ("from widemargin import SVC, over the same", 0.2, _svc, 7),
        ("widemargin --help", 0.3, _help, 7),
        ("first fit, empty cache", None, _first_fit, 1 if options.quick else 3),
    ):
        if not options.wants(what, True):
            continue
        say(f"  {what}")
        try:
            measure(what, limit, options.rounds_of(rounds), table, report)
        except RuntimeError as error:
            report.fail(f"{what} is left out: {error}")
    return report


def _add(
    table: Table, report: Report, what: str, runs: list[dict[str, Any]],
    limit: float | None = None, remark: str = "-",
) -> None:  # fmt: skip
    cpu, wall = (spread([run[clock] for run in runs]) for clock in ("cpu", "wall"))
    table.add(
        what, str(len(runs)), _range(cpu), _range(wall), at_most(limit, cpu.median),
        remark,
    )  # fmt: skip
    report.records.append({"case": what, "at_most": limit, "runs": runs})


def _range(values: Spread) -> str:
    return f"{seconds(values.median)} ({seconds(values.low)}-{seconds(values.high)})"


def _import(mode: str, what: str, limit: Any, n: int, table: Table, report: Report):
    runs = [worker("start", mode) for _ in range(n + UNCOUNTED)][UNCOUNTED:]
    _add(table, report, what, runs, limit)


def _package(*args: Any) -> None:
    _import("package", *args)


def _svc(*args: Any) -> None:
    _import("svc", *args)


def _help(what: str, limit: Any, n: int, table: Table, report: Report) -> None:
    program = shutil.which("widemargin", path=str(Path(sys.executable).parent))
    if program is None:
        raise RuntimeError("the program is not installed beside this Python")
    runs = []
    for _ in range(n + UNCOUNTED):
        begun, children = time.perf_counter(), _children_cpu()
        done = subprocess.run(
            [program, "--help"], capture_output=True, text=True, check=False
        )
        wall = time.perf_counter() - begun
        if done.returncode or "Usage" not in done.stdout:
            raise RuntimeError(f"it ended with exit code {done.returncode}")
        runs.append({"cpu": _children_cpu() - children, "wall": wall})
    _add(table, report, what, runs[UNCOUNTED:], limit)


def _children_cpu() -> float:
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _first_fit(what: str, limit: Any, n: int, table: Table, report: Report) -> None:
    empty, warm, second = [], [], []
    for _ in range(n):
        with tempfile.TemporaryDirectory() as folder:
            cache = {"NUMBA_CACHE_DIR": folder}
            first = worker("start", "fit", environment=cache)
            again = worker("start", "fit", environment=cache)
        empty.append(first["first"])
        warm.append(again["first"])
        second.append(again["second"])
    said = "says so" if all(run["announced"] for run in empty) else "does not say so"
    # The median: a source edited between two processes rightly compiles once more.
    kernels = [
        int(np.median([run["compiled"] for run in runs]))
        for runs in (empty, warm, second)
    ]
    _add(table, report, what, empty, None, f"{kernels[0]} compiled; {said}")
    _add(table, report, "first fit, warm cache", warm, None, f"{kernels[1]} compiled")
    _add(table, report, "second fit of that process", second, None,
         f"{kernels[2]} compiled")  # fmt: skip
    if kernels[1]:
        report.fail(f"a second process compiled {kernels[1]} kernels again")
