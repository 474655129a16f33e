"""BFGS with Armijo's rule in the unit cube, for a criterion with a gradient."""

from collections.abc import Sequence

import numpy as np

from widemargin.model_selection.optimizers import Optimizer, Point


class BFGS(Optimizer):
    """Projected quasi-Newton minimisation, one point a batch.

    ``x <- clip(x - t H g)``, t halved until ``f <= f_0 + c g'(x - x_0)`` (Armijo). A
    coordinate on its bound with the gradient pointing out of the cube stays. Stops on
    a projected gradient ``max |clip(x - g) - x| <= tol max(1, |f|)`` ("gradient"), a
    step below `tolx` ("tolx"), no descent after 12 halvings ("line_search") or the
    budget.

    Parameters
    ----------
    start : ndarray of shape (n_parameters,)
        First point.
    budget : int
        Most points.
    tol, tolx : float
        See above.
    longest : float, default=0.2
        Longest step in any coordinate: the model is not trusted further.
    """

    needs_gradient = True
    _ARMIJO = 1e-4

    def __init__(
        self,
        start: Point,
        budget: int,
        *,
        tol: float = 1e-4,
        tolx: float = 1e-4,
        longest: float = 0.2,
    ) -> None:
        super().__init__(len(start), budget)
        self.tol, self.tolx, self.longest = tol, tolx, longest
        self._x = np.clip(np.asarray(start, float), 0.0, 1.0)
        self._trial = self._x
        self._f = np.inf
        self._g: np.ndarray | None = None
        self._H = np.eye(len(start))
        self._fresh = True  # H is a multiple of the identity
        self._direction = np.zeros(len(start))
        self._halvings = 0

    def _next(self) -> list[Point]:
        return [self._trial]

    def _learn(
        self,
        points: Sequence[Point],
        values: Sequence[float],
        gradients: Sequence[np.ndarray] | None,
    ) -> None:
        if gradients is None:
            raise TypeError("BFGS needs the gradient of each value")
        (x,), (f,), (g,) = points, values, gradients
        if self._g is None:
            if not (np.isfinite(f) and np.isfinite(g).all()):
                self._reasons["start"] = float(f)
                return
            self._accept(x, f, np.asarray(g, float))
            return
        slope = float(self._g @ (x - self._x))
        good = np.isfinite(f) and np.isfinite(g).all()
        if good and f <= self._f + self._ARMIJO * min(slope, 0.0):
            self._update(x - self._x, np.asarray(g, float) - self._g)
            short = np.abs(x - self._x).max() < self.tolx
            self._accept(x, f, np.asarray(g, float))
            if short:
                self._reasons["tolx"] = self.tolx
            return
        self._halvings += 1
        self._direction = self._direction * 0.5
        if self._halvings > 12 or np.abs(self._direction).max() < 0.1 * self.tolx:
            self._give_up()
            return
        self._trial = np.clip(self._x + self._direction, 0.0, 1.0)

    def _update(self, s: np.ndarray, y: np.ndarray) -> None:
        """The inverse BFGS formula; skipped where curvature is not positive."""
        sy = float(s @ y)
        if sy <= 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            return
        if self._fresh:
            self._H = np.eye(len(s)) * sy / float(y @ y)
            self._fresh = False
        rho = 1.0 / sy
        V = np.eye(len(s)) - rho * np.outer(s, y)
        self._H = V @ self._H @ V.T + rho * np.outer(s, s)

    def _accept(self, x: Point, f: float, g: np.ndarray) -> None:
        self._x, self._f, self._g = x, float(f), g
        residual = np.abs(np.clip(x - g, 0.0, 1.0) - x).max()
        if residual <= self.tol * max(1.0, abs(self._f)):
            self._reasons["gradient"] = float(residual)
            return
        self._search()

    def _search(self) -> None:
        """A new direction from the present point."""
        assert self._g is not None
        x, g = self._x, self._g
        held = ((x <= 0) & (g > 0)) | ((x >= 1) & (g < 0))
        direction = np.where(held, 0.0, -(self._H @ np.where(held, 0.0, g)))
        if direction @ g >= 0:  # not a descent direction once clipped
            self._restart()
            direction = np.where(held, 0.0, -g)
        size = float(np.abs(direction).max())
        limit = 0.5 * self.longest if self._fresh else self.longest
        if self._fresh or size > limit:
            direction = direction * (limit / size)
        self._direction = direction
        self._halvings = 0
        self._trial = np.clip(x + direction, 0.0, 1.0)

    def _restart(self) -> None:
        self._H = np.eye(len(self._x))
        self._fresh = True

    def _give_up(self) -> None:
        if self._fresh:
            self._reasons["line_search"] = float(np.abs(self._direction).max())
            return
        self._restart()  # once more along the gradient
        self._search()
