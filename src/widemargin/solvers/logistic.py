"""A one-variable logistic with slope >= 0, and probabilities of pairs put together."""

import numpy as np
from scipy.special import expit

_ITERATIONS = 100


def logistic(z: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-z))`` without overflow."""
    return expit(z)


def _log_loss(z: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    return float(weights @ (np.logaddexp(0.0, z) - target * z))


def fit_logistic(
    scores: np.ndarray, positive: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Slope >= 0 and offset of ``P(positive | score)`` by weighted maximum likelihood.

    Targets are Platt's (1999), ``(N+ + 1)/(N+ + 2)`` and ``1/(N- + 2)`` with weighted
    counts, so that separable scores give a finite slope. Newton's method with step
    halving on centred and scaled scores. Where the best slope is negative the answer
    is slope 0 and the classes' share: a slope that turns the ranking round would
    reward a classifier that is worse than chance.

    Parameters
    ----------
    scores : ndarray, (n,)
    positive : ndarray of bool, (n,)
    weights : ndarray, (n,)
        All >= 0.

    Returns
    -------
    slope, offset : float
    """
    n_positive = float(weights[positive].sum())
    n_negative = float(weights[~positive].sum())
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
    target = np.where(positive, high, low)
    total = n_positive + n_negative
    prior = float(weights @ target) / total if total > 0 else 0.5
    flat = (0.0, float(np.log(prior / (1 - prior))))
    middle = float(weights @ scores) / total if total > 0 else 0.0
    scale = float(np.sqrt(weights @ (scores - middle) ** 2 / total)) if total else 0.0
    if not scale > 0:
        return flat
    x = (scores - middle) / scale
    a, b = flat
    loss = _log_loss(a * x + b, target, weights)
    for _ in range(_ITERATIONS):
        p = expit(a * x + b)
        r = weights * (p - target)
        gradient = np.array([r @ x, r.sum()])
        if np.abs(gradient).max() <= 1e-10 * total:
            break
        h = weights * p * (1 - p)
        hessian = np.array([[h @ (x * x), h @ x], [h @ x, h.sum()]])
        step = np.linalg.solve(hessian + 1e-12 * total * np.eye(2), gradient)
        if float(gradient @ step) <= 1e-12 * loss:
            break  # less than rounding is left to gain
        size = 1.0
        while size > 1e-10:
            a2, b2 = a - size * step[0], b - size * step[1]
            new = _log_loss(a2 * x + b2, target, weights)
            if new <= loss - 1e-4 * size * float(gradient @ step):
                break
            size *= 0.5
        else:
            break
        a, b, loss = a2, b2, new
    if a <= 0:
        return flat
    return a / scale, b - a * middle / scale


def couple_pairs(p: np.ndarray, n_classes: int) -> np.ndarray:
    """Class probabilities from pairwise ones.

    Minimises ``sum over i, j of (r_ji p_i - r_ij p_j)^2`` over the simplex, the second
    method of Wu, Lin and Weng, JMLR 5 (2004), whose optimum solves the linear system
    ``Q p + e mu = 0, e'p = 1``.

    Parameters
    ----------
    p : ndarray, (n, n_pairs)
        Probability of the first class of each pair (0,1), (0,2), ...

    Returns
    -------
    probabilities : ndarray, (n, n_classes)
    """
    n = len(p)
    r = np.zeros((n, n_classes, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    clipped = np.clip(p, 1e-7, 1 - 1e-7)
    r[:, i, j] = clipped
    r[:, j, i] = 1 - clipped
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    # Q_ii = sum_s r_si^2, Q_ij = -r_ji r_ij
    system[:, :n_classes, :n_classes] = -r * r.transpose(0, 2, 1)
    k = np.arange(n_classes)
    system[:, k, k] = (r**2).sum(axis=1)
    system[:, :n_classes, n_classes] = 1.0
    system[:, n_classes, :n_classes] = 1.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    solution = np.linalg.solve(system, right)[:, :n_classes, 0]
    solution = np.maximum(solution, 0.0)
    return solution / solution.sum(axis=1, keepdims=True)
