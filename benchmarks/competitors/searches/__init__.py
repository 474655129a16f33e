"""Who searches for hyperparameters. One more is one more file here and its line.

A file defines ``NAME`` and ``search(task) -> Found``: it tries settings inside the
task's box, on one thread, and fits the best one to all rows. Where the package is
missing, importing the file raises ImportError.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

GRID = "grid, 5 folds (skl)"
SPAN = "loo + CMA-ES"
BFGS = "radius/margin + BFGS"
FOLDS = "5 folds + CMA-ES"
TPE = "Optuna TPE, 5 folds (skl)"

FILES = {
    GRID: "benchmarks.competitors.searches.grid_folds",
    SPAN: "benchmarks.competitors.searches.loo_cmaes",
    BFGS: "benchmarks.competitors.searches.radius_bfgs",
    FOLDS: "benchmarks.competitors.searches.folds_cmaes",
    TPE: "benchmarks.competitors.searches.optuna_tpe",
}
# Settings that CMA-ES and TPE try with two parameters, and folds of those who have any.
TRIALS = 66
N_FOLDS = 5
# A search by folds meets settings on which LIBSVM, whose steps have no limit, would run
# for hours with a polynomial.
POLY_STEPS = 100_000
# Share of a side, on its logarithmic scale, that counts as the end of the box.
EDGE = 0.01


class Box(NamedTuple):
    """What is searched; the same for all."""

    C: tuple[float, float] = (2.0**-5, 2.0**15)
    gamma: tuple[float, float] = (2.0**-15, 2.0**3)
    degrees: tuple[int, ...] = ()  # of a polynomial kernel
    levels: int = 10  # of a grid, for C and gamma
    per_feature: bool = False

    def at_edge(self, params: Mapping[str, Any]) -> bool:
        """Whether C or a gamma shared by all features lies at an end of its range."""
        for name in ("C",) if self.per_feature else ("C", "gamma"):
            low, high = np.log(getattr(self, name))
            place = (np.log(params[name]) - low) / (high - low)
            if not EDGE < place < 1 - EDGE:
                return True
        return False

    def grid(self) -> dict[str, Any]:
        """Values for a full grid."""
        values: dict[str, Any] = {
            name: np.geomspace(*getattr(self, name), self.levels)
            for name in ("C", "gamma")
        }
        if self.degrees:
            values["degree"] = list(self.degrees)
        return values

    def fixed(self) -> dict[str, Any]:
        """Settings of the classifier that are not searched."""
        return {"kernel": "poly", "coef0": 1.0} if self.degrees else {"kernel": "rbf"}

    def space(self) -> dict[str, Any]:
        """For MarginSearchCV."""
        from widemargin.model_selection import Integer, Log

        space: dict[str, Any] = {
            "C": Log(*self.C),
            "gamma": Log(*self.gamma, per_feature=self.per_feature),
        }
        if self.degrees:
            space["degree"] = Integer(min(self.degrees), max(self.degrees))
        return space


class Task(NamedTuple):
    """Training rows, box and seed."""

    X: np.ndarray
    y: np.ndarray
    box: Box
    seed: int


class Found(NamedTuple):
    """The model of the best setting, and what it took."""

    model: Any
    params: dict[str, Any]
    n_fits: int  # the last one, to all rows, not counted
    reasons: list[str] = []  # noqa: RUF012  never written to


def load(name: str) -> Callable[[Task], Found]:
    """The search of that name."""
    return import_module(FILES[name]).search


def found(search: Any) -> Found:
    """What a fitted MarginSearchCV found."""
    return Found(
        search.best_estimator_, search.best_params_, search.n_fits_,
        list(search.stop_reasons_),
    )  # fmt: skip


def peer_svc(box: Box) -> Any:
    """scikit-learn's SVC; LIBSVM with a limit of steps where it may never end."""
    from sklearn.svm import SVC

    return SVC(max_iter=POLY_STEPS if box.degrees else -1, **box.fixed())
