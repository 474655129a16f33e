"""Kernel values for each nanosecond: ours, NumPy's plain way, scikit-learn's.

``block`` fills a new matrix, ``block, kept`` one that is there already (fresh memory
costs more than the values), ``square`` a kept matrix of the rows with themselves, and
``product`` is the block times weights: what the solver beyond memory lives on, and what
only ours does without the block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.measure import Entrant, interleave, ratio
from benchmarks.report import Report, Table, number, raw, say, times
from benchmarks.suites import Options
from widemargin.gram import Kernel, centre_of, prepare

N_LEFT, N_RIGHT, N_SQUARE = 4_000, 2_000, 3_000
CHECKED = 300  # rows whose values are compared with float64

NOTES = [
    "Gaussian kernel, gamma=1/d, one thread, CPU time for each kernel value. Ours "
    "includes the scaling of the rows. Ratios are peer / own within a round: median "
    "(smallest-largest).",
    "NumPy: matmul, norms, exp, in place, with the same float type; CSR by SciPy's "
    "sparse product. skl = sklearn.metrics.pairwise.rbf_kernel, which always makes a "
    "new matrix.",
    "'max error' is ours against float64, absolute (for products relative to the sum "
    "of |weights|).",
]


@dataclass(frozen=True)
class Case:
    """Which rows."""

    d: int
    dtype: str
    density: float = 1.0
    quick: bool = False
    rounds: int = 7

    @property
    def name(self) -> str:
        kind = "dense" if self.density == 1.0 else f"CSR {self.density:.0%}"
        return f"{kind}, d={self.d}, {self.dtype}"

    def rows(self, n: int, seed: int) -> Any:
        """Standard normal values where there are any."""
        rng = np.random.default_rng(seed)
        if self.density == 1.0:
            return rng.normal(size=(n, self.d)).astype(self.dtype)
        return sparse.random_array(
            (n, self.d), density=self.density, format="csr", rng=rng,
            data_sampler=lambda size: rng.normal(size=size),
        ).astype(self.dtype)  # fmt: skip


CASES = [
    Case(d, dtype, quick=d == 20)
    for d in (20, 50, 100)
    for dtype in ("float32", "float64")
] + [
    Case(d, dtype, density, quick=d == 123 and dtype == "float32")
    for d, density in ((123, 0.11), (5000, 0.01))
    for dtype in ("float32", "float64")
]


def run(options: Options) -> Report:
    """Compute."""
    report = Report("Kernel blocks", list(NOTES))
    table = Table(
        f"ns for each value, {N_LEFT} x {N_RIGHT} (square: {N_SQUARE} x {N_SQUARE})",
        ["rows", "what", "rounds", "own", "NumPy", "skl", "NumPy/own", "skl/own",
         "max error"],
    )  # fmt: skip
    for case in CASES:
        if options.wants(case.name, case.quick):
            say(f"  {case.name}")
            _run_case(case, table, report, options)
    report.tables.append(table)
    return report


def numpy_block(X: Any, Z: Any, gamma: float, out: np.ndarray | None = None) -> Any:
    """exp(-gamma |x - z|^2) as one writes it with NumPy."""
    if sparse.issparse(X):
        K = (X @ Z.T).toarray(out=out)
        x_norms, z_norms = X.multiply(X).sum(axis=1), Z.multiply(Z).sum(axis=1)
    else:
        K = np.matmul(X, Z.T, out=out)
        x_norms, z_norms = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Z, Z)
    K *= 2.0
    K -= x_norms[:, None]
    K -= z_norms
    K *= gamma
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


def _run_case(case: Case, table: Table, report: Report, options: Options) -> None:
    X, Z, S = case.rows(N_LEFT, 0), case.rows(N_RIGHT, 1), case.rows(N_SQUARE, 2)
    gamma = 1 / case.d
    kernel = Kernel("rbf", gamma)
    weights = np.random.default_rng(3).normal(size=N_RIGHT)
    typed = weights.astype(case.dtype)
    kept = np.zeros((N_LEFT, N_RIGHT), case.dtype)
    whole = np.zeros((N_SQUARE, N_SQUARE), case.dtype)

    def own(X: Any) -> Any:
        # The values are float64 first, as they come out of an estimator's checks.
        return partial(prepare, X.astype(np.float64), kernel, case.dtype,
                       centre_of(Z, kernel))  # fmt: skip

    left, right, square = own(X), own(Z), own(S)
    plain: list[tuple[str, int, Callable[[], Any], Callable[[], Any], Any]] = [
        (
            "block", N_LEFT * N_RIGHT,
            lambda: left().block(right()),
            lambda: numpy_block(X, Z, gamma),
            lambda: rbf_kernel(X, Z, gamma=gamma),
        ),
        (
            "block, kept", N_LEFT * N_RIGHT,
            lambda: left().block(right(), kept),
            lambda: numpy_block(X, Z, gamma, kept),
            None,
        ),
        (
            "square", N_SQUARE**2,
            lambda: square().square(whole),
            lambda: numpy_block(S, S, gamma, whole),
            lambda: rbf_kernel(S, gamma=gamma),
        ),
        (
            "product", N_LEFT * N_RIGHT,
            lambda: left().product(right(), weights),
            lambda: numpy_block(X, Z, gamma) @ typed,
            lambda: rbf_kernel(X, Z, gamma=gamma) @ typed,
        ),
    ]  # fmt: skip
    exact = numpy_block(X[:CHECKED].astype(np.float64), Z.astype(np.float64), gamma)
    exact_square = numpy_block(
        S[:CHECKED].astype(np.float64), S.astype(np.float64), gamma
    )
    for what, entries, *works in plain:
        names = ("own", "NumPy", "scikit-learn")
        entrants = [
            Entrant(name, work, warm_up=work)
            for name, work in zip(names, works, strict=True)
            if work is not None
        ]
        interleave(entrants, options.rounds_of(case.rounds))
        own_side, numpy_side, *rest = entrants
        found = own_side.result[:CHECKED]
        if what == "product":
            error = np.abs(found - exact @ weights).max() / np.abs(weights).sum()
        else:
            error = np.abs(found - (exact_square if what == "square" else exact)).max()
        cells = [number(e.cpu.median / entries * 1e9, 3) for e in entrants]
        ratios = [times(ratio(e, own_side)) for e in (numpy_side, *rest)]
        if not rest:
            cells.append("-")
            ratios.append("-")
        table.add(
            case.name, what, str(len(own_side.timings)), *cells, *ratios,
            f"{float(error):.1e}",
        )  # fmt: skip
        report.records.append(
            {"case": case.name, "what": what, "entries": entries,
             "max_error": float(error), "timings": raw(entrants)}
        )  # fmt: skip
        for entrant in entrants:
            entrant.result = None  # a new matrix each: let go of it
