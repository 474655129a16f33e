"""Searches on grids: all of it, a zooming one, and the two-line search."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from widemargin.model_selection.optimizers import SAME, Optimizer, Point

# Points of a batch: small enough that time limits and checkpoints come often.
BATCH = 16


class _Queue(Optimizer):
    """Evaluates a list of points, each once, then asks `_refill` for more."""

    def __init__(self, n_parameters: int, budget: int) -> None:
        super().__init__(n_parameters, budget)
        self._waiting: list[Point] = []
        self._known: dict[tuple[float, ...], float] = {}

    @staticmethod
    def _key(point: Point) -> tuple[float, ...]:
        return tuple(np.round(point / SAME) * SAME)

    def _enqueue(self, points: list[Point]) -> None:
        seen = set(self._known)
        for point in points:
            key = self._key(point)
            if key not in seen:
                seen.add(key)
                self._waiting.append(point)

    def _next(self) -> list[Point]:
        return self._waiting[: min(BATCH, self.left)]

    def _learn(self, points, values, gradients) -> None:
        for point, value in zip(points, values, strict=True):
            self._known[self._key(point)] = float(value)
        del self._waiting[: len(points)]
        while not self._waiting and not self._reasons and self.left > 0:
            self._refill()

    def _refill(self) -> None:
        self._reasons["complete"] = self.n_evaluated


def _full_levels(sizes: Sequence[int | None], budget: int) -> list[int]:
    """Levels of each axis: all of a finite axis, and as many of the others as fit."""
    fixed = int(np.prod([size for size in sizes if size is not None], dtype=float))
    n_open = sum(size is None for size in sizes)
    per = (
        int(np.floor((budget / max(1, fixed)) ** (1 / n_open) + 1e-9)) if n_open else 1
    )
    return [per if size is None else size for size in sizes]


def _middles(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


class Grid(_Queue):
    """Every combination of values: lists and whole numbers in full, ranges evenly.

    Parameters
    ----------
    sizes : sequence of int or None
        For each axis its number of values; None for a range, which is given as many
        levels, ends included, as the budget allows (all ranges the same).
    budget : int
        Most points.

    Raises
    ------
    ValueError
        The budget does not hold two levels of each range, or all listed values.
    """

    def __init__(self, sizes: Sequence[int | None], budget: int) -> None:
        super().__init__(len(sizes), budget)
        levels = _full_levels(sizes, budget)
        least = int(np.prod([2 if s is None else s for s in sizes], dtype=float))
        if least > budget:
            raise ValueError(
                f"budget={budget} is too small: search='grid' needs at least {least} "
                "settings for this space"
            )
        axes = [
            np.linspace(0, 1, n) if size is None else _middles(n)
            for size, n in zip(sizes, levels, strict=True)
        ]
        self._enqueue([np.array(point) for point in product(*axes)])


class Zoom(_Queue):
    """A coarse grid, then finer ones around the best point so far.

    Each round halves the box of the ranges and moves it to the best point; points
    known from earlier rounds are not asked again. Lists are tried in full in the first
    round and then stay at the best value. Ends when the box is below `smallest`.

    Parameters
    ----------
    sizes : sequence of int or None
        As for `Grid`; None for a range.
    budget : int
        Most points.
    smallest : float, default=5e-3
        Side of the last box, in the unit cube.

    Raises
    ------
    ValueError
        The budget does not hold the first grid: 5 levels for up to two ranges, 3 for
        more, times all listed values.
    """

    def __init__(
        self, sizes: Sequence[int | None], budget: int, smallest: float = 5e-3
    ) -> None:
        super().__init__(len(sizes), budget)
        self.smallest = smallest
        self.open = np.array([size is None for size in sizes], bool)
        n_open = int(self.open.sum())
        self.levels = 5 if n_open <= 2 else 3
        axes = [
            np.linspace(0, 1, self.levels) if size is None else _middles(size)
            for size in sizes
        ]
        least = int(np.prod([len(axis) for axis in axes], dtype=float))
        if least > budget:
            raise ValueError(
                f"budget={budget} is too small: search='zoom' begins with {least} "
                "settings for this space"
            )
        self.side = 1.0
        self._enqueue([np.array(point) for point in product(*axes)])

    def _refill(self) -> None:
        self.side *= 0.5
        if not self.open.any():
            self._reasons["complete"] = self.n_evaluated
            return
        if self.side < self.smallest:
            self._reasons["box"] = self.side
            return
        assert self.best_point is not None
        centre = self.best_point
        low = np.clip(centre - self.side / 2, 0.0, 1.0 - self.side)
        axes = [
            low[k] + self.side * np.linspace(0, 1, self.levels)
            if self.open[k]
            else centre[k : k + 1]
            for k in range(self.n_parameters)
        ]
        points = [np.array(point) for point in product(*axes)]
        # a round that the budget cuts short has at least the nearest ones
        points.sort(key=lambda p: float(np.abs(p - centre).max()))
        self._enqueue(points)


class TwoLines(_Queue):
    """The two-line search of Keerthi and Lin for C and gamma of the Gaussian kernel.

    For wide kernels the machine is nearly a linear one with penalty ``C' = 2 C gamma``,
    and good settings lie near the line ``log 2 gamma = log C' - log C``. First line:
    the best C at the least gamma, which gives C'. Second line: all settings with that
    C'. Each line is tried at `coarse` points and then refined around the best. S. S.
    Keerthi and C.-J. Lin, Neural Computation 15 (2003).

    Parameters
    ----------
    ranges : tuple of two floats
        ``ln(high / low)`` of C and of gamma, in this order.
    order : tuple of two ints
        Which coordinates C and gamma are.
    budget : int
        Most points; a third of it goes to the first line.

    Raises
    ------
    ValueError
        A budget below 10.
    """

    def __init__(
        self, ranges: tuple[float, float], order: tuple[int, int], budget: int
    ) -> None:
        super().__init__(2, budget)
        if budget < 10:
            raise ValueError(
                f"budget={budget} is too small: search='line' needs at least 10 "
                "settings"
            )
        self.ranges, self.order = ranges, order
        self.line = 0
        self._ends = np.array([[0.0, 0.0], [1.0, 0.0]])
        self._begin(budget // 3)

    def _begin(self, budget: int) -> None:
        self._limit = self.n_evaluated + budget
        self._low, self._high = 0.0, 1.0
        self._tried: dict[float, float] = {}
        self._put(np.linspace(0, 1, min(11, max(3, budget))))

    def _place(self, t: float) -> Point:
        on_line = (1 - t) * self._ends[0] + t * self._ends[1]
        point = np.empty(2)
        point[list(self.order)] = on_line
        return point

    def _put(self, places: np.ndarray) -> None:
        self._enqueue([self._place(float(t)) for t in places])
        for t in places:
            self._tried.setdefault(float(t), np.nan)

    def _refill(self) -> None:
        for t in self._tried:
            self._tried[t] = self._known.get(self._key(self._place(t)), np.inf)
        places = sorted(self._tried)
        # on a plateau the least C, which both lines have at t = 0
        k = int(np.argmin([self._tried[t] for t in places]))
        low, high = places[max(0, k - 1)], places[min(len(places) - 1, k + 1)]
        room = self._limit - self.n_evaluated
        if room > 0 and high - low > 5e-3:
            halves = np.array([(low + places[k]) / 2, (high + places[k]) / 2])
            self._put(np.setdiff1d(halves, places)[:room])
        elif self.line == 0:
            self.line = 1
            self._second_line(places[k])
        else:
            self._reasons["lines"] = self.n_evaluated

    def _second_line(self, t: float) -> None:
        """Where C gamma is that of the first line's best, inside the box."""
        # u_C range_C + u_gamma range_gamma is constant
        range_C, range_gamma = self.ranges
        total = t * range_C
        least = max(0.0, total - range_gamma)
        ends = [(u, (total - u) / range_gamma) for u in (least, total)]
        self._ends = np.array([[u / range_C, v] for u, v in ends])
        self._begin(self.left)
        if not self._waiting:  # the line is one point, known already
            self._reasons["lines"] = self.n_evaluated
