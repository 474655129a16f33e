"""What all optimisers share: ask for points of the unit cube, tell their values.

::

    while not optimizer.stop():
        points = optimizer.ask()
        optimizer.tell(points, [f(x) for x in points])

`ask` returns a batch whose members may be evaluated in any order, or side by side.
Values are minimised; every optimiser but BFGS sees their order only, so that infinity
is allowed. `stop` returns the reasons that hold, as pycma does.
"""

from collections.abc import Sequence

import numpy as np

Point = np.ndarray
Reasons = dict[str, float]

# A point is the same as another up to this, in the unit cube.
SAME = 1e-9


class Optimizer:
    """Counts evaluations and keeps the best point; subclasses fill in `_next`.

    Parameters
    ----------
    n_parameters : int
        Dimension of the cube.
    budget : int
        Most points to evaluate.
    """

    needs_gradient = False

    def __init__(self, n_parameters: int, budget: int) -> None:
        self.n_parameters = n_parameters
        self.budget = budget
        self.n_evaluated = 0
        self.best_point: Point | None = None
        self.best_value = np.inf
        self._reasons: Reasons = {}

    @property
    def left(self) -> int:
        """Evaluations left."""
        return self.budget - self.n_evaluated

    def ask(self) -> list[Point]:
        """The next batch; empty when the search is over."""
        if self.stop():
            return []
        points = [np.clip(p, 0.0, 1.0) for p in self._next()]
        if not points:
            return []
        return points

    def tell(
        self,
        points: Sequence[Point],
        values: Sequence[float],
        gradients: Sequence[np.ndarray] | None = None,
    ) -> None:
        """Values (and gradients, where `needs_gradient`) of the last batch."""
        for point, value in zip(points, values, strict=True):
            self.n_evaluated += 1
            if self.best_point is None or value < self.best_value:
                self.best_point, self.best_value = point, float(value)
        self._learn(points, values, gradients)
        if self.left <= 0 and not self._reasons:
            self._reasons["budget"] = self.budget

    def stop(self) -> Reasons:
        """Why the search is over; empty while it is not."""
        return dict(self._reasons)

    @property
    def best(self) -> tuple[Point | None, float]:
        """(point, value) of the least value so far."""
        return self.best_point, self.best_value

    def _next(self) -> list[Point]:
        raise NotImplementedError

    def _learn(
        self,
        points: Sequence[Point],
        values: Sequence[float],
        gradients: Sequence[np.ndarray] | None,
    ) -> None:
        raise NotImplementedError
