"""The judge: what a fitted SVC is worth, from its published attributes alone.

Nothing here comes from any contestant. Kernel values are computed in float64 by NumPy,
tile by tile, from ``support_``, ``dual_coef_`` and ``intercept_``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

TILE_ROWS, TILE_COLS = 512, 4096
# A coefficient this near its bound, relative to C, counts as at the bound.
AT_BOUND = 1e-8


class Verdict(NamedTuple):
    """One solution, over all pairs of classes."""

    objective: float  # dual, min form, summed
    kkt_gap: float  # the largest; what `tol` asks for
    infeasible: float  # by how much bounds and y'a = 0 are missed, relative to C
    decisions: np.ndarray  # of each pair on its own training rows
    n_support: int
    n_free: int


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)


def kernel_product(X: Any, Z: Any, gamma: float, weights: np.ndarray) -> np.ndarray:
    """``sum_j exp(-gamma |x_i - z_j|^2) w_j`` in float64, (n_rows,)."""
    out = np.zeros(X.shape[0])
    # Distances do not see the shift, and rounding is least around the mean.
    centre = np.zeros(X.shape[1]) if sparse.issparse(X) else _dense(X).mean(axis=0)
    for right in range(0, Z.shape[0], TILE_COLS):
        B = _dense(Z[right : right + TILE_COLS]) - centre
        b_norms = np.einsum("ij,ij->i", B, B)
        w = weights[right : right + TILE_COLS]
        for left in range(0, X.shape[0], TILE_ROWS):
            A = _dense(X[left : left + TILE_ROWS]) - centre
            tile = A @ B.T
            tile *= -2.0
            tile += np.einsum("ij,ij->i", A, A)[:, None]
            tile += b_norms
            tile *= -gamma
            np.minimum(tile, 0.0, out=tile)
            np.exp(tile, out=tile)
            out[left : left + TILE_ROWS] += tile @ w
    return out


def _pairs(model: Any, y: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """(rows, their signs, support rows, their coefficients) of each pair of classes."""
    coef = np.asarray(_dense(model.dual_coef_))
    support = np.asarray(model.support_)
    classes = np.asarray(model.classes_)
    if len(classes) == 2:
        rows = np.arange(len(y))
        yield rows, np.where(y == classes[1], 1.0, -1.0), support, coef[0]
        return
    ends = np.concatenate(([0], np.cumsum(model.n_support_)))
    parts = [slice(ends[k], ends[k + 1]) for k in range(len(classes))]
    members = [np.flatnonzero(y == value) for value in classes]
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            rows = np.concatenate((members[i], members[j]))
            signs = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
            owners = np.concatenate((support[parts[i]], support[parts[j]]))
            values = np.concatenate((coef[j - 1, parts[i]], coef[i, parts[j]]))
            used = values != 0
            yield rows, signs, owners[used], values[used]


def judge(model: Any, X: Any, y: np.ndarray, C: float, gamma: float) -> Verdict:
    """Evaluate a fitted model on its training data.

    Parameters
    ----------
    model : estimator
        Anything with the fitted attributes of scikit-learn's SVC.
    X : ndarray or CSR, (n_samples, n_features)
        The rows that it was fitted to.
    y : ndarray, (n_samples,)
        Their labels.
    C, gamma : float
        The problem's settings.
    """
    objective = gap = missed = 0.0
    n_free = 0
    decisions = []
    intercepts = np.ravel(model.intercept_)
    for pair, (rows, signs, owners, values) in enumerate(_pairs(model, y)):
        left = X if len(rows) == X.shape[0] else X[rows]
        f = kernel_product(left, X[owners], gamma, values)
        b = np.zeros(len(y))
        b[owners] = values
        b = b[rows]
        a = signs * b
        objective += 0.5 * float(b @ f) - float(a.sum())
        v = signs - f
        slack = AT_BOUND * C
        rises = np.where(signs > 0, a < C - slack, a > slack)
        falls = np.where(signs > 0, a > slack, a < C - slack)
        top, bottom = v[rises].max(initial=-np.inf), v[falls].min(initial=np.inf)
        gap = max(gap, float(top - bottom))
        missed = max(missed, -float(a.min()), float(a.max()) - C, abs(float(b.sum())))
        n_free += int(((a > slack) & (a < C - slack)).sum())
        decisions.append(f + intercepts[pair])
    return Verdict(
        objective, gap, missed / C, np.concatenate(decisions), len(model.support_),
        n_free,
    )  # fmt: skip


def excess(own: Verdict, peer: Verdict) -> float:
    """How far our objective lies above the peer's, relative; negative: below."""
    scale = max(abs(own.objective), abs(peer.objective))
    return (own.objective - peer.objective) / scale if scale else 0.0


def disagreement(own: Verdict, peer: Verdict) -> tuple[float, float]:
    """(largest difference of decisions, share of decisions with another sign)."""
    difference = np.abs(own.decisions - peer.decisions)
    flipped = (own.decisions > 0) != (peer.decisions > 0)
    return float(difference.max()), float(flipped.mean())
