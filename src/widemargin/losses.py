r"""Margin losses: one compiled pass each, predictions in, value, slope, curvature out.

Every loss is evaluated on pairs of a prediction z and a target t. Targets are small
integers: +1 and -1 for the two sides, 0 for a row that takes no part in an output,
and `PROXIMAL` for a row that shall lie *near* the hyperplane instead of on one side
of it (the class of a rank in nonparallel support vector ordinal regression). A row
costs ``C[k] * weight[i, 0]`` times

======================  =======================  ===============================
loss                    t = +1, -1               t = PROXIMAL
======================  =======================  ===============================
`SquaredHinge`          max(0, 1 - t z)^2        proximal max(0, \|z\| - epsilon)^2
`Hinge`                 max(0, 1 - t z)          proximal max(0, \|z\| - epsilon)
======================  =======================  ===============================

without a factor 1/2. **Convention at kinks**, for all losses: a row whose residual is
exactly zero is inactive, its slope and curvature are 0. The curvature of the squared
hinge is the generalised one, 2 on active rows; that of the hinge is 0.

The dual value of multipliers beta is the sum of ``-f*(-beta)``, where f is the loss of
one row with its cost and f* the conjugate: for convex f, any W and any beta with
X' beta in the range of the penalty's gradient it bounds the optimum from below. At
``beta = -slope`` it equals ``f(z) - z f'(z)``.

A new loss is one class here and one entry in `LOSSES`; the conformance suite
`widemargin._testing.check_loss` then applies to it.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin.rows import read_only

PROXIMAL = 2


@kernel
def _residual(z, t, epsilon):
    """(max(0, r), dr/dz): the loss is a function of the first; nan stays nan."""
    sign = 1.0 if z > 0.0 else -1.0
    r = sign * z - epsilon if t == PROXIMAL else 1.0 - t * z
    return (0.0 if r <= 0.0 else r), (sign if t == PROXIMAL else -float(t))


@kernel
def _cost(c, t, proximal):
    """Cost of a row by its target."""
    return c * proximal if t == PROXIMAL else (0.0 if t == 0 else c)


@kernel
def _squared_hinge(z, target, weight, C, params, slope, curvature, value):
    epsilon, proximal = params
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            cost = _cost(C[k] * weight[i, 0], target[i, k], proximal)
            r, sign = _residual(z[i, k], target[i, k], epsilon)
            value[k] += cost * r * r
            if slope.shape[0] > 0:
                slope[i, k] = 2.0 * cost * r * sign
                curvature[i, k] = 0.0 if r == 0.0 else 2.0 * cost


@kernel
def _squared_hinge_dual(beta, target, weight, C, params, value):
    epsilon, proximal = params
    for i in range(beta.shape[0]):
        for k in range(beta.shape[1]):
            t, b = target[i, k], beta[i, k]
            cost = _cost(C[k] * weight[i, 0], t, proximal)
            if cost == 0.0:
                value[k] += 0.0 if b == 0.0 else -np.inf
            elif t == PROXIMAL:
                value[k] -= epsilon * abs(b) + b * b / (4.0 * cost)
            else:
                value[k] += t * b - b * b / (4.0 * cost) if t * b >= 0.0 else -np.inf


@kernel
def _hinge(z, target, weight, C, params, slope, curvature, value):
    epsilon, proximal = params
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            cost = _cost(C[k] * weight[i, 0], target[i, k], proximal)
            r, sign = _residual(z[i, k], target[i, k], epsilon)
            value[k] += cost * r
            if slope.shape[0] > 0:
                slope[i, k] = 0.0 if r == 0.0 else cost * sign
                curvature[i, k] = 0.0


@kernel
def _hinge_dual(beta, target, weight, C, params, value):
    epsilon, proximal = params
    for i in range(beta.shape[0]):
        for k in range(beta.shape[1]):
            t, b = target[i, k], beta[i, k]
            if not abs(b) <= _cost(C[k] * weight[i, 0], t, proximal):
                value[k] = -np.inf
            elif t == PROXIMAL:
                value[k] -= epsilon * abs(b)
            else:
                value[k] += t * b if t * b >= 0.0 else -np.inf


@dataclass(frozen=True)
class Loss:
    """What all losses share; a loss names its two kernels and its parameters.

    The fields of a loss are its parameters: numbers, handed to the kernels in order.
    """

    name: ClassVar[str]
    n_weights: ClassVar[int] = 1  # columns of `weight`: the row's cost, and what else
    smooth: ClassVar[bool]  # the slope is continuous: Newton and CG may be used
    value_kernel: ClassVar[
        Callable[..., None]
    ]  # see `_squared_hinge` for the arguments
    dual_kernel: ClassVar[Callable[..., None]]

    @property
    def params(self) -> tuple[float, ...]:
        """The parameters, as the kernels take them."""
        return tuple(float(number) for number in astuple(self))

    def evaluate(
        self,
        z: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        C: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, slope and curvature.

        Parameters
        ----------
        z : ndarray of shape (n_rows, n_outputs)
            Predictions.
        target : ndarray of shape (n_rows, n_outputs)
            int8: +1, -1, 0 or `PROXIMAL`.
        weight : ndarray of shape (n_rows, n_weights)
            Weights of the rows; row weight k equals k copies of the row.
        C : ndarray of shape (n_outputs,)
            Cost of one unit of loss.

        Returns
        -------
        value : ndarray of shape (n_outputs,)
        slope, curvature : ndarray of shape (n_rows, n_outputs)
            First and second derivative of each row's cost by its prediction.
        """
        slope, curvature = np.empty(z.shape), np.empty(z.shape)
        return self._run(z, target, weight, C, slope, curvature), slope, curvature

    def value(
        self, z: np.ndarray, target: np.ndarray, weight: np.ndarray, C: np.ndarray
    ) -> np.ndarray:
        """The value of `evaluate` alone."""
        none = np.empty((0, z.shape[1]))
        return self._run(z, target, weight, C, none, none)

    def dual_value(
        self, beta: np.ndarray, target: np.ndarray, weight: np.ndarray, C: np.ndarray
    ) -> np.ndarray:
        """Sum of ``-f*(-beta)``, (n_outputs,); -inf where beta is infeasible."""
        value = np.zeros(beta.shape[1])
        data = self._inputs(beta, target, weight, C)
        type(self).dual_kernel(*data, value)
        return value

    def _run(self, *args: Any) -> np.ndarray:
        *data, slope, curvature = args
        value = np.zeros(data[0].shape[1])
        type(self).value_kernel(*self._inputs(*data), slope, curvature, value)
        return value

    def _inputs(
        self, z: np.ndarray, target: np.ndarray, weight: np.ndarray, C: np.ndarray
    ) -> tuple[Any, ...]:
        return (
            read_only(z),
            read_only(target, np.int8),
            read_only(weight),
            read_only(C),
            self.params,
        )


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, r)^2, the L2 loss; smooth, with a piecewise constant curvature.

    Attributes
    ----------
    epsilon : float
        Half the width of the tube of proximal rows.
    proximal : float
        Cost of a proximal row relative to that of others.
    """

    epsilon: float = 0.1
    proximal: float = 1.0

    name = "squared_hinge"
    smooth = True
    value_kernel = staticmethod(_squared_hinge)
    dual_kernel = staticmethod(_squared_hinge_dual)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, r), the L1 loss; its slope jumps at r = 0.

    Attributes
    ----------
    epsilon : float
        Half the width of the tube of proximal rows.
    proximal : float
        Cost of a proximal row relative to that of others.
    """

    epsilon: float = 0.1
    proximal: float = 1.0

    name = "hinge"
    smooth = False
    value_kernel = staticmethod(_hinge)
    dual_kernel = staticmethod(_hinge_dual)


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (SquaredHinge, Hinge)}
