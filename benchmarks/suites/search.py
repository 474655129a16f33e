"""Hyperparameter search: test error and CPU seconds against grid search by folds."""

import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from benchmarks.competitors.searches import BFGS, FILES, SPAN, TPE, Box, Task, load
from benchmarks.datasets import MissingDataError
from benchmarks.datasets.tuning import split
from benchmarks.environment import n_cores
from benchmarks.measure import timed
from benchmarks.report import Report, say
from benchmarks.suites import Options
from benchmarks.suites.search_cases import CASES, Case, Entry
from benchmarks.suites.search_tables import tables
from benchmarks.threads import limited

# No further split is begun after this many seconds; the table counts those made.
MOST_SECONDS = 1020.0

NOTES = [
    "All search the same box with a Gaussian kernel: C in [2^-5, 2^15], gamma in "
    "[2^-15, 2^3], rows standardised by the training part; polynomial: C in [2^-5, "
    "2^8], gamma in [2^-10, 1], degree 2 to 4, coef0 1, and LIBSVM ends after "
    "100,000 steps.",
    "grid: GridSearchCV, 10 x 10 values (polynomial 5 x 5 x 3), 5 folds, with "
    "scikit-learn's SVC. loo + CMA-ES: MarginSearchCV as it is, the others by "
    "`search`, `cv` and `loss='squared_hinge'`. Optuna: 66 settings, 5 folds, "
    "scikit-learn's SVC.",
    "CPU seconds hold the last fit to all rows. One thread each; searches of one "
    "split take turns in one process, and as many splits run side by side as there "
    "are cores.",
    "'to grid' is the mean difference in test error on the same splits, in points; "
    "'CPU s' the mean; 'grid/own CPU' a ratio of means over the same splits; 'edge' "
    "counts splits whose C or gamma came to lie within 1 % of an end of its range.",
    "Errors of one split have standard deviations of about a point: differences of a "
    "few tenths on 20 splits are noise.",
]


class Job(NamedTuple):
    """All searches of one split, which run one after the other."""

    data: str
    group: str
    case: str
    seed: int
    entries: tuple[Entry, ...]


def run(options: Options) -> Report:
    """Search."""
    report = Report("Hyperparameter search", list(NOTES))
    cases = [case for case in CASES if options.wants(case.name, case.quick)]
    missing = _missing(report)
    if TPE not in missing:
        report.notes.append(f"Optuna {version('optuna')}.")
    jobs = sorted(_jobs(cases, options, missing), key=lambda job: job.seed)
    report.records = _measured(jobs, report)
    report.tables = tables(report.records)
    return report


def _missing(report: Report) -> set[str]:
    """Searches whose package is not installed."""
    missing = set()
    for name in FILES:
        try:
            load(name)
        except ImportError as error:
            missing.add(name)
            report.skip(f"{name} is left out: {error}")
    return missing


def _jobs(cases: list[Case], options: Options, missing: set[str]) -> Iterator[Job]:
    for case in cases:
        entries = [e for e in case.entries() if e.search not in missing]
        n_splits = options.rounds_of(case.splits)
        if options.quick:
            n_splits = min(2, n_splits)
        for seed in range(n_splits):
            here = tuple(e for e in entries if seed < e.splits)
            yield Job(case.data, case.group, case.name, seed, here)


def _measured(jobs: list[Job], report: Report) -> list[dict[str, Any]]:
    """Results of all jobs, in the order of the cases."""
    began = time.monotonic()
    waiting, running = list(jobs), set()
    records: list[dict[str, Any]] = []
    lost: set[str] = set()
    # spawn: a fork would inherit the pools of threads of what is loaded already
    with ProcessPoolExecutor(n_cores(), get_context("spawn"), _warm_up) as pool:
        while waiting or running:
            late = time.monotonic() - began > MOST_SECONDS
            if late and waiting:
                report.skip(
                    f"{len(waiting)} of {len(jobs)} splits are left out: "
                    f"{MOST_SECONDS:.0f} s were over"
                )
                waiting = []
            while waiting and len(running) < n_cores():
                running.add(pool.submit(_run_job, waiting.pop(0)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            _collect(done, records, lost, report)
            say(f"  {len(jobs) - len(waiting) - len(running)} of {len(jobs)} splits, "
                f"{time.monotonic() - began:.0f} s")  # fmt: skip
    order = [case.name for case in CASES]
    records.sort(key=lambda r: (order.index(r["case"]), r["split"]))
    return records


def _collect(
    done: Iterable[Future],
    records: list[dict[str, Any]],
    lost: set[str],
    report: Report,
) -> None:
    for future in done:
        for record in future.result():
            if "missing" in record:
                if record["case"] not in lost:
                    report.skip(f"{record['case']} is left out: {record['missing']}")
                lost.add(record["case"])
            elif "error" in record:
                report.fail(f"{record['case']}, {record['search']}: {record['error']}")
            else:
                records.append(record)


def _warm_up() -> None:
    """Compile, or load, what the first search would otherwise pay for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 0] += (y := np.arange(60) % 2)
    two = Box()
    for labels in (y, np.arange(60) % 3):
        for box in (two, two._replace(per_feature=True), two._replace(degrees=(2, 3))):
            for name in (SPAN,) if box.degrees else (SPAN, BFGS):
                _quietly(name, Task(X, labels, box, 0))


def _quietly(name: str, task: Task) -> Any:
    with limited(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # steps run out at the corners of the box
        return load(name)(task)


def _run_job(job: Job) -> list[dict[str, Any]]:
    try:
        parts = split(job.data, job.seed)
    except MissingDataError as error:
        return [{"case": job.case, "missing": str(error)}]
    return [_run_entry(job, entry, parts) for entry in job.entries]


def _run_entry(job: Job, entry: Entry, parts: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "case": job.case, "group": job.group, "split": job.seed, "search": entry.name
    }  # fmt: skip
    task = Task(parts.X, parts.y, entry.box, job.seed)
    try:
        timing, found = timed(partial(_quietly, entry.search, task))
        error = 100.0 * float(
            np.mean(found.model.predict(parts.X_test) != parts.y_test)
        )
    except Exception:
        return record | {"error": traceback.format_exc(limit=-1).splitlines()[-1]}
    n, d = parts.X.shape
    return record | {
        "n_train": n, "n_features": d, "test_error": error,
        "n_support": len(found.model.support_), "n_fits": found.n_fits,
        "cpu_seconds": timing.cpu, "wall_seconds": timing.wall,
        "edge": entry.box.at_edge(found.params), "reasons": found.reasons,
        "params": {k: np.asarray(v).tolist() for k, v in found.params.items()},
    }  # fmt: skip
