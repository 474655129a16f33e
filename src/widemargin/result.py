"""What every solver returns."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np


class Status(StrEnum):
    """How a solver ended."""

    CONVERGED = "converged"  # the stopping measure is at most tol
    MAX_ITER = "max_iter"  # budget spent, the result is usable
    STALLED = "stalled"  # no progress at machine precision
    STOPPED = "stopped"  # a callback asked to stop
    FAILED = "failed"  # NaN, inf or a broken line search


class TracePoint(NamedTuple):
    """One line of a solver's history."""

    n_iter: int
    objective: float
    measure: float
    seconds: float


@dataclass
class SolverResult:
    """Solution of one optimisation problem and how good it is.

    Attributes
    ----------
    x : ndarray
        The solution; the solver's docstring gives its shape and meaning.
    status : Status
        Why the solver ended.
    n_iter : int
        Iterations; the solver's docstring says of what kind.
    objective : float
        Objective at ``x``, in the form the solver's docstring states.
    measure : float
        The quantity that was compared with ``tol``.
    dual_objective : float
        A bound on the objective from the other side; nan where there is none.
    intercept : float
        Multiplier of the equality constraint; nan where there is none.
    gradient : ndarray or None
        Gradient of the objective at ``x``, where the solver keeps it.
    trace : list of TracePoint
        A short history.
    seconds : float
        Wall time.
    extra : dict
        Counters that only this solver has, named in its docstring.
    """

    x: np.ndarray
    status: Status
    n_iter: int
    objective: float
    measure: float
    dual_objective: float = float("nan")
    intercept: float = float("nan")
    gradient: np.ndarray | None = None
    trace: list[TracePoint] = field(default_factory=list)
    seconds: float = 0.0
    extra: dict[str, float] = field(default_factory=dict)

    @property
    def converged(self) -> bool:
        """True if the stopping measure reached ``tol``."""
        return self.status is Status.CONVERGED
