"""Pairs of classes for `SVC`: one dual problem each, kernel blocks shared."""

import threading
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from widemargin._threads import n_blas_threads, one_blas_thread, run_each
from widemargin.gram import (
    FLOAT32_ERROR,
    Rows,
    centre_of,
    float32_error,
    prepare,
)
from widemargin.kernel_function import NORMALISED, Kernel
from widemargin.progress import Callback
from widemargin.result import SolverResult, Status, TracePoint
from widemargin.solvers.active_set import (
    SVC_POLICY,
    Workspace,
    repair,
    solve_active_set,
)
from widemargin.solvers.certificate import best_primal, relative_gap

# Up to this many rows float32 saves nothing.
FLOAT64_ROWS = 512


class FittedPairs(NamedTuple):
    """All pairs' solutions in the layout that `SVC` publishes."""

    support: np.ndarray
    dual_coef: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    kkt_gaps: np.ndarray
    n_iters: np.ndarray
    statuses: list[str]
    solver: str

    @property
    def converged(self) -> bool:
        return all(status == Status.CONVERGED for status in self.statuses)


class _Samples:
    """The training rows for one kernel, in float32 where safe, float64 on demand."""

    def __init__(self, X: Any, kernel: Kernel, room: float) -> None:
        n = X.shape[0]
        if callable(kernel.name) and n * n * 8 <= room:
            # one call for all pairs and passes, where the matrix fits
            X = prepare(X, kernel).square(np.empty((n, n)))
            kernel = kernel._replace(name="precomputed")
        self.X, self.kernel = X, kernel
        self.centre = centre_of(X, kernel)
        self.single, self.entry_error = False, 0.0
        if n > FLOAT64_ROWS:
            self.entry_error = float32_error(X, kernel, self.centre)
            self.single = self.entry_error <= FLOAT32_ERROR
        dtype = np.float32 if self.single else np.float64
        self.rows = prepare(X, kernel, dtype, self.centre)
        self.normalised = kernel.name in NORMALISED
        self._exact: Rows | None = None

    def exact(self) -> Rows:
        if self._exact is None:
            self._exact = prepare(self.X, self.kernel, np.float64, self.centre)
        return self._exact


def _solve_pair(
    samples: _Samples, index: np.ndarray | None, y: np.ndarray, C: np.ndarray,
    start: np.ndarray | None, squared: bool, settings: dict[str, Any],
) -> tuple[SolverResult, float]:  # fmt: skip
    """(solution in signed variables, relative duality gap) of one pair."""
    if squared:
        bound = np.full(len(y), np.inf)
        shift = 1.0 / C
    else:
        bound, shift = C, np.zeros(len(y))
    lower = np.where(y > 0, 0.0, -bound)
    upper = np.where(y > 0, bound, 0.0)
    if start is not None:
        start = np.clip(start, lower, upper)
        repair(start, lower, upper, 0.0)
    rows = samples.rows if index is None else samples.rows.take(index)

    def exact() -> Rows:
        return samples.exact() if index is None else samples.exact().take(index)

    result = solve_active_set(
        rows, y, lower, upper, start=start, shift=shift,
        exact=exact if samples.single else None, entry_error=samples.entry_error,
        normalised=samples.normalised,
        policy=SVC_POLICY, **settings,
    )  # fmt: skip
    if result.status is Status.FAILED:
        return result, np.nan
    b, v = result.x, -result.gradient  # type: ignore[operator]
    scores = y - v - shift * b
    square = float(b @ scores)
    primal, _, _ = best_primal(
        scores, y, C, square, result.intercept, result.measure, squared,
        -result.objective,
    )  # fmt: skip
    # A certificate must not owe anything to rounding.
    primal += result.extra["rounding"]
    return result, relative_gap(primal, -result.objective)


def fit_pairs(
    X: Any,
    codes: np.ndarray,
    n_classes: int,
    C: np.ndarray,
    kernel: Kernel,
    *,
    squared: bool,
    tol: float,
    max_iter: int,
    shrinking: bool,
    cache_size: float,
    start: tuple[np.ndarray, np.ndarray] | None,
    n_jobs: int,
    seed: int,
    callback: Callback | None,
) -> FittedPairs:
    """Solve one against one.

    Parameters
    ----------
    X : ndarray or CSR of float64, (n_samples, n_features)
        Samples, or the Gram matrix for kernel "precomputed".
    codes : ndarray of int, (n_samples,)
        Class of each row, 0 ... n_classes - 1.
    C : ndarray, (n_samples,)
        Penalty of each row, >= 0; rows of 0 take no part.
    start : tuple, optional
        (support, dual_coef) of an earlier fit on rows of these classes.
    """
    samples = _Samples(X, kernel, cache_size * 2**20)
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    alive = C > 0
    members = [np.flatnonzero((codes == k) & alive) for k in range(n_classes)]
    n_workers = min(n_jobs, len(pairs))
    binary = n_classes == 2
    halt = threading.Event()

    def watch(point: TracePoint) -> bool:
        return halt.is_set() or bool(callback is not None and callback(point))

    local = threading.local()  # a workspace for each worker
    borrowed: list[Workspace] = []
    earlier = unpack(start, codes, n_classes) if start is not None else None

    def work(pair: tuple[int, int]) -> tuple[np.ndarray, SolverResult, float]:
        i, j = pair
        # LIBSVM's signs: the first class is +1, except that two classes have
        # decision_function > 0 for the second.
        first = j if binary else i
        index = np.concatenate((members[i], members[j]))
        if binary:
            index = np.sort(index)
        y = np.where(codes[index] == first, 1.0, -1.0)
        begin = None
        if earlier is not None:
            begin = earlier[pair][index]
        n = len(index)
        if not hasattr(local, "workspace"):
            local.workspace = Workspace.borrow()
            borrowed.append(local.workspace)
        settings = {
            "workspace": local.workspace,
            "lazy": not binary,
            "tol": tol,
            "max_iter": max(10**7, 100 * n) if max_iter < 0 else max_iter,
            "cache_size": cache_size / n_workers,
            "n_threads": 1 if n_workers > 1 or n < 2000 else n_blas_threads(),
            "shrinking": shrinking,
            "seed": seed,
            "callback": watch,
        }
        whole = n == len(codes) and binary
        result, gap = _solve_pair(
            samples, None if whole else index, y, C[index], begin, squared, settings
        )
        return index, result, gap

    solved = run_each(work, pairs, n_workers, halt)
    for workspace in borrowed:
        workspace.give_back()
    return _assemble(solved, pairs, members, codes, len(codes), n_classes, len(pairs))


def unpack(
    start: tuple[np.ndarray, np.ndarray], codes: np.ndarray, n_classes: int
) -> dict[tuple[int, int], np.ndarray]:
    """dual_coef of an earlier fit as one signed vector of n_samples for each pair."""
    support, dual_coef = start
    owners = codes[support]
    vectors = {}
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            b = np.zeros(len(codes))
            if n_classes == 2:
                b[support] = dual_coef[0]
            else:
                b[support[owners == i]] = dual_coef[j - 1, owners == i]
                b[support[owners == j]] = dual_coef[i, owners == j]
            vectors[i, j] = b
    return vectors


def _assemble(solved, pairs, members, codes, n, n_classes, n_pairs) -> FittedPairs:
    used = np.zeros(n, bool)
    for index, result, _ in solved:
        used[index[result.x != 0]] = True
    support = np.concatenate([m[used[m]] for m in members])
    place = np.full(n, -1)
    place[support] = np.arange(len(support))
    dual_coef = np.zeros((n_classes - 1, len(support)))
    for (i, j), (index, result, _) in zip(pairs, solved, strict=True):
        b = result.x
        nonzero = np.flatnonzero(b)
        owner = codes[index[nonzero]]
        column = place[index[nonzero]]
        if n_classes == 2:
            dual_coef[0, column] = b[nonzero]
        else:
            row = np.where(owner == i, j - 1, i)
            dual_coef[row, column] = b[nonzero]
    results = [result for _, result, _ in solved]
    slow = any(result.extra["beyond_memory"] for result in results)
    return FittedPairs(
        support,
        dual_coef,
        np.array([r.intercept for r in results]),
        np.array([r.objective for r in results]),
        np.array([gap for _, _, gap in solved]),
        np.array([r.measure for r in results]),
        np.array([r.n_iter for r in results], np.int64),
        [str(r.status) for r in results],
        "active_set" if slow else "smo",
    )


def decide(
    X: Any,
    vectors: Any,
    support: np.ndarray,
    n_support: np.ndarray,
    dual_coef: np.ndarray,
    intercepts: np.ndarray,
    kernel: Kernel,
) -> np.ndarray:
    """Decisions of all pairs, (n_samples, n_pairs), in float64.

    float64 tiles: a row alone and the same row in a batch agree to rounding, which
    float32 products do not give.
    """
    n_classes = len(n_support)
    if kernel.name == "precomputed":
        left = prepare(X, kernel)
        numbers = support.astype(np.intp)
        right: Any = left.take(slice(0, 0))
        right = type(right)(right.matrix, right.rows, numbers)
    else:
        centre = centre_of(vectors, kernel) if len(support) else 0.0
        if sparse.issparse(X) != sparse.issparse(vectors):
            if sparse.issparse(X):
                vectors = sparse.csr_array(vectors)
            else:
                X = sparse.csr_array(X)
            centre = 0.0
        left = prepare(X, kernel, np.float64, centre)
        right = prepare(vectors, kernel, np.float64, centre)
    n_threads = n_blas_threads()
    with one_blas_thread():
        if n_classes == 2:
            scores = left.product(right, dual_coef[0], n_threads)[:, None]
        else:
            scores = _decide_pairs(left, right, n_support, dual_coef, n_threads)
    return scores + intercepts


def _decide_pairs(
    left: Rows,
    right: Rows,
    n_support: np.ndarray,
    dual_coef: np.ndarray,
    n_threads: int,
) -> np.ndarray:
    """Kernel blocks once for all pairs, then one small product for each class."""
    n_classes = len(n_support)
    ends = np.concatenate(([0], np.cumsum(n_support)))
    n_pairs = n_classes * (n_classes - 1) // 2
    out = np.zeros((len(left), n_pairs))
    number = np.zeros((n_classes, n_classes), int)
    number[np.triu_indices(n_classes, 1)] = np.arange(n_pairs)
    step = max(64, min(len(left), (1 << 21) // max(1, len(right))))

    def work(part: slice) -> None:
        K = left.take(part).block(right)
        for c in range(n_classes):
            if ends[c] == ends[c + 1]:
                continue
            mine = slice(ends[c], ends[c + 1])
            scores = K[:, mine] @ dual_coef[:, mine].T  # (rows, n_classes - 1)
            for other in range(n_classes):
                if other != c:
                    i, j = min(c, other), max(c, other)
                    row = j - 1 if c == i else i
                    out[part, number[i, j]] += scores[:, row]

    parts = [slice(s, min(len(left), s + step)) for s in range(0, len(left), step)]
    run_each(work, parts, n_threads)
    return out
