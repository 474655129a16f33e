"""Primal values of support vector machines: the other side of the duality gap."""

import numpy as np

from widemargin._jit import kernel

_BIAS_STEPS = 60
_SCALE_STEPS = 30


@kernel(reduce=True)
def _balance(scores, y, C, scale, bias, squared):
    """(sum C_i y_i slope_i, sum C_i y_i f_i slope_i, loss) at margins y(scale f + b).

    slope is 1 (hinge) or xi (squared) where xi = 1 - y(scale f + b) > 0, else 0.
    """
    tilt = 0.0
    pull = 0.0
    loss = 0.0
    for i in range(scores.shape[0]):
        xi = max(1.0 - y[i] * (scale * scores[i] + bias), 0.0)
        slope = xi if squared else (1.0 if xi > 0.0 else 0.0)
        tilt += C[i] * y[i] * slope
        pull += C[i] * y[i] * slope * scores[i]
        loss += C[i] * (0.5 * xi * xi if squared else xi)
    return tilt, pull, loss


@kernel
def _best_bias(scores, y, C, scale, low, high, squared):
    """The bias of least loss by bisection; returns (bias, pull, loss)."""
    for _ in range(_BIAS_STEPS):
        if _balance(scores, y, C, scale, low, squared)[0] >= 0.0:
            break
        low -= 1.0 + high - low
    for _ in range(_BIAS_STEPS):
        if _balance(scores, y, C, scale, high, squared)[0] <= 0.0:
            break
        high += 1.0 + high - low
    for _ in range(_BIAS_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if high - low <= 1e-8 * (1.0 + abs(middle)):
            break
        if _balance(scores, y, C, scale, middle, squared)[0] > 0.0:
            low = middle
        else:
            high = middle
    left = _balance(scores, y, C, scale, low, squared)
    right = _balance(scores, y, C, scale, high, squared)
    # at a kink: the mix of the two sides under which the bias does not move
    spread = left[0] - right[0]
    share = -right[0] / spread if spread > 0.0 else 1.0
    pull = share * left[1] + (1.0 - share) * right[1]
    if left[2] < right[2]:
        return low, pull, left[2]
    return high, pull, right[2]


@kernel
def _best_primal(scores, y, C, square, bias, width, squared, dual):
    """Least ``t^2/2 square + loss(t scores + b)`` over t >= 0 and b: (value, t, b).

    The value at the best b is convex in t, with slope t square - pull. Ends when the
    slope allows less than a twentieth of the distance to `dual` to be gained.
    """
    low, high = 0.0, 2.0
    scale = 1.0
    best = np.inf
    best_scale, best_bias = 1.0, bias
    for step in range(_SCALE_STEPS):
        b, pull, loss = _best_bias(
            scores, y, C, scale, bias - width, bias + width, squared
        )
        value = 0.5 * scale * scale * square + loss
        if value < best:
            best, best_scale, best_bias = value, scale, b
        slope = scale * square - pull
        if slope > 0.0:
            high = scale
        else:
            low = scale
        if step == 0:  # the best t is near 1: try the neighbourhood first
            scale = 1.0 - 1e-3 if slope > 0.0 else 1.0 + 1e-3
        elif step < 4 and (low == 0.0 or high == 2.0):
            away = 10.0 * abs(scale - 1.0)
            scale = max(0.0, 1.0 - away) if slope > 0.0 else min(2.0, 1.0 + away)
        else:
            scale = 0.5 * (low + high)
        if abs(slope) * (high - low) <= 0.05 * (best - dual) or high - low < 1e-9:
            break
    return best, best_scale, best_bias


def best_primal(
    scores: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    square: float,
    bias: float,
    gap: float,
    squared: bool,
    dual: float,
) -> tuple[float, float, float]:
    """Least primal value of a C-SVM on the ray of its weight vector.

    ``min over t >= 0, b of t^2/2 |w|^2 + sum C_i loss(1 - y_i(t f_i + b))`` with
    ``loss(xi) = max(xi, 0)`` or half its square. A dual point of KKT gap `tol` may
    have a poor primal value at (w, b) while a rescaled w, off by less than the
    tolerance, is almost optimal.

    Parameters
    ----------
    scores : ndarray, (n,)
        ``f_i = sum_j y_j a_j K_ij``, without the bias.
    y : ndarray of -1 and +1, (n,)
    C : ndarray, (n,)
        Penalty of each row.
    square : float
        ``|w|^2``.
    bias, gap : float
        The dual's bias, and the KKT gap: where the search for b begins.
    squared : bool
        Squared hinge.
    dual : float
        The dual value: the search ends within a twentieth of the way to it.

    Returns
    -------
    value, t, b : float
    """
    width = max(gap, 1e-12)
    return _best_primal(scores, y, C, square, bias, width, squared, dual)


def relative_gap(primal: float, dual: float) -> float:
    """``(P - D) / max(|P|, |D|)``, 0 if both are 0, nan if one is not finite."""
    if not (np.isfinite(primal) and np.isfinite(dual)):
        return np.nan
    size = max(abs(primal), abs(dual))
    return max(0.0, primal - dual) / size if size > 0 else 0.0
