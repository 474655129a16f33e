"""`SVC.decision_function`: 20,000 rows at once, and one row alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.competitors import (
    LEGEND,
    OWN,
    PEERS,
    SKLEARN,
    SKLEARNEX,
    Settings,
    competitors,
)
from benchmarks.datasets import Dataset
from benchmarks.datasets.generated import clusters
from benchmarks.environment import n_cores
from benchmarks.measure import Entrant, interleave, ratio
from benchmarks.objective import kernel_product
from benchmarks.report import Report, Table, at_least, raw, say, seconds, times
from benchmarks.suites import Options

N_ROWS = 20_000
# Rows whose decisions are checked in float64.
CHECKED = 2_000

NOTES = [
    LEGEND,
    "Ratios are peer / own within a round: median (smallest-largest). Everybody "
    "predicts with the model of its own fit (C=1, gamma=1/d, tol=1e-3).",
    "'max error' is the largest distance of a decision of ours to a float64 evaluation "
    f"of the same model, on {CHECKED:,} rows, relative to the largest decision.",
]


@dataclass(frozen=True)
class Case:
    """A model and how many rows it sees at a time."""

    n_fit: int
    d: int
    n_rows: int
    load: Callable[[int, int], Dataset] = clusters
    rounds: int = 7
    quick: bool = False
    targets: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        rows = "one row" if self.n_rows == 1 else f"{self.n_rows} rows"
        return f"{rows}, d={self.d}"


FLOORS = {SKLEARN: 15.0, SKLEARNEX: 3.0}
# As many training rows as give about 1,800 and 2,600 support vectors.
CASES = (
    Case(3_800, 20, N_ROWS, quick=True, targets=FLOORS),
    Case(3_000, 100, N_ROWS, quick=True, targets=FLOORS),
    Case(3_800, 20, 1, rounds=15, quick=True),
    Case(3_000, 100, 1, rounds=15),
)


def run(options: Options) -> Report:
    """Predict."""
    report = Report("SVC: decision_function", list(NOTES))
    table = Table(
        "Time of one call",
        ["case", "threads", "clock", "rounds", "SVs", "own", "skl", "skx", "skl/own",
         "target", "skx/own", "target", "own 1 -> 2 threads", "max error"],
    )  # fmt: skip
    contestants = competitors(report.skip)
    for case in CASES:
        if options.wants(case.name, case.quick):
            _run_case(case, contestants, table, report, options)
    report.tables.append(table)
    return report


def _run_case(
    case: Case, contestants: list[Any], table: Table, report: Report, options: Options
) -> None:
    say(f"  {case.name}")
    X, y = case.load(case.n_fit + N_ROWS, case.d)
    train, rows = slice(0, case.n_fit), X[case.n_fit : case.n_fit + case.n_rows]
    settings = Settings(1.0, 1 / case.d, n_samples=case.n_fit)
    models = {c.NAME: c.make(settings, 1).fit(X[train], y[train]) for c in contestants}
    limits = range(1, min(2, n_cores()) + 1) if case.n_rows > 1 else (1,)
    entrants = []
    for n_threads in limits:
        for name, model in models.items():
            work = partial(model.decision_function, rows)
            entrants.append(Entrant(name, work, n_threads, work))
    # one row takes less than the clock can tell
    sample_seconds = 0.02 if case.n_rows == 1 else 0.0
    interleave(entrants, options.rounds_of(case.rounds), sample_seconds)

    own_model = models[OWN]
    error = _error(own_model, X[case.n_fit :][:CHECKED], 1 / case.d)
    alone = entrants[0]
    for n_threads in limits:
        # CPU seconds tell nothing of a second thread, wall seconds all.
        clock = "cpu" if n_threads == 1 else "wall"
        side = {e.name: e for e in entrants if e.n_threads == n_threads}
        own = side[OWN]
        cells = [
            case.name, str(n_threads), clock, str(len(own.timings)),
            str(len(own_model.support_)), seconds(getattr(own, clock).median),
        ]  # fmt: skip
        ratios = []
        for name in PEERS:
            peer = side.get(name)
            if peer is None:
                cells.append("-")
                ratios += ["-", "-"]
                continue
            cells.append(seconds(getattr(peer, clock).median))
            found = ratio(peer, own, clock)
            target = case.targets.get(name) if n_threads == 1 else None
            ratios += [times(found), at_least(target, found.median)]
        gain = "-" if n_threads == 1 else times(ratio(alone, own, "wall"))
        table.add(*cells, *ratios, gain, f"{error:.1e}")
    report.records.append(
        {
            "case": case.name, "targets": dict(case.targets),
            "n_support": {name: len(m.support_) for name, m in models.items()},
            "max_error": error, "timings": raw(entrants),
        }
    )  # fmt: skip


def _error(model: Any, X: np.ndarray, gamma: float) -> float:
    found = model.decision_function(X)
    exact = kernel_product(X, model.support_vectors_, gamma, model.dual_coef_[0])
    exact += model.intercept_[0]
    return float(np.abs(found - exact).max() / np.abs(exact).max())
