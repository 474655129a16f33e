"""The radius/margin criterion and its gradient in ln C and ln gamma, Gaussian kernel.

With N rows, R^2 the least ball and c its dual variables (sum 1), b the signed dual
variables of the machine, ``C_i = C s_i`` and xi the slacks:

- squared hinge, on ``K + diag(1/C_i)``: ``f = R^2 |w|^2 / N``;
- hinge: ``f = (R^2 + 1/C)(|w|^2 + 2 sum C_i xi_i) / N``, C the mean of C_i (Chung et
  al., Neural Computation 15, 2003), since ``R^2 |w|^2`` alone fails there.

Both dual problems are optimal values, so their variables need not be differentiated
(Chapelle et al., Machine Learning 46, 2002): with dK the derivative of K,

    d R^2 = sum c_i dK_ii - c'dK c,     d |w|^2 = -b'dK b,

and ``-b'dK b`` is also the derivative of ``|w|^2 + 2 sum C_i xi_i``. In C itself
``d |w|^2 / dC = sum a_i^2 / C^2``; texts that print ``sum a_i / C^2`` lost the square.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from widemargin.solvers.loo import Solution, ball

# The ball's tolerance, of the mean of K_ii: its dual variables enter the gradient.
GRADIENT_TOL = 1e-5


class Criterion(NamedTuple):
    """Value f, df / d ln C, and df / d ln gamma: a number, or one for each feature."""

    value: float
    log_C: float
    log_gamma: Any


def _spread(solution: Solution, X: Any, u: np.ndarray) -> np.ndarray:
    """``sum_ij u_i u_j K_ij (x_ik - x_jk)^2`` for each feature k, (n_features,)."""
    index = np.flatnonzero(u)
    K, u, Z = solution.block(index, index), u[index], X[index]
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z, np.float64)
    Z = Z - Z.mean(axis=0)  # differences do not see it, and less is cancelled
    weighted = u[:, None] * Z
    squares = ((u * (K @ u)) @ Z**2) - np.einsum("ij,ij->j", weighted, K @ weighted)
    return 2.0 * squares


def radius_margin_gradient(
    solution: Solution, X: Any, gamma: float | np.ndarray
) -> Criterion:
    """The criterion of `solvers.loo.radius_margin` with its gradient.

    Cost: one ball problem and O(#SV^2 n_features).

    Parameters
    ----------
    solution : Solution
        A pair's fit with the Gaussian kernel ``exp(-sum_k gamma_k (x_k - z_k)^2)``.
    X : ndarray or CSR, (n_samples, n_features)
        The rows of the pair.
    gamma : float or ndarray of (n_features,)
        One scale, or one for each feature; the gradient has the same shape.

    Returns
    -------
    Criterion
        Value >= 0 and derivatives in ln C and ln gamma.
    """
    n = len(solution)
    radius, c = ball(solution, GRADIENT_TOL)
    scales = np.asarray(gamma, np.float64)
    spread_b = _spread(solution, X, solution.b)
    spread_c = _spread(solution, X, c)
    # dK_ij / d ln gamma_k = -gamma_k (x_ik - x_jk)^2 K_ij, zero on the diagonal
    d_margin, d_radius = scales * spread_b, scales * spread_c
    if not scales.ndim:
        d_margin, d_radius = d_margin.sum(), d_radius.sum()
    if solution.squared:
        margin = solution.weight_norm
        d_margin_C = float(solution.b**2 @ solution.shift)
        d_radius_C = -float((c * (1.0 - c)) @ solution.shift)
    else:
        loss = 2.0 * float(solution.C @ solution.slack)
        margin = solution.weight_norm + loss
        inverse = 1.0 / float(solution.C.mean())
        radius += inverse
        d_margin_C, d_radius_C = loss, -inverse
    return Criterion(
        radius * margin / n,
        (d_radius_C * margin + radius * d_margin_C) / n,
        (d_radius * margin + radius * d_margin) / n,
    )
