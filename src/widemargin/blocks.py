"""Some rows of a problem, and the work that touches them.

A `Block` holds everything of length n_samples that a Newton-type solver needs:
predictions, curvature, the step of a line search. What it returns has the size of the
coefficients. `operators.py` adds up blocks, in threads or on other machines.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.losses import Loss
from widemargin.ops import (
    gram,
    hess_product,
    product,
    transposed_product,
    weighted_squares,
)
from widemargin.rows import CsrRows, as_rows

Outputs = np.ndarray | Sequence[int] | None


def pick(array: np.ndarray, outputs: Outputs) -> np.ndarray:
    """Columns `outputs` of an array; all of them for None."""
    if outputs is None:
        return array
    return np.ascontiguousarray(array[..., outputs])


def _sums(U: np.ndarray) -> np.ndarray:
    """Sums of the columns of a narrow array, which BLAS adds up faster than NumPy."""
    return np.ones(len(U)) @ U


class Block:
    """Some rows of a problem and the work that touches them.

    Its methods return the sums over its rows of what `RowBlockProblem` describes,
    without the penalty, as a tuple of arrays.

    Parameters
    ----------
    X : array, sparse array or CsrRows of shape (n_rows, n_features)
        The data, taken as it is where `as_rows` can.
    target : array of shape (n_rows, n_outputs)
        +1, -1, 0 (takes no part) or what else the loss knows.
    weight : array of shape (n_rows, n_weights)
        Weights of the rows, as the loss wants them.
    loss : Loss
        The loss of every row.
    C : array of shape (n_outputs,)
        Cost of one unit of loss.
    intercept_scaling : float, optional
        The value of the appended column; None for no intercept.
    """

    def __init__(
        self,
        X: Any,
        target: np.ndarray,
        weight: np.ndarray,
        loss: Loss,
        C: np.ndarray,
        intercept_scaling: float | None = None,
    ) -> None:
        self.rows = X if isinstance(X, CsrRows) else as_rows(X)
        self.target = np.ascontiguousarray(target, dtype=np.int8)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.loss = loss
        self.C = np.asarray(C, dtype=np.float64)
        self.intercept_scaling = intercept_scaling
        self._z = np.zeros(self.target.shape)
        self._curvature = np.zeros(self.target.shape)
        self._step = np.empty((0, 0))

    def value(self, W: np.ndarray, outputs: Outputs = None) -> tuple[np.ndarray]:
        """Loss (n_outputs,) at W."""
        return (self._loss_value(self._predict(W), outputs),)

    def linearize(
        self, W: np.ndarray, outputs: Outputs = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss, gradient, sums of -slope > 0 and of slope > 0; fixes the point."""
        z = self._predict(W)
        value, slope, curvature = self._evaluate(z, outputs)
        if outputs is None:
            self._z, self._curvature = z, curvature
        else:
            self._z[:, outputs], self._curvature[:, outputs] = z, curvature
        both, rising = _sums(np.abs(slope)), _sums(slope)
        sums = np.stack([both - rising, both + rising]).clip(0.0) / 2.0
        return value, self._pull(slope), sums

    def hess_vec(self, V: np.ndarray, outputs: Outputs = None) -> tuple[np.ndarray]:
        """Hessian at the point times V."""
        s, n_features = self.intercept_scaling, self.rows.shape[1]
        curvature = pick(self._curvature, outputs)
        out = np.zeros(V.shape)
        shift = None if s is None else s * V[-1]
        X_V = V[:n_features]
        _, total = hess_product(self.rows, curvature, X_V, shift, out[:n_features])
        if s is not None:
            out[-1] = s * total
        return (out,)

    def hess_diag(self, outputs: Outputs = None) -> tuple[np.ndarray]:
        """Diagonal of the Hessian at the point, per output."""
        curvature = pick(self._curvature, outputs)
        diagonal = weighted_squares(self.rows, curvature)
        if self.intercept_scaling is not None:
            last = self.intercept_scaling**2 * _sums(curvature)
            diagonal = np.vstack([diagonal, last])
        return (diagonal,)

    def hess_matrix(self, outputs: Outputs = None) -> tuple[np.ndarray]:
        """Hessians at the point, (n_outputs, n_coefficients, n_coefficients)."""
        curvature, n = pick(self._curvature, outputs), self.rows.shape[1]
        s = self.intercept_scaling
        size = n + (s is not None)
        H = np.empty((curvature.shape[1], size, size))
        for k in range(len(H)):
            H[k, :n, :n] = gram(self.rows, curvature[:, k])
        if s is not None:
            H[:, n, :] = self._pull(s * curvature).T
            H[:, :n, n] = H[:, n, :n]
        return (H,)

    def set_direction(self, S: np.ndarray) -> tuple[()]:
        """Predictions of the direction of `value_along`."""
        self._step = self._predict(S)
        return ()

    def value_along(self, t: np.ndarray, outputs: Outputs = None) -> tuple[np.ndarray]:
        """Loss at the point plus t times the direction."""
        return (self._loss_value(pick(self._z, outputs) + t * self._step, outputs),)

    def dual(
        self, scale: np.ndarray, outputs: Outputs = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Dual value and X' beta; scale[0] multiplies beta > 0, scale[1] the others."""
        _, slope, _ = self._evaluate(pick(self._z, outputs), outputs)
        beta = slope * np.where(slope < 0.0, -scale[0], -scale[1])
        target, C = pick(self.target, outputs), pick(self.C, outputs)
        value = self.loss.dual_value(beta, target, self.weight, C)
        return value, self._pull(beta)

    def _predict(self, W: np.ndarray) -> np.ndarray:
        z = product(self.rows, W[: self.rows.shape[1]])
        if self.intercept_scaling is not None:
            z += self.intercept_scaling * W[-1]
        return z

    def _pull(self, U: np.ndarray) -> np.ndarray:
        """[X, s 1]' U."""
        n_features, s = self.rows.shape[1], self.intercept_scaling
        out = np.zeros((n_features + (s is not None), U.shape[1]))
        transposed_product(self.rows, U, out[:n_features])
        if s is not None:
            out[-1] = s * _sums(U)
        return out

    def _evaluate(self, z: np.ndarray, outputs: Outputs) -> Any:
        target, C = pick(self.target, outputs), pick(self.C, outputs)
        return self.loss.evaluate(z, target, self.weight, C)

    def _loss_value(self, z: np.ndarray, outputs: Outputs) -> np.ndarray:
        target, C = pick(self.target, outputs), pick(self.C, outputs)
        return self.loss.value(z, target, self.weight, C)
