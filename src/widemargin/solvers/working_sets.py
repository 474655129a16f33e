"""One level of the active-set solver: near set, working sets, refinement.

`State` is a level's problem and point, `Run` what all levels share. `solve_level` does
rounds: passes over working sets of the near set until its gap is small, then one look
at the rest. See `active_set.py` for the whole.
"""

import time
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin.kernel_rows import Rows
from widemargin.progress import Callback
from widemargin.result import Status, TracePoint
from widemargin.solvers.smo import Inner, kkt_gap


class Policy(NamedTuple):
    """Sizes and rules of the active-set solver."""

    in_memory: int = 5000  # up to this many rows: one float32 matrix, plain SMO
    base_level: int = 1500  # rows of the smallest level, at least
    level_ratio: int = 4
    level_tol: float = 0.05  # gap at which a level is good enough to go up
    working_set: int = 2048
    working_set_max: int = 24_000  # where that many rows are free
    soft_share: float = 0.3  # share of bounded support vectors that makes it soft
    near_soft: float = 0.2  # width of the near set beyond the margin
    near_hard: float = 2.0
    seed_violators: bool = True  # soft: new rows inside the margin start at the bound
    float32_rows: int = 1500  # working sets up to here are float32, above uint16
    inner: float = 0.15  # a working set is solved to this part of the gap
    unit: float = 1.0  # size of v on the margin; widths above are in this unit


SVC_POLICY = Policy()
# The largest buffer kept between fits: a float32 matrix of 5,000 rows.
KEPT_BYTES = 100_000_000


class Workspace:
    """One buffer for the matrices of solves that follow each other.

    The first touch of fresh memory costs several times what computing a kernel entry
    does, so one of up to `KEPT_BYTES` waits for the next fit: `borrow`, `give_back`.
    """

    _idle: ClassVar[list["Workspace"]] = []

    def __init__(self) -> None:
        self._buffer = np.empty(0, np.uint8)

    @classmethod
    def borrow(cls) -> "Workspace":
        """The waiting workspace, for the caller alone, or a new one."""
        try:
            return cls._idle.pop()
        except IndexError:
            return cls()

    def give_back(self) -> None:
        """Wait for the next fit, if small enough and no other waits."""
        if self._buffer.size <= KEPT_BYTES and not self._idle:
            self._idle.append(self)

    def square(self, n: int, dtype: type) -> np.ndarray:
        """An (n, n) array of any content; the last one given is void."""
        size = n * n * np.dtype(dtype).itemsize
        if self._buffer.size < size:
            self._buffer = np.empty(size, np.uint8)
        return self._buffer[:size].view(dtype).reshape(n, n)


@dataclass
class State:
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

    def part(self, index: np.ndarray) -> "State":
        return State(
            self.rows.take(index),
            self.target[index],
            self.lower[index],
            self.upper[index],
            self.shift[index],
            self.b[index],
            self.v[index],
        )


@dataclass
class Run:
    """What all levels share: budget, counters, buffers."""

    policy: Policy
    tol: float
    max_iter: int
    callback: Callback | None
    n_threads: int
    normalised: bool  # entries in [0, 1], 1 on the diagonal
    bytes_budget: int
    began: float
    workspace: Workspace
    lazy: bool
    entry_error: float
    steps: int = 0
    entries: int = 0
    stopped: bool = False
    exact: bool = False  # v comes from float64 entries
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

        def room(itemsize: int) -> int:
            return int(np.sqrt(max(self.bytes_budget, 1 << 20) / itemsize))

        if self.precision >= 2:
            most = room(8)
        elif self.precision == 0 and self.normalised:
            most = room(2)
            if most <= self.policy.float32_rows:  # these would be float32
                most = room(4)
        else:
            most = room(4)
        return max(2, min(self.policy.working_set_max, most))

    def product(self, left: Rows, right: Rows, weights: np.ndarray) -> np.ndarray:
        self.entries += len(left) * len(right)
        return left.product(right, weights, self.n_threads)

    def stop(self, point: TracePoint) -> bool:
        if self.callback is not None:
            seconds = time.perf_counter() - self.began
            step = TracePoint(self.steps + point.n_iter, np.nan, point.measure, seconds)
            self.stopped = bool(self.callback(step))
        return self.stopped


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the `count` largest values, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]


def _choose(state: State, size: int, run: Run) -> np.ndarray:
    """The working set: free rows and violators, in row order.

    Where they do not all fit, a quarter each goes to the worst that may rise and the
    worst that may fall, so that the most violating pair is always in it; then come
    free rows, then the others.
    """
    middle = state.middle()
    score = state.scores(middle)
    candidates = np.flatnonzero(score > -0.05 * run.policy.unit)
    if len(candidates) <= size:
        return candidates
    away = state.v[candidates] - middle
    b = state.b[candidates]
    up, low = b < state.upper[candidates], b > state.lower[candidates]
    chosen = np.zeros(len(candidates), bool)
    chosen[_largest(np.where(up, away, -np.inf), size // 4)] = True
    chosen[_largest(np.where(low, -away, -np.inf), size // 4)] = True
    rank = np.abs(away) + np.where(up & low, 1e6 * run.policy.unit, 0.0)
    rank[chosen] = -np.inf
    chosen[_largest(rank, size - int(chosen.sum()))] = True
    return candidates[chosen]


def _solve_near(state: State, goal: float, run: Run) -> bool:
    """Working-set passes until the gap of these rows is at most `goal`.

    Returns False when no precision moves it any further.
    """
    size = run.policy.working_set
    idle = 0
    best = np.inf
    while not run.out_of_budget():
        top, bottom = state.gap_limits()
        gap = top - bottom
        if not gap > goal or run.stop(TracePoint(0, np.nan, gap, 0.0)):
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
        K = part.rows.square(run.matrix(len(work)), run.n_threads)
        run.entries += len(work) ** 2 // 2
        diagonal = np.ones(len(work)) if run.normalised else part.rows.diagonal()
        inner = Inner(K, diagonal, part.shift, part.lower, part.upper)
        target_gap = max(run.policy.inner * gap, 0.8 * goal)
        # Rounding gathers in the kernel's v: it is renewed now and then.
        budget = min(run.max_iter - run.steps, 20_000 + 20 * len(work))
        taken, reached = inner.run(part.v, part.b, target_gap, budget, run.stop)
        run.steps += taken
        if inner.broken:
            state.v[:] = np.nan
            return False
        delta = part.b - state.b[work]
        changed = np.flatnonzero(delta)
        if len(changed):
            state.v -= run.product(state.rows, part.rows.take(changed), delta[changed])
            state.v[work] -= part.shift * delta
            state.b[work] = part.b
        part.v = state.v[work]
        left = np.subtract(*part.gap_limits())
        off = left > 2.0 * target_gap and left > (0.5 if reached else 0.9) * gap
        if off or not len(changed):
            # What K_WW promised did not come true: its entries are too coarse.
            if run.precision >= 2 and not len(changed):
                return False
            run.precision = min(2, run.precision + 1)
    return True


def near_width(state: State, run: Run) -> tuple[bool, float]:
    nonzero = state.b != 0
    bounded = nonzero & ((state.b == state.lower) | (state.b == state.upper))
    soft = bounded.sum() > run.policy.soft_share * max(1, nonzero.sum())
    width = run.policy.near_soft if soft else run.policy.near_hard
    return bool(soft), width * run.policy.unit


def solve_level(state: State, tol: float, run: Run, everything: bool = False) -> Status:
    """Rounds of near set and rest until the gap of all rows is at most `tol`.

    On entry v may be old for rows that are then outside the near set only if they
    carry no weight; `state.v` holds an estimate for them.
    """
    n = len(state.b)
    _, width = near_width(state, run)
    near = np.flatnonzero((state.scores(state.middle()) > -width) | (state.b != 0))
    everything = everything or len(near) > 0.8 * n
    if everything:
        near = np.arange(n)
    nonzero = np.flatnonzero(state.b)
    renew(state, near, nonzero, run)
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
                renew(state, outside, np.flatnonzero(state.b), run)
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


def renew(state: State, index: np.ndarray, nonzero: np.ndarray, run: Run) -> None:
    """v of the rows `index` from b alone."""
    whole = len(index) == len(state.b)
    left = state.rows if whole else state.rows.take(index)
    fresh = state.target[index] - state.shift[index] * state.b[index]
    if len(nonzero):
        fresh -= run.product(left, state.rows.take(nonzero), state.b[nonzero])
    state.v[index] = fresh


def _record(state: State, gap: float, run: Run) -> None:
    objective = -0.5 * float(state.b @ (state.target + state.v))
    seconds = time.perf_counter() - run.began
    run.trace.append(TracePoint(run.steps, objective, gap, seconds))
    if run.callback is not None and run.callback(run.trace[-1]):
        run.stopped = True
