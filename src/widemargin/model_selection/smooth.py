"""The radius/margin criterion of a fitted SVC with its gradient in the unit cube."""

from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.estimators._svc_loo import solutions
from widemargin.model_selection.space import Space
from widemargin.model_selection.targets import last_step
from widemargin.solvers.radius_margin import radius_margin_gradient


def radius_margin_of(
    space: Space, prefix: str
) -> Callable[[Any, Any], tuple[float, np.ndarray]]:
    """``f(model, X)`` -> (value, gradient), pairs of classes weighted by their rows."""
    axes = space.axes
    # ln parameter = ln low + u ln(high / low)
    scale = np.array([np.log(axis.high / axis.low) for axis in axes])  # type: ignore[attr-defined]
    C = space.coordinates(f"{prefix}C")
    gamma = space.coordinates(f"{prefix}gamma")

    def criterion(model: Any, X: Any) -> tuple[float, np.ndarray]:
        final = last_step(model)[1]
        rows = final._training.X
        value, gradient, weight = 0.0, np.zeros(len(axes)), 0
        for _, _, index, solution in solutions(final):
            part = radius_margin_gradient(solution, rows[index], final.gamma_)
            value += len(index) * part.value
            gradient[C] += len(index) * part.log_C
            if len(gamma):
                gradient[gamma] += len(index) * part.log_gamma
            weight += len(index)
        return value / weight, gradient * scale / weight

    return criterion
