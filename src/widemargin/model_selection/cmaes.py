"""CMA-ES on the unit cube, by pycma."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.model_selection.optimizers import Optimizer, Point

# Values above are not numbers to pycma's covariance checks.
LARGE = 1e30


class CMAES(Optimizer):
    r"""Covariance matrix adaptation with :math:`(\mu_W, \lambda)` selection.

    :math:`\lambda = 4 + \lfloor 3 \ln d \rfloor` points a generation, half of them
    parents, logarithmic weights. The start point is evaluated first and the final mean
    last. Stops when the largest standard deviation is below `tolx` ("tolx"), when the
    best values of the last 10 generations and all of the last one lie within `tolfun`
    ("tolfun", not before `min_generations`: a plateau of useless settings at the start
    is no optimum), or when no further generation fits the budget ("budget"). N.
    Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772.

    Parameters
    ----------
    start : ndarray of shape (n_parameters,)
        First mean.
    budget : int
        Most points.
    rng : numpy Generator
        All random numbers; NumPy's global generator is not touched.
    sigma : float, default=0.25
        First standard deviation.
    active : bool, default=False
        Also learn from the worst points (pycma's ``CMA_active``).
    tolx, tolfun : float
        Tolerances, in the unit cube and of the values.
    min_generations : int, default=10
        See above.

    Raises
    ------
    ValueError
        The budget does not hold the start, one generation and the mean.
    """

    def __init__(
        self,
        start: Point,
        budget: int,
        rng: np.random.Generator,
        *,
        sigma: float = 0.25,
        active: bool = False,
        tolx: float = 5e-3,
        tolfun: float = 1e-4,
        min_generations: int = 10,
    ) -> None:
        super().__init__(len(start), budget)
        self.tolx, self.tolfun = tolx, tolfun
        self.min_generations = min_generations
        self.start = np.asarray(start, float)
        self._es = self._strategy(sigma, active, rng)
        self.population = int(self._es.popsize)
        if budget < self.population + 2:
            raise ValueError(
                f"budget={budget} is too small: search='cmaes' needs at least "
                f"{self.population + 2} settings with {len(start)} parameters (the "
                "start, one generation and the mean)"
            )
        self._stage = "start"
        self._bests: list[float] = []
        self._spread = np.inf
        self._ended: dict[str, float] = {}

    def _strategy(self, sigma: float, active: bool, rng: np.random.Generator) -> Any:
        with warnings.catch_warnings():  # it misses matplotlib, for plots of its own
            warnings.simplefilter("ignore")
            import cma

        options = {
            "bounds": [0.0, 1.0],
            "CMA_active": active,
            # nan leaves NumPy's generator alone; without a generator of our own pycma
            # would draw from it
            "seed": np.nan,
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
            "signals_filename": None,  # or it reads a file of the working folder
            # its own stopping rules know nothing of plateaus
            "tolx": 0.0,
            "tolfun": 0.0,
            "tolfunhist": 0.0,
            "tolflatfitness": np.inf,
            "tolstagnation": np.inf,
            "tolxstagnation": None,
        }
        if len(self.start) == 1:  # pycma 4.5 raises where it would limit a single one
            options["maxstd"] = np.inf
        # a start on the bound would be repaired by it
        inner = np.clip(self.start, 1e-3, 1 - 1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cma.CMAEvolutionStrategy(inner, sigma, options)

    def _mean(self) -> Point:
        return np.asarray(self._es.result.xfavorite, float)

    def _next(self) -> list[Point]:
        if self._stage == "start":
            return [self.start]
        if self._stage == "mean":
            return [self._mean()]
        return [np.asarray(x, float) for x in self._es.ask()]

    def _learn(self, points: Sequence[Point], values: Sequence[float], _: Any) -> None:
        if self._stage == "mean":
            self._reasons.update(self._ended)
            return
        if self._stage == "start":
            self._stage = "generations"
        else:
            finite = [min(float(v), LARGE) if v == v else LARGE for v in values]
            self._es.tell(list(points), finite)
            self._bests.append(min(finite))
            self._spread = max(finite) - min(finite)
        self._ended = self._reasons_to_end()
        if self._ended:
            self._stage = "mean"

    def _reasons_to_end(self) -> dict[str, float]:
        reasons: dict[str, float] = {}
        if self.left < self.population + 1:  # one is for the mean
            reasons["budget"] = self.budget
        deviation = float(self._es.sigma * np.max(self._es.sm.variances) ** 0.5)
        if deviation < self.tolx:
            reasons["tolx"] = self.tolx
        if len(self._bests) >= max(self.min_generations, 2):
            recent = self._bests[-10:]
            if max(max(recent) - min(recent), self._spread) < self.tolfun:
                reasons["tolfun"] = self.tolfun
        if self._bests:
            for name in self._es.stop():
                if name in ("conditioncov", "noeffectcoord", "noeffectaxis"):
                    reasons[name] = 1.0
        return reasons
