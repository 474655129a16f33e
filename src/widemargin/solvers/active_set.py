"""The dual quadratic program beyond memory: levels, near set, working sets.

Same problem as `smo.py`. The Gram matrix is never formed; four ideas keep the number
of kernel entries near the least possible, n times the number of support vectors:

1. **Levels.** Nested random subsets n, n/4, n/16, ... are solved from the smallest
   up, with bounds scaled by n/m, and each solution starts the next.
2. **Near set.** Only rows near or beyond the margin are iterated; the others are
   looked at once at the end of a round, and come in if they violate.
3. **Working set.** Of the near set the most violating rows and all free ones form
   K_WW, in 16-bit numbers if large, which SMO solves.
4. **Refinement.** The change of b then updates v with products in float32 or float64
   that are never stored, so errors of K_WW do not add up.

How large these sets are and how they grow is a `Policy`, plain data.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin.kernel_rows import DenseRows, Rows
from widemargin.progress import Callback
from widemargin.result import SolverResult, Status, TracePoint
from widemargin.solvers.smo import (
    Inner,
    columns_product,
    kkt_gap,
    multiplier,
    run_smo,
)
from widemargin.solvers.working_sets import (
    SVC_POLICY,
    Policy,
    Run,
    State,
    Workspace,
    near_width,
    renew,
    solve_level,
)

# Below this tolerance float32 is not worth a try in memory.
FLOAT32_TOL = 1e-4
# Members of each class that even the smallest level has.
RARE_FIRST = 16
# A diagonal shift this large (rows of tiny weight) needs float64 beside it.
FLOAT32_SHIFT = 1e6


def _levels(n: int, policy: Policy) -> list[int]:
    sizes = [n]
    while sizes[-1] // policy.level_ratio >= policy.base_level:
        sizes.append(sizes[-1] // policy.level_ratio)
    return sizes[::-1]


def _spread(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order whose every prefix has the groups in proportion.

    A few of each group come first: a level without one class has nothing to separate.
    """
    n = len(groups)
    order = rng.permutation(n)
    place = np.empty(n)
    for value in np.unique(groups):
        members = order[groups[order] == value]
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
        place[members[:RARE_FIRST]] = 0.0
    return np.argsort(place, kind="stable")


def _restore_sum(
    b: np.ndarray, lower: np.ndarray, upper: np.ndarray, total: float, near: np.ndarray
) -> None:
    """Bring ``sum b`` to `total` by moving rows towards 0 (then anywhere), in place.

    `near` sorts the rows: smallest first are changed.
    """
    order = np.argsort(near, kind="stable")
    to_zero = np.maximum(lower, 0.0), np.minimum(upper, 0.0)
    for floor, ceiling in (to_zero, (lower, upper)):
        excess = float(b.sum()) - total
        if excess == 0.0:
            return
        bound = floor if excess > 0 else ceiling
        room = np.maximum((b - bound) if excess > 0 else (bound - b), 0.0)
        movable = order[room[order] > 0]
        used = np.cumsum(room[movable])
        k = int(np.searchsorted(used, abs(excess)))
        b[movable[:k]] = bound[movable[:k]]
        if k < len(movable):
            left = abs(excess) - (used[k - 1] if k else 0.0)
            b[movable[k]] -= np.sign(excess) * left
            return


def repair(b: np.ndarray, lower: np.ndarray, upper: np.ndarray, total: float) -> None:
    """Make a point within its bounds meet ``sum b = total``, in place."""
    _restore_sum(b, lower, upper, total, -np.abs(b))
    dust = 1e-12 * float(np.abs(b).max(initial=0.0))
    for bound in (lower, upper):  # rounding must not make a bounded row a free one
        near = np.abs(b - bound) <= dust
        b[near] = bound[near]


def _first_point(state: State, total: float, run: Run) -> None:
    """A feasible point of the smallest level: 0, or the loneliest rows at the bound."""
    if total == 0.0:
        return
    n = len(state.b)
    density = run.product(state.rows, state.rows, np.full(n, 1.0 / n))
    _restore_sum(state.b, state.lower, state.upper, total, density)


def _go_up(
    old: State, target, lower, upper, shift, rows: Rows, total: float, run: Run
) -> State:
    """The next level, started from the solution of the last."""
    m, n = len(old.b), len(target)
    grow = n / m  # bounds shrink by this factor
    f = np.empty(n)
    f[:m] = old.target - old.v - old.shift * old.b
    support = np.flatnonzero(old.b)
    right = old.rows.take(support)
    f[m:] = run.product(rows.take(slice(m, n)), right, old.b[support])
    soft, _ = near_width(old, run)
    middle = old.middle()
    v = target - f
    b = np.zeros(n)
    if soft:
        free = (old.b > old.lower) & (old.b < old.upper)
        b[:m][free] = old.b[free] / grow
        seeds = np.ones(n, bool)
        seeds[:m] = ~free
        if run.policy.seed_violators:
            tenth = 0.1 * run.policy.unit
            # away from the margin by more than a tenth, on the wrong side of it
            b[seeds & (v - middle > tenth) & np.isfinite(upper)] = np.inf
            b[seeds & (v - middle < -tenth) & np.isfinite(lower)] = -np.inf
            b = np.clip(b, lower, upper)
        else:
            b[:m] = old.b / grow
    else:
        b[:m] = np.clip(old.b, lower[:m], upper[:m])
    _restore_sum(b, lower, upper, total, np.abs(v - middle))
    return State(rows, target, lower, upper, shift, b, v)


def _too_coarse(b: np.ndarray, run: Run) -> bool:
    """True if float32 entries may blur v by a quarter of `tol`.

    Their errors are independent, so v is off by the typical one times |b|_2.
    """
    return run.entry_error * float(np.linalg.norm(b)) > 0.25 * run.tol


def _solve_in_memory(rows, exact, target, lower, upper, shift, start, total, seed, run):
    """One matrix, plain SMO.

    In three steps, each only where the one before does not do: a float32 matrix; the
    same with v from float64 products; a float64 matrix.
    """
    n = len(target)
    b = np.zeros(n) if start is None else np.array(start, np.float64)
    single = rows.dtype == np.float32
    if single and exact is not None and run.tol < FLOAT32_TOL:
        rows, single = exact(), False
        run.exact = True

    def matrix_of(source: Rows) -> Inner:
        run.precision = 1 if source.dtype == np.float32 else 2
        run.entries += n * n // 2
        matrix = run.matrix(n)
        diagonal = np.ones(n) if run.normalised else source.diagonal()
        if (
            run.lazy
            and start is None
            and total == 0.0
            and isinstance(source, DenseRows)
        ):
            lazy = source.data, source.code, source.coef0, source.degree
            return Inner(matrix, diagonal, shift, lower, upper, lazy)
        source.square(matrix, run.n_threads)
        return Inner(matrix, diagonal, shift, lower, upper)

    def solve(inner: Inner, square, product) -> tuple[Status, np.ndarray]:
        steps, status, gap, v = run_smo(
            inner, product, target, b, tol=run.tol, square=square,
            max_iter=run.max_iter - run.steps, callback=run.stop,
        )  # fmt: skip
        run.steps += steps
        objective = -0.5 * float(b @ (target + v))
        seconds = time.perf_counter() - run.began
        run.trace.append(TracePoint(run.steps, objective, gap, seconds))
        return status, v

    inner = matrix_of(rows)
    if start is None and total != 0.0:
        mean = inner.K.mean(axis=1, dtype=np.float64)
        _restore_sum(b, lower, upper, total, mean)
    status, v = solve(inner, rows.square, partial(columns_product, inner.K))
    usable = status in (Status.CONVERGED, Status.STALLED)
    if single and exact is not None and usable:
        if status is Status.STALLED or _too_coarse(b, run):
            fine = exact()
            run.exact = True
            status, v = solve(
                inner, rows.square, lambda k, w: run.product(fine, fine.take(k), w)
            )
            if status is Status.STALLED:
                inner = matrix_of(fine)
                status, v = solve(inner, fine.square, partial(columns_product, inner.K))
    return b, v, status


def _solve_levels(rows, exact, target, lower, upper, shift, start, total, seed, run):
    """Levels from small to whole, in an order that keeps the classes in proportion."""
    n = len(target)
    sizes = _levels(n, run.policy) if start is None else [n]
    order = np.arange(n)
    if len(sizes) > 1:
        order = _spread(np.sign(target), np.random.default_rng(seed))
        rows = rows.take(order)
        target, lower, upper, shift = (x[order] for x in (target, lower, upper, shift))
    state: State | None = None
    status = Status.FAILED
    for m in sizes:
        grow = n / m
        problem = (
            target[:m], lower[:m] * grow, upper[:m] * grow, shift[:m] / grow,
            rows if m == n else rows.take(slice(0, m)),
        )  # fmt: skip
        if state is None:
            b = np.zeros(m) if start is None else np.array(start, np.float64)
            t, lo, up, sh, part = problem
            state = State(part, t, lo, up, sh, b, t - sh * b)
            if start is None:
                _first_point(state, total, run)
            elif b.any():
                renew(state, np.arange(m), np.flatnonzero(b), run)
        else:
            state = _go_up(state, *problem, total, run)
        if m < n:
            level_tol = max(run.tol, run.policy.level_tol)
        else:  # leave room for what float64 will find
            blurred = exact is not None and _too_coarse(state.b, run)
            level_tol = 0.85 * run.tol if blurred else run.tol
        status = solve_level(state, level_tol, run)
        if run.out_of_budget() and m < n:
            # a feasible point of the whole problem, though a rough one
            state = _go_up(state, target, lower, upper, shift, rows, total, run)
            renew(state, np.arange(n), np.flatnonzero(state.b), run)
            break
    assert state is not None
    again = status is Status.CONVERGED and _too_coarse(state.b, run)
    if exact is not None and (again or status is Status.STALLED):
        state.rows = exact() if len(sizes) == 1 else exact().take(order)
        run.exact = True
        run.precision = max(run.precision, 1)
        status = solve_level(state, run.tol, run, everything=True)
    back = np.empty(n, np.intp)
    back[order] = np.arange(n)
    return state.b[back], state.v[back], status


def solve_active_set(
    rows: Rows,
    target: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: np.ndarray | None = None,
    total: float = 0.0,
    shift: np.ndarray | None = None,
    exact: Callable[[], Rows] | None = None,
    entry_error: float = 2e-7,
    policy: Policy = SVC_POLICY,
    cache_size: float = 1024.0,
    n_threads: int = 1,
    normalised: bool = False,
    shrinking: bool = True,
    seed: int = 0,
    workspace: Workspace | None = None,
    lazy: bool = False,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimise ``1/2 b'(K + D) b - target'b`` at fixed ``sum b`` within bounds.

    Stops when ``max{v_i: b_i < upper_i} - min{v_i: b_i > lower_i} <= tol`` with
    ``v = target - (K + D) b``, sums in float64.

    Parameters
    ----------
    rows : Rows
        The samples behind K, n of them.
    target, lower, upper : ndarray of float64, (n,)
        Linear term and bounds; bounds may be infinite.
    tol : float
        Largest gap, absolute.
    max_iter : int
        Largest number of SMO steps.
    start : ndarray of float64, (n,), optional
        Feasible first point, solved from without levels; it fixes ``sum b``.
    total : float
        ``sum b`` where no start is given.
    shift : ndarray of float64, (n,), optional
        The diagonal D, beside the entries of K.
    exact : callable, optional
        Gives the same samples in float64; called where `rows` are float32 and that
        is too coarse for `tol`.
    entry_error : float
        Typical absolute error of the entries of float32 `rows`.
    policy : Policy
        Sizes of levels and working sets.
    cache_size : float
        Memory for kernel values, MB.
    n_threads : int
        Threads for products with the kernel.
    normalised : bool
        All kernel values lie in [0, 1], with 1 on the diagonal.
    shrinking : bool
        False iterates all rows, without near set.
    seed : int
        Seed of the random order of levels.
    workspace : Workspace, optional
        Buffer to share with solves before and after this one.
    lazy : bool
        In memory, compute rows of K one by one when needed: for problems of few
        support vectors, such as most pairs of classes.
    callback : callable, optional
        Called with a TracePoint about every 50 ms; True stops the solver.

    Returns
    -------
    SolverResult
        ``x`` is b, ``gradient`` is -v, ``intercept`` the multiplier of ``sum b``,
        ``measure`` the gap, ``n_iter`` the SMO steps; ``extra["entries"]`` counts
        kernel entries, ``extra["beyond_memory"]`` is 1 if the matrix was not formed,
        ``extra["rounding"]`` estimates what float32 entries may hide of the objective
        and of a primal value, together.
    """
    n = len(target)
    shift = np.zeros(n) if shift is None else shift
    run = Run(
        policy if shrinking else policy._replace(near_soft=np.inf, near_hard=np.inf),
        tol, max_iter, callback, n_threads, normalised,
        int(cache_size * 2**20), time.perf_counter(), workspace or Workspace(),
        lazy, entry_error,
    )  # fmt: skip
    if n <= policy.in_memory and n * n * 8 <= run.bytes_budget:
        solve = _solve_in_memory
    else:
        solve = _solve_levels
    if exact is not None and shift.max(initial=0.0) > FLOAT32_SHIFT:
        rows, exact = exact(), None
        run.precision = 2
    run.exact = rows.dtype == np.float64
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        b, v, status = solve(
            rows, exact, target, lower, upper, shift, start, total, seed, run
        )
        objective = float(-0.5 * (b @ (target + v)))
        top, bottom = kkt_gap(v, b, lower, upper)
    if not np.isfinite(objective):
        status = Status.FAILED
    failed = status is Status.FAILED
    return SolverResult(
        x=b,
        status=status,
        n_iter=run.steps,
        objective=objective,
        measure=np.nan if failed else max(0.0, top - bottom),
        intercept=multiplier(v, b, lower, upper),
        gradient=-v,
        trace=run.trace,
        seconds=time.perf_counter() - run.began,
        extra={
            "entries": float(run.entries),
            "beyond_memory": float(solve is _solve_levels),
            "rounding": 0.0 if run.exact else 1.5 * entry_error * float(b @ b),
        },
    )
