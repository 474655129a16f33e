"""Leave-one-out margins and error bounds of a support vector machine, from one fit.

Everything here looks at one pair of classes through a `Solution`: labels y = -1, +1,
the signed dual variables ``b_i = y_i a_i``, the scores ``f_i = sum_j b_j K_ij`` without
the bias, and the kernel values of the support vectors. N is the number of rows, Psi(x)
is 1 for x >= 0 and 0 below; "margin" of a row is ``y_p (f_p + bias)``.

The free support vectors (0 < a < C) are F, the bounded ones (a = C) B. With the squared
hinge all are free and K carries ``1/C_i`` on its diagonal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from widemargin.kernel_rows import Rows
from widemargin.solvers.active_set import repair, solve_active_set
from widemargin.solvers.smo import solve_smo

# Continuous version of the span: Chapelle et al. (2002), section 4.
SPAN_ETA = 0.1
# Confidence of the VC bound: it holds with probability 1 - this.
VC_ETA = 0.05
# KKT gap of the ball problem, relative to the mean of K_ii.
BALL_TOL = 1e-4
# Relative ridge where free support vectors coincide and their matrix is singular.
RIDGE = 1e-10


@dataclass(frozen=True)
class Solution:
    """One pair's fit; see the module's docstring. Arrays are (n,), float64."""

    rows: Rows
    y: np.ndarray
    b: np.ndarray
    scores: np.ndarray
    bias: float
    C: np.ndarray
    squared: bool
    tol: float = 1e-3

    def __len__(self) -> int:
        return len(self.y)

    @property
    def alpha(self) -> np.ndarray:
        """a = y b."""
        return self.y * self.b

    @property
    def margins(self) -> np.ndarray:
        """y (f + bias) as the fitted rule gives them."""
        return self.y * (self.scores + self.bias)

    @cached_property
    def slack(self) -> np.ndarray:
        """xi = max(0, 1 - margin)."""
        return np.maximum(0.0, 1.0 - self.margins)

    @cached_property
    def shift(self) -> np.ndarray:
        """What the loss adds to K's diagonal."""
        return 1.0 / self.C if self.squared else np.zeros(len(self))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K_ii with the shift."""
        return self.rows.diagonal() + self.shift

    @cached_property
    def free(self) -> np.ndarray:
        """Indices of free support vectors."""
        bounded = False if self.squared else self.alpha >= self.C
        return np.flatnonzero((self.b != 0) & ~bounded)

    @cached_property
    def bounded(self) -> np.ndarray:
        """Indices of bounded support vectors."""
        if self.squared:
            return np.empty(0, np.intp)
        return np.flatnonzero(self.alpha >= self.C)

    def block(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values without the shift, float64."""
        values = self.rows.take(left).block(self.rows.take(right))
        return values.astype(np.float64, copy=False)

    @property
    def weight_norm(self) -> float:
        """``|w|^2`` in the space where the shift is a feature of its own."""
        return float(self.b @ self.scores + (self.shift * self.b) @ self.b)


def _free_matrix(solution: Solution) -> np.ndarray:
    F = solution.free
    K = solution.block(F, F)
    K = 0.5 * (K + K.T)
    K[np.diag_indices(len(F))] += solution.shift[F]
    return K


def _factor(K: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor, with the least ridge in powers of 100 that lets it exist."""
    ridge = RIDGE * float(np.trace(K)) / max(1, len(K))
    for _ in range(6):
        try:
            return linalg.cho_factor(K + ridge * np.eye(len(K)), lower=True)
        except linalg.LinAlgError:
            ridge *= 100.0
    values, vectors = linalg.eigh(K)  # not positive semidefinite: |K|
    floor = 1e-8 * float(np.abs(values).max(initial=1.0))
    whole = (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
    return linalg.cho_factor(whole, lower=True)


def spans(
    solution: Solution, eta: float = 0.0, bias: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """``S_p^2`` of the free and of the bounded support vectors.

    The squared distance of phi(x_p) from the affine hull (``bias``) or linear hull of
    the free support vectors other than p. With ``M = [[K_FF + D, 1], [1', 0]]``:

    - p free: ``1 / (M^-1)_pp - D_pp``
    - p bounded: ``K_pp - v' M^-1 v``, ``v = (K_Fp; 1)``

    D = diag(eta / a) smooths the set changes away (eta = 0: the exact span). Without a
    free support vector S^2 is K_pp, and so it is for a single free one, whose
    constraint set is empty. Cost |F|^3 / 3 + |F|^2 |B|. O. Chapelle, V. Vapnik, O.
    Bousquet and S. Mukherjee, Machine Learning 46 (2002), section 4.
    """
    F, B = solution.free, solution.bounded
    diagonal = solution.diagonal
    if len(F) == 0:
        return np.empty(0), diagonal[B].copy()
    smooth = eta / np.abs(solution.b[F]) if eta > 0 else np.zeros(len(F))
    K = _free_matrix(solution)
    K[np.diag_indices(len(F))] += smooth
    factor = _factor(K)
    # diag(K^-1) from the inverse of the factor: half the work of the whole inverse
    root, _ = linalg.lapack.dtrtri(factor[0], lower=1)
    inverse = np.einsum("ij,ij->j", np.tril(root), np.tril(root))
    z = linalg.cho_solve(factor, np.ones(len(F)))
    s = float(z.sum())
    if bias:
        inverse -= z**2 / s
    if len(F) == 1 and bias:
        free = diagonal[F].copy()
    else:
        free = np.maximum(1.0 / np.maximum(inverse, 1e-300) - smooth, 0.0)
    bound = diagonal[B].copy()
    if len(B):
        cross = solution.block(F, B)
        solved = linalg.cho_solve(factor, cross)
        bound -= np.einsum("ij,ij->j", cross, solved)
        if bias:
            bound += (z @ cross - 1.0) ** 2 / s
    return free, np.maximum(bound, 0.0)


def span_margins(solution: Solution, eta: float = 0.0) -> np.ndarray:
    """Predicted leave-one-out margins of all rows: ``y_p f^-p(x_p)``.

    ``y_p f(x_p) - a_p S_p^2`` for support vectors, the fitted margin for the others.
    Exact where no variable changes between free, bounded and zero when p is left out.
    """
    free, bounded = spans(solution, eta)
    margins = solution.margins
    if solution.squared:  # in the enlarged space every support vector lies on it
        margins[solution.free] = 1.0
    alpha = solution.alpha
    margins[solution.free] -= alpha[solution.free] * free
    margins[solution.bounded] -= alpha[solution.bounded] * bounded
    return margins


def refit_margins(solution: Solution) -> np.ndarray:
    """True leave-one-out margins, by a refit without each support vector in turn.

    Each refit starts from the whole solution. Cost: one matrix of N^2 entries, and
    #SV short runs of SMO.
    """
    n = len(solution)
    everything = np.arange(n)
    K = np.ascontiguousarray(solution.block(everything, everything))
    bound = np.full(n, np.inf) if solution.squared else solution.C
    lower = np.where(solution.y > 0, 0.0, -bound)
    upper = np.where(solution.y > 0, bound, 0.0)
    margins = solution.margins
    for p in np.flatnonzero(solution.b):
        low, high = lower.copy(), upper.copy()
        low[p] = high[p] = 0.0
        start = np.clip(solution.b, low, high)
        repair(start, low, high, 0.0)
        if not np.isclose(start.sum(), 0.0, atol=1e-9 * np.abs(start).sum() + 1e-12):
            start[:] = 0.0  # p was its class's only support
        result = solve_smo(
            K, solution.y, low, high, tol=solution.tol, start=start,
            shift=solution.shift,
        )  # fmt: skip
        rest = np.delete(everything, p)
        if len(np.unique(solution.y[rest])) < 2:
            margins[p] = -1.0  # without its class nobody predicts it
            continue
        score = float(K[p] @ result.x)
        margins[p] = solution.y[p] * (score + result.intercept)
    return margins


def ball(solution: Solution, tol: float = BALL_TOL) -> tuple[float, np.ndarray]:
    """``(R^2, c)`` of the least ball around all rows: ``max_c sum c_i K_ii - c'Kc``.

    ``c >= 0, sum c = 1``, on K with the shift; stops at a KKT gap of `tol` times the
    mean of K_ii. Cost: one problem with the solver of the machine.
    """
    n = len(solution)
    diagonal = solution.diagonal
    result = solve_active_set(
        solution.rows, 0.5 * diagonal, np.zeros(n), np.full(n, np.inf),
        tol=tol * float(diagonal.mean()), total=1.0, shift=solution.shift,
    )  # fmt: skip
    return -2.0 * result.objective, result.x


def _share(events: np.ndarray) -> float:
    return float(np.mean(events))


def sv_count(solution: Solution) -> float:
    """``#SV / N``; range [0, 1]. Upper bound of the leave-one-out error. Free.

    V. Vapnik, The Nature of Statistical Learning Theory (1995).
    """
    return _share(solution.b != 0)


def jaakkola_haussler(solution: Solution) -> float:
    """``1/N sum Psi(a_p K_pp - y_p f_p)``; range [0, 1]. Free.

    A bound for machines without bias; with one, f includes it and it is an estimate.
    T. Jaakkola and D. Haussler, AISTATS 1999.
    """
    return _share(solution.alpha * solution.diagonal - solution.margins >= 0)


def gacv(solution: Solution) -> float:
    """``1/N [sum xi + 2 sum_{m < -1} a K_pp + sum_{-1 <= m <= 1} a K_pp]``; >= 0. Free.

    Generalised approximate cross-validation of the hinge loss, m the margins. G. Wahba,
    Y. Lin and H. Zhang (2000).
    """
    cost = solution.alpha * solution.diagonal
    # a is 0 where m > 1; and free rows have m = 1 only up to rounding
    weight = np.where(solution.margins < -1, 2.0, 1.0)
    return float((solution.slack + weight * cost).mean())


def opper_winther(solution: Solution) -> float:
    """``1/N sum Psi(a_p / (K_SV^-1)_pp - y_p f_p)``; range [0, 1]. |F|^3 / 3.

    The span without bias; bounded support vectors as `spans` takes them. M. Opper and
    O. Winther (2000).
    """
    free, bounded = spans(solution, bias=False)
    alpha, margins = solution.alpha, solution.margins
    F, B = solution.free, solution.bounded
    if solution.squared:
        margins[F] = 1.0
    events = margins <= 0
    events[F] = alpha[F] * free - margins[F] >= 0
    events[B] = alpha[B] * bounded - margins[B] >= 0
    return _share(events)


def xi_alpha(solution: Solution, rho: float = 2.0) -> float:
    """``#{rho a_p R_D^2 + xi_p >= 1} / N``; range [0, 1]. Free for normalised kernels.

    ``R_D^2`` bounds ``K(x, x) - K(x, z)``: here the largest K_ii minus the least K_ij,
    or 0 if that is positive. rho = 2 makes it a bound (with bias), rho = 1 is
    used in T. Joachims, ICML 2000, whose estimate this is.
    """
    largest = float(solution.diagonal.max())
    n = len(solution)
    smallest = 0.0
    for start in range(0, n, 512):
        part = np.arange(start, min(n, start + 512))
        smallest = min(smallest, float(solution.block(part, np.arange(n)).min()))
    radius = largest - smallest
    return _share(rho * solution.alpha * radius + solution.slack >= 1)


def vc_bound(solution: Solution) -> float:
    """Training error plus VC confidence; >= 0, often above 1. One ball problem.

    ``h = R^2 |w|^2 + 1`` in ``sqrt((h (ln(2N/h) + 1) - ln(eta/4)) / N)``, eta = 0.05;
    for h >= 2N the bound says nothing and infinity is returned. V. Vapnik (1995).
    """
    n = len(solution)
    h = ball(solution)[0] * solution.weight_norm + 1.0
    if h >= 2 * n:
        return np.inf
    confidence = (h * (np.log(2 * n / h) + 1) - np.log(VC_ETA / 4)) / n
    return _share(solution.margins <= 0) + float(np.sqrt(confidence))


def radius_margin(solution: Solution) -> float:
    """Squared hinge: ``R^2 |w|^2 / N`` on ``K + diag(1/C_i)``; >= 0. One ball problem.

    Hinge: the modified form, ``(R^2 + 1/C)(|w|^2 + 2 sum C_i xi_i) / N``, since the
    plain one fails there; C is the mean of C_i. K.-M. Chung et al., Neural Computation
    15 (2003); K. Duan, S. Keerthi and A. Poo, Neurocomputing 51 (2003).
    """
    n = len(solution)
    if solution.squared:
        return ball(solution)[0] * solution.weight_norm / n
    penalty = 2.0 * float(solution.C @ solution.slack)
    radius = ball(solution)[0] + 1.0 / float(solution.C.mean())
    return radius * (solution.weight_norm + penalty) / n


def span(solution: Solution) -> float:
    """``1/N #{y_p f_p - a_p S_p^2 <= 0}``; range [0, 1]. |F|^3 / 3 + |F|^2 |B|.

    V. Vapnik and O. Chapelle, Neural Computation 12 (2000). Usually within a few rows
    of the true leave-one-out error.
    """
    return _share(span_margins(solution) <= 0)


def span_smooth(solution: Solution) -> float:
    """The span with eta = 0.1 in place of 0, same range and cost.

    Continuous in the parameters where `span` jumps. Chapelle et al. (2002).
    """
    return _share(span_margins(solution, SPAN_ETA) <= 0)


def loo(solution: Solution) -> float:
    """The leave-one-out error itself; range [0, 1]. A refit for each support vector."""
    return _share(refit_margins(solution) <= 0)


ESTIMATES: dict[str, Callable[[Solution], float]] = {
    "sv_count": sv_count,
    "jaakkola_haussler": jaakkola_haussler,
    "gacv": gacv,
    "opper_winther": opper_winther,
    "xi_alpha": xi_alpha,
    "vc_bound": vc_bound,
    "radius_margin": radius_margin,
    "span": span,
    "span_smooth": span_smooth,
    "loo": loo,
}
