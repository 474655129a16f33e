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
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

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


class Policy(NamedTuple):
    """Sizes and rules of the active-set solver."""

    in_memory: int = 5000  # up to this many rows: one float32 matrix, plain SMO
    base_level: int = 1500  # rows of the smallest level, at least
    level_ratio: int = 4
    level_tol: float = 0.05  # gap at which a level is good enough to go up
    working_set: int = 2048
    working_set_max: int = 8000
    soft_share: float = 0.3  # share of bounded support vectors that makes it soft
    near_soft: float = 0.2  # width of the near set beyond the margin
    near_hard: float = 2.0
    seed_violators: bool = True  # soft: new rows inside the margin start at the bound
    float32_rows: int = 1500  # working sets up to here are float32, above uint16
    inner: float = 0.15  # a working set is solved to this part of the gap
    unit: float = 1.0  # size of v on the margin; widths above are in this unit


SVC_POLICY = Policy()
# Below this tolerance float32 is not worth a try in memory.
FLOAT32_TOL = 1e-4


class Workspace:
    """One buffer for the matrices of solves that follow each other.

    The first touch of fresh memory costs several times what computing a kernel entry
    does.
    """

    def __init__(self) -> None:
        self._buffer = np.empty(0, np.uint8)

    def square(self, n: int, dtype: type) -> np.ndarray:
        """An (n, n) array of any content; the last one given is void."""
        size = n * n * np.dtype(dtype).itemsize
        if self._buffer.size < size:
            self._buffer = np.empty(size, np.uint8)
        return self._buffer[:size].view(dtype).reshape(n, n)


@dataclass
class _State:
    """One level's problem and point. Rows outside `near` have an old v."""

    rows: Rows
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    shift: np.ndarray
    b: np.ndarray
    v: np.ndarray

    def gap_limits(self) -> tuple[float, float]:
        return kkt_gap(self.v, self.b, self.lower, self.upper)

    def scores(self, middle: float) -> np.ndarray:
        """How much a row violates; inf if free, negative if at the right bound."""
        up, low = self.b < self.upper, self.b > self.lower
        away = self.v - middle
        score = np.where(up, away, -away)
        score[up & low] = np.inf
        # fixed variables (equal bounds) never move
        score[~up & ~low] = -np.inf
        return score

    def middle(self) -> float:
        """Estimate of the multiplier: median of v over free rows."""
        free = (self.b > self.lower) & (self.b < self.upper)
        if free.any():
            return float(np.median(self.v[free]))
        top, bottom = self.gap_limits()
        return 0.5 * (top + bottom) if np.isfinite(top - bottom) else 0.0

    def part(self, index: np.ndarray) -> "_State":
        return _State(
            self.rows.take(index),
            self.target[index],
            self.lower[index],
            self.upper[index],
            self.shift[index],
            self.b[index],
            self.v[index],
        )


@dataclass
class _Run:
    """What all levels share: budget, counters, buffers."""

    policy: Policy
    tol: float
    max_iter: int
    callback: Callback | None
    n_threads: int
    normalised: bool
    diagonal_is_one: bool
    bytes_budget: int
    began: float
    workspace: Workspace
    lazy: bool
    steps: int = 0
    entries: int = 0
    stopped: bool = False
    precision: int = 0  # 0: uint16 where large, 1: float32, 2: float64 in K_WW
    trace: list[TracePoint] = field(default_factory=list)

    def out_of_budget(self) -> bool:
        return self.stopped or self.steps >= self.max_iter

    def matrix(self, n: int) -> np.ndarray:
        """A working matrix in the precision of now."""
        if self.precision >= 2:
            dtype: type = np.float64
        elif self.precision == 0 and n > self.policy.float32_rows and self.normalised:
            dtype = np.uint16
        else:
            dtype = np.float32
        return self.workspace.square(n, dtype)

    def working_set_limit(self) -> int:
        """Largest working set that the byte budget allows."""
        itemsize = 8 if self.precision >= 2 else 2 if self.normalised else 4
        room = int(np.sqrt(max(self.bytes_budget, 1 << 20) / itemsize))
        return max(256, min(self.policy.working_set_max, room))

    def product(self, left: Rows, right: Rows, weights: np.ndarray) -> np.ndarray:
        self.entries += len(left) * len(right)
        return left.product(right, weights, self.n_threads)

    def stop(self, point: TracePoint) -> bool:
        if self.callback is not None:
            seconds = time.perf_counter() - self.began
            step = TracePoint(self.steps + point.n_iter, np.nan, np.nan, seconds)
            self.stopped = bool(self.callback(step))
        return self.stopped


def _choose(state: _State, size: int, run: _Run) -> np.ndarray:
    """The working set: free rows and the worst violators, in row order."""
    score = state.scores(state.middle())
    candidates = np.flatnonzero(score > -0.05 * run.policy.unit)
    if len(candidates) > size:
        worst = np.argpartition(-score[candidates], size)[:size]
        candidates = np.sort(candidates[worst])
    return candidates


def _solve_near(state: _State, goal: float, run: _Run) -> bool:
    """Working-set passes until the gap of these rows is at most `goal`.

    Returns False when no precision moves it any further.
    """
    size = run.policy.working_set
    idle = 0
    best = np.inf
    while not run.out_of_budget():
        top, bottom = state.gap_limits()
        gap = top - bottom
        if not gap > goal:
            return True
        if gap < 0.999 * best:
            best, idle = gap, 0
        else:
            idle += 1
            if idle > 50:
                return False
        n_free = int(((state.b > state.lower) & (state.b < state.upper)).sum())
        limit = run.working_set_limit()
        if n_free > 0.85 * size:
            size = max(size, int(1.3 * n_free))
        size = min(size, limit)
        work = _choose(state, size, run)
        part = state.part(work)
        K = part.rows.square(run.matrix(len(work)))
        run.entries += len(work) ** 2 // 2
        diagonal = np.ones(len(work)) if run.diagonal_is_one else part.rows.diagonal()
        inner = Inner(K, diagonal, part.shift, part.lower, part.upper)
        target_gap = max(run.policy.inner * gap, 0.8 * goal)
        taken, _ = inner.run(
            part.v, part.b, target_gap, run.max_iter - run.steps, run.stop
        )
        run.steps += taken
        delta = part.b - state.b[work]
        changed = np.flatnonzero(delta)
        if len(changed):
            state.v -= run.product(state.rows, part.rows.take(changed), delta[changed])
            state.v[work] -= part.shift * delta
            state.b[work] = part.b
        part.v = state.v[work]
        left = np.subtract(*part.gap_limits())
        if (left > 2.0 * target_gap and left > 0.5 * gap) or not len(changed):
            # What K_WW promised did not come true: its entries are too coarse.
            if run.precision >= 2 and not len(changed):
                return False
            run.precision = min(2, run.precision + 1)
    return True


def _near_width(state: _State, run: _Run) -> tuple[bool, float]:
    nonzero = state.b != 0
    bounded = nonzero & ((state.b == state.lower) | (state.b == state.upper))
    soft = bounded.sum() > run.policy.soft_share * max(1, nonzero.sum())
    width = run.policy.near_soft if soft else run.policy.near_hard
    return bool(soft), width * run.policy.unit


def _solve_level(
    state: _State, tol: float, run: _Run, everything: bool = False
) -> Status:
    """Rounds of near set and rest until the gap of all rows is at most `tol`.

    On entry v may be old for rows that are then outside the near set only if they
    carry no weight; `state.v` holds an estimate for them.
    """
    n = len(state.b)
    _, width = _near_width(state, run)
    near = np.flatnonzero((state.scores(state.middle()) > -width) | (state.b != 0))
    everything = everything or len(near) > 0.8 * n
    if everything:
        near = np.arange(n)
    nonzero = np.flatnonzero(state.b)
    _renew(state, near, nonzero, run)
    gap = np.inf
    first = True
    previous = np.inf
    while True:
        loose = 0.3 * min(run.policy.unit, gap)
        goal = tol if everything else max(0.9 * tol, loose)
        part = state if everything else state.part(near)
        fine = _solve_near(part, goal, run)
        if not everything:
            before = state.b[near]
            state.b[near] = part.b
            state.v[near] = part.v
            rest = np.ones(n, bool)
            rest[near] = False
            outside = np.flatnonzero(rest)
            if first:
                _renew(state, outside, np.flatnonzero(state.b), run)
            else:
                delta = part.b - before
                changed = np.flatnonzero(delta)
                state.v[outside] -= run.product(
                    state.rows.take(outside), part.rows.take(changed), delta[changed]
                )
            first = False
        top, bottom = state.gap_limits()
        gap = max(0.0, top - bottom)
        _record(state, gap, run)
        if not np.isfinite(state.v).all():
            return Status.FAILED
        if gap <= tol:
            return Status.CONVERGED
        if run.stopped:
            return Status.STOPPED
        if run.steps >= run.max_iter:
            return Status.MAX_ITER
        if not fine or (everything and gap > 0.999 * previous):
            return Status.STALLED
        previous = gap
        if not everything:
            comers = state.scores(state.middle()) > -0.02 * run.policy.unit
            comers[near] = True
            if comers.sum() == len(near):  # only the near set's own goal was loose
                continue
            near = np.flatnonzero(comers)


def _renew(state: _State, index: np.ndarray, nonzero: np.ndarray, run: _Run) -> None:
    """v of the rows `index` from b alone."""
    whole = len(index) == len(state.b)
    left = state.rows if whole else state.rows.take(index)
    fresh = state.target[index] - state.shift[index] * state.b[index]
    if len(nonzero):
        fresh -= run.product(left, state.rows.take(nonzero), state.b[nonzero])
    state.v[index] = fresh


def _record(state: _State, gap: float, run: _Run) -> None:
    objective = -0.5 * float(state.b @ (state.target + state.v))
    seconds = time.perf_counter() - run.began
    run.trace.append(TracePoint(run.steps, objective, gap, seconds))
    if run.callback is not None and run.callback(run.trace[-1]):
        run.stopped = True


def _levels(n: int, policy: Policy) -> list[int]:
    sizes = [n]
    while sizes[-1] // policy.level_ratio >= policy.base_level:
        sizes.append(sizes[-1] // policy.level_ratio)
    return sizes[::-1]


def _spread(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order whose every prefix has the groups in proportion."""
    n = len(groups)
    order = rng.permutation(n)
    place = np.empty(n)
    for value in np.unique(groups):
        members = order[groups[order] == value]
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
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


def _first_point(state: _State, total: float, run: _Run) -> None:
    """A feasible point of the smallest level: 0, or the loneliest rows at the bound."""
    if total == 0.0:
        return
    n = len(state.b)
    density = run.product(state.rows, state.rows, np.full(n, 1.0 / n))
    _restore_sum(state.b, state.lower, state.upper, total, density)


def _go_up(
    old: _State, target, lower, upper, shift, rows: Rows, total: float, run: _Run
) -> _State:
    """The next level, started from the solution of the last."""
    m, n = len(old.b), len(target)
    grow = n / m  # bounds shrink by this factor
    f = np.empty(n)
    f[:m] = old.target - old.v - old.shift * old.b
    support = np.flatnonzero(old.b)
    right = old.rows.take(support)
    f[m:] = run.product(rows.take(slice(m, n)), right, old.b[support])
    soft, _ = _near_width(old, run)
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
    return _State(rows, target, lower, upper, shift, b, v)


def _too_coarse(b: np.ndarray, tol: float) -> bool:
    """True if float32 entries may blur v by a quarter of `tol`.

    Entries are off by about 2e-7, independently, so v by 2e-7 |b|_2.
    """
    return 2e-7 * float(np.linalg.norm(b)) > 0.25 * tol


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

    def matrix_of(source: Rows) -> Inner:
        run.precision = 1 if source.dtype == np.float32 else 2
        run.entries += n * n // 2
        matrix = run.matrix(n)
        diagonal = np.ones(n) if run.diagonal_is_one else source.diagonal()
        if (
            run.lazy
            and start is None
            and total == 0.0
            and isinstance(source, DenseRows)
        ):
            lazy = source.data, source.code, source.coef0, source.degree
            return Inner(matrix, diagonal, shift, lower, upper, lazy)
        source.square(matrix)
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
        if status is Status.STALLED or _too_coarse(b, run.tol):
            fine = exact()
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
    state: _State | None = None
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
            state = _State(part, t, lo, up, sh, b, t - sh * b)
            if start is None:
                _first_point(state, total, run)
            elif b.any():
                _renew(state, np.arange(m), np.flatnonzero(b), run)
        else:
            state = _go_up(state, *problem, total, run)
        if m < n:
            level_tol = max(run.tol, run.policy.level_tol)
        else:  # leave room for what float64 will find
            blurred = exact is not None and _too_coarse(state.b, run.tol)
            level_tol = 0.85 * run.tol if blurred else run.tol
        status = _solve_level(state, level_tol, run)
        if run.out_of_budget() and m < n:
            # a feasible point of the whole problem, though a rough one
            state = _go_up(state, target, lower, upper, shift, rows, total, run)
            _renew(state, np.arange(n), np.flatnonzero(state.b), run)
            break
    assert state is not None
    again = status is Status.CONVERGED and _too_coarse(state.b, run.tol)
    if exact is not None and (again or status is Status.STALLED):
        state.rows = exact() if len(sizes) == 1 else exact().take(order)
        run.precision = max(run.precision, 1)
        status = _solve_level(state, run.tol, run, everything=True)
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
        kernel entries, ``extra["beyond_memory"]`` is 1 if the matrix was not formed.
    """
    n = len(target)
    shift = np.zeros(n) if shift is None else shift
    run = _Run(
        policy if shrinking else policy._replace(near_soft=np.inf, near_hard=np.inf),
        tol, max_iter, callback, n_threads, normalised, normalised,
        int(cache_size * 2**20), time.perf_counter(), workspace or Workspace(),
        lazy,
    )  # fmt: skip
    if n <= policy.in_memory and n * n * 8 <= run.bytes_budget:
        solve = _solve_in_memory
    else:
        solve = _solve_levels
    with one_blas_thread():
        b, v, status = solve(
            rows, exact, target, lower, upper, shift, start, total, seed, run
        )
    top, bottom = kkt_gap(v, b, lower, upper)
    return SolverResult(
        x=b,
        status=status,
        n_iter=run.steps,
        objective=float(-0.5 * (b @ (target + v))),
        measure=max(0.0, top - bottom),
        intercept=multiplier(v, b, lower, upper),
        gradient=-v,
        trace=run.trace,
        seconds=time.perf_counter() - run.began,
        extra={
            "entries": float(run.entries),
            "beyond_memory": float(solve is _solve_levels),
        },
    )
