"""Spans, leave-one-out margins and error bounds: geometry, refits, closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn import svm

from widemargin.gram import prepare
from widemargin.kernel_function import Kernel
from widemargin.solvers import loo
from widemargin.solvers.loo import Solution, spans
from widemargin.solvers.smo import solve_smo

LOSSES = [False, True]  # squared
TIGHT = 1e-9


def _rows(K):
    return prepare(np.ascontiguousarray(K, dtype=float), Kernel("precomputed"))


def _fit(K, y, C, squared=False, tol=TIGHT):
    """A pair's fit on a whole Gram matrix."""
    n = len(y)
    C = np.broadcast_to(np.asarray(C, float), n).copy()
    bound = np.full(n, np.inf) if squared else C
    shift = 1 / C if squared else np.zeros(n)
    result = solve_smo(
        np.ascontiguousarray(K), y, np.where(y > 0, 0.0, -bound),
        np.where(y > 0, bound, 0.0), tol=tol, shift=shift,
    )  # fmt: skip
    return Solution(
        _rows(K), y, result.x, K @ result.x, result.intercept, C, squared, tol
    )


def _made(K, y, a, C, bias=0.0, squared=False):
    """A solution by decree: the formulas do not ask where it came from."""
    n, b = len(y), y * np.asarray(a, float)
    return Solution(_rows(K), y, b, K @ b, bias, np.full(n, float(C)), squared)


def _data(seed, n=40, d=3, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:4] = 1.0, -1.0, 1.0, -1.0
    return X, y


def _gauss(X, gamma=0.5):
    return np.exp(-gamma * cdist(X, X, "sqeuclidean"))


def _random_solution(seed, squared, n=40):
    """One that has free and bounded support vectors, and weights."""
    X, y = _data(seed, n)
    weights = np.random.default_rng((seed, 1)).uniform(0.5, 2.0, n)
    return _fit(_gauss(X), y, weights, squared)


def _distance(points, target, affine=True):
    """Squared distance of a point from the affine or linear hull of others."""
    if affine:
        points, target = points[1:] - points[0], target - points[0]
    if len(points):
        # twice, since the columns may be nearly dependent
        for _ in range(2):
            target = target - points.T @ np.linalg.lstsq(points.T, target, 1e-9)[0]
    return target @ target


def _brute_spans(phi, solution, affine=True):
    F, B = solution.free, solution.bounded
    free = [_distance(phi[F[F != p]], phi[p], affine) for p in F]
    return np.array(free), np.array([_distance(phi[F], phi[p], affine) for p in B])


def _bordered(solution, K, eta=0.0, bias=True):
    """Spans from one dense inverse, as published."""
    F, B = solution.free, solution.bounded
    D = np.diag(solution.shift[F] + eta / np.abs(solution.b[F]))
    M = K[np.ix_(F, F)] + D
    v = K[np.ix_(F, B)]
    if bias:
        one = np.ones((len(F), 1))
        M = np.block([[M, one], [one.T, np.zeros((1, 1))]])
        v = np.vstack((v, np.ones(len(B))))
    inverse = np.linalg.inv(M)
    free = 1 / np.diag(inverse)[: len(F)] - eta / np.abs(solution.b[F])
    return free, np.diag(K)[B] - np.einsum("ij,ij->j", v, inverse @ v)


def _features(kind, X):
    if kind == "linear":
        return X
    cross = np.einsum("ni,nj->nij", X, X).reshape(len(X), -1)  # of (x'z + 1)^2
    return np.hstack((np.ones((len(X), 1)), np.sqrt(2) * X, cross))


# --- spans ---------------------------------------------------------------------------


@pytest.mark.parametrize("affine", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("squared", LOSSES)
@pytest.mark.parametrize("kind", ["linear", "poly"])
def test_spans_are_distances_in_feature_space(
    kind, squared, affine, global_random_seed
):
    X, y = _data(global_random_seed, d=2)
    phi = _features(kind, X)
    solution = _fit(phi @ phi.T, y, 2.0, squared)
    if not affine:  # dependent vectors have no distance: at most as many as dimensions
        size = np.abs(solution.b)
        keep = np.argsort(-size)[: X.shape[1] if kind == "linear" else 4]
        a = np.zeros(len(y))
        a[keep] = 0.5 * size.max() * np.arange(1, len(keep) + 1) / len(keep)
        a[np.setdiff1d(np.arange(6), keep)] = 2.0
        solution = _made(phi @ phi.T, y, a, 2.0, squared=squared)
    if squared:
        phi = np.hstack((phi, np.diag(np.sqrt(solution.shift))))
    free, bounded = spans(solution, bias=affine)
    expected = _brute_spans(phi, solution, affine)
    assert len(free) > 1 and (squared or len(bounded) > 1)
    scale = solution.diagonal.max()
    assert_allclose(free, expected[0], rtol=1e-4, atol=1e-6 * scale)
    assert_allclose(bounded, expected[1], rtol=1e-4, atol=1e-6 * scale)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("eta", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("squared", LOSSES)
def test_spans_against_the_dense_inverse(squared, eta, bias, global_random_seed):
    X, _ = _data(global_random_seed)
    solution = _random_solution(global_random_seed, squared)
    free, bounded = spans(solution, eta, bias)
    assert len(free) > 1 and (squared or len(bounded) > 1)
    expected = _bordered(solution, _gauss(X), eta, bias)
    assert_allclose(free, expected[0], rtol=1e-4, atol=1e-7)
    assert_allclose(bounded, expected[1], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("squared", LOSSES)
def test_spans_solve_their_quadratic_program(squared, global_random_seed):
    # max over the weights of the others, written as least squares with one constraint
    X, y = _data(global_random_seed, n=25)
    solution = _fit(_gauss(X, 2.0), y, 1.0, squared)
    K = _gauss(X, 2.0) + np.diag(solution.shift)
    p, others = solution.free[0], solution.free[1:]

    def distance(weights):
        w = np.r_[1.0, -weights]
        here = np.r_[p, others]
        return w @ K[np.ix_(here, here)] @ w, 2 * (
            K[np.ix_(others, others)] @ weights - K[others, p]
        )

    found = minimize(
        distance, np.full(len(others), 1 / len(others)), jac=True, method="SLSQP",
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1,
                     "jac": lambda w: np.ones(len(w))},
        options={"ftol": 1e-13, "maxiter": 1000},
    )  # fmt: skip
    assert found.success
    assert_allclose(spans(solution)[0][0], found.fun, rtol=1e-5)


@pytest.mark.parametrize("squared", LOSSES)
def test_smoothing_only_ever_enlarges_the_distance(squared, global_random_seed):
    solution = _random_solution(global_random_seed, squared)
    last = spans(solution)
    for eta in (1e-3, 0.1, 10.0):
        here = spans(solution, eta)
        for before, after in zip(last, here, strict=True):
            assert np.all(after >= before - 1e-7)
        last = here
    tiny = spans(solution, 1e-12)
    assert_allclose(tiny[0], spans(solution)[0], rtol=1e-4, atol=1e-7)


def test_spans_lie_between_zero_and_the_distance_from_the_nearest(global_random_seed):
    solution = _random_solution(global_random_seed, False)
    F, B = solution.free, solution.bounded
    free, bounded = spans(solution)
    apart = 2.0 - 2.0 * _gauss(_data(global_random_seed)[0])  # |phi_i - phi_j|^2
    np.fill_diagonal(apart, np.inf)
    assert np.all((free >= 0) & (free <= apart[np.ix_(F, F)].min(axis=1) + 1e-7))
    assert np.all((bounded >= 0) & (bounded <= apart[np.ix_(B, F)].min(axis=1) + 1e-7))


def test_no_free_support_vector():
    # few and far: every row stays at its bound
    X, y = np.arange(6.0)[:, None] * 3, np.array([1.0, -1.0] * 3)
    K = _gauss(X)
    solution = _fit(K, y, 0.1)
    assert len(solution.free) == 0
    assert_array_equal(solution.bounded, np.arange(6))
    for eta in (0.0, 0.1):
        for bias in (True, False):
            free, bounded = spans(solution, eta, bias)
            assert free.shape == (0,)
            assert_array_equal(bounded, np.diag(K))
    assert_allclose(loo.span_margins(solution), solution.margins - 0.1, rtol=1e-12)


def test_one_free_support_vector():
    K = 1.5 * _gauss(np.random.default_rng(0).normal(size=(5, 2)))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    solution = _made(K, y, [0.5, 1.0, 1.0, 0.0, 0.0], 1.0)
    assert_array_equal(solution.free, [0])
    free, bounded = spans(solution)
    assert_allclose(free, [1.5])  # its own constraint set is empty
    # the affine hull of one point is the point
    expected = [K[p, p] + K[0, 0] - 2 * K[0, p] for p in (1, 2)]
    assert_allclose(bounded, expected, rtol=1e-8)
    free, bounded = spans(solution, bias=False)  # and the linear hull a line
    assert_allclose(free, [1.5], rtol=1e-8)
    assert_allclose(bounded, [1.5 - K[0, p] ** 2 / 1.5 for p in (1, 2)], rtol=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_coinciding_free_support_vectors(bias, global_random_seed):
    # every row twice: its twin is in the hull of the others, and K_FF is singular
    X, y = _data(global_random_seed, n=15)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    a = np.full(30, 0.5)
    a[-4:] = 1.0
    solution = _made(_gauss(X), y, a, 1.0)
    free, bounded = spans(solution, bias=bias)
    assert_allclose(free, 0.0, atol=1e-6)
    alone = _made(_gauss(X[::2]), y[::2], a[::2], 1.0)
    assert_allclose(bounded[::2], spans(alone, bias=bias)[1], rtol=1e-4, atol=1e-6)
    assert_allclose(bounded[1::2], bounded[::2], rtol=1e-6, atol=1e-9)
    assert np.all(np.isfinite(loo.span_margins(solution)))
    assert np.all(np.isfinite(loo.span_margins(solution, 0.1)))


def test_a_kernel_that_is_not_positive_semidefinite_stays_finite(global_random_seed):
    X, y = _data(global_random_seed)
    solution = _made(np.tanh(X @ X.T - 1.0), y, np.full(len(y), 0.5), 1.0)
    for part in (*spans(solution), *spans(solution, 0.1), *spans(solution, bias=False)):
        assert np.all(np.isfinite(part) & (part >= 0))


@pytest.mark.parametrize("offset", [10.0, 300.0])
def test_spans_do_not_depend_on_the_origin(offset, global_random_seed):
    # of a linear kernel: K_FF has fewer dimensions than rows, the bordered one has not
    X, y = _data(global_random_seed)
    here = _fit(X @ X.T, y, 1.0)
    away = X + offset
    there = Solution(
        _rows(away @ away.T), y, here.b, away @ away.T @ here.b, 0.0, here.C, False
    )
    for one, other in zip(spans(here), spans(there), strict=True):
        assert_allclose(one, other, rtol=0.01, atol=1e-3)


# --- margins -------------------------------------------------------------------------


def _refit_alone(K, y, C, p, squared):
    """(decision of row p, dual variables) without p, by scikit-learn."""
    n = len(y)
    keep = np.delete(np.arange(n), p)
    C = np.broadcast_to(np.asarray(C, float), n)
    train, weights = K[np.ix_(keep, keep)], C[keep]
    if squared:
        train, weights = train + np.diag(1 / C[keep]), np.full(n - 1, 1e7)
    model = svm.SVC(kernel="precomputed", C=1.0, tol=1e-8)
    model.fit(train, y[keep], weights)
    a = np.zeros(n)
    a[keep[model.support_]] = np.abs(model.dual_coef_[0])
    return model.decision_function(K[p, keep][None])[0], a


def _kinds(a, C, squared, noise=1e-6):
    """0 zero, 1 free, 2 bounded."""
    bounded = np.zeros(len(a), bool) if squared else a >= C * (1 - noise)
    return np.where(a <= noise * C, 0, np.where(bounded, 2, 1))


@pytest.mark.parametrize("squared", LOSSES)
def test_refits_are_those_of_scikit_learn(squared, global_random_seed):
    X, y = _data(global_random_seed)
    solution = _random_solution(global_random_seed, squared)
    found = loo.refit_margins(solution)
    for p in range(len(y)):
        decision, a = _refit_alone(_gauss(X), y, solution.C, p, squared)
        kinds = _kinds(np.delete(a, p), np.delete(solution.C, p), squared)
        if np.any(kinds == 1):  # else the bias is anywhere within an interval
            assert_allclose(found[p], y[p] * decision, rtol=0, atol=2e-5)


@pytest.mark.parametrize("squared", LOSSES)
def test_exact_where_the_sets_do_not_change(squared, global_random_seed):
    exact = 0
    for seed in range(9):
        C = (0.3, 1.0, 30.0)[seed % 3]
        X, y = _data((global_random_seed, seed), n=30, d=6)
        K = _gauss(X, 0.3)
        solution = _fit(K, y, C, squared, tol=1e-11)
        predicted = loo.span_margins(solution)
        whole = _kinds(solution.alpha, C, squared)
        for p in range(len(y)):
            decision, a = _refit_alone(K, y, C, p, squared)
            same = _kinds(a, C, squared) == whole
            if np.delete(same, p).all() and np.any(np.delete(whole, p) == 1):
                exact += 1
                assert_allclose(predicted[p], y[p] * decision, rtol=0, atol=1e-4)
    assert exact >= 5


@pytest.mark.parametrize("squared", LOSSES)
def test_exact_everywhere_on_a_problem_whose_sets_cannot_change(
    squared, global_random_seed
):
    # nearly orthogonal rows: each is a free support vector, whichever is left out
    rng = np.random.default_rng(global_random_seed)
    phi = np.hstack((3.0 * np.eye(20), 0.3 * rng.normal(size=(20, 4))))
    K, y = phi @ phi.T, np.where(np.arange(20) % 2, 1.0, -1.0)
    solution = _fit(K, y, 50.0, squared, tol=1e-11)
    assert_array_equal(solution.free, np.arange(20))
    predicted = loo.span_margins(solution)
    assert_allclose(predicted, loo.refit_margins(solution), rtol=0, atol=1e-7)
    for p in (0, 7):
        decision, _ = _refit_alone(K, y, 50.0, p, squared)
        assert_allclose(predicted[p], y[p] * decision, rtol=0, atol=1e-5)


@pytest.mark.parametrize("squared", LOSSES)
def test_rows_that_are_no_support_vectors_keep_their_margin(
    squared, global_random_seed
):
    X, y = _data(global_random_seed, noise=0.1)
    solution = _fit(_gauss(X), y, 10.0, squared)
    others = np.flatnonzero(solution.b == 0)
    assert len(others)
    for margins in (loo.span_margins(solution), loo.refit_margins(solution)):
        assert_array_equal(margins[others], solution.margins[others])
        rest = np.flatnonzero(solution.b)
        assert np.all(margins[rest] <= solution.margins[rest] + 1e-6)


def test_the_only_row_of_its_class_is_missed():
    X = np.array([[0.0], [1.0], [1.5], [2.0]])
    solution = _fit(_gauss(X), np.array([1.0, -1.0, -1.0, -1.0]), 10.0)
    margins = loo.refit_margins(solution)
    assert margins[0] == -1.0
    assert np.all(np.isfinite(margins))


def test_the_only_support_of_its_class_is_replaced(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = np.r_[[[0.0, 0.0]], rng.uniform(1.0, 2.0, (6, 2)), [[-1.0, -1.0], [-2.0, -1.0]]]
    y = np.r_[1.0, np.ones(6), -1.0, -1.0]
    K = X @ X.T
    solution = _fit(K, y, 100.0)
    assert_array_equal(np.flatnonzero((solution.b != 0) & (y > 0)), [0])
    decision, _ = _refit_alone(K, y, 100.0, 0, False)
    assert_allclose(loo.refit_margins(solution)[0], decision, rtol=0, atol=1e-4)


# --- estimates -----------------------------------------------------------------------


@pytest.mark.parametrize("squared", LOSSES)
def test_estimates_against_their_closed_forms(squared, global_random_seed):
    X, y = _data(global_random_seed)
    K, n = _gauss(X), len(y)
    s = _random_solution(global_random_seed, squared)
    a, C = y * s.b, s.C
    f = y * (K @ s.b + s.bias)
    shift = 1 / C if squared else np.zeros(n)
    diagonal = 1.0 + shift
    xi = np.clip(1 - f, 0, None)

    def share(count):
        return pytest.approx(count / n)

    assert loo.sv_count(s) == share(sum(v != 0 for v in a))
    assert loo.jaakkola_haussler(s) == share(
        sum(a[p] * diagonal[p] - f[p] >= 0 for p in range(n))
    )
    expected = sum(xi)
    for p in range(n):
        if f[p] < -1:
            expected += 2 * a[p] * diagonal[p]
        else:  # free ones lie on the margin, to rounding; the others have a = 0
            expected += a[p] * diagonal[p]
    assert loo.gacv(s) == pytest.approx(expected / n, rel=1e-9)
    for rho in (1.0, 2.0):  # a Gaussian kernel is nowhere negative
        count = sum(rho * a[p] * diagonal.max() + xi[p] >= 1 for p in range(n))
        assert loo.xi_alpha(s, rho) == share(count)

    on_margin = np.ones(n) if squared else f
    for estimate, bias, eta in [
        (loo.span, True, 0.0),
        (loo.span_smooth, True, 0.1),
        (loo.opper_winther, False, 0.0),
    ]:
        free, bounded = _bordered(s, K, eta, bias)
        errors = 0
        for parts, sizes in ((s.free, free), (s.bounded, bounded)):
            for p, size in zip(parts, sizes, strict=True):
                errors += on_margin[p] - a[p] * size <= 0
        errors += sum(f[p] <= 0 for p in range(n) if a[p] == 0)
        assert estimate(s) == share(errors), estimate.__name__
    errors = 0
    for p in range(n):
        decision, _ = _refit_alone(K, y, C, p, squared)
        errors += y[p] * decision <= 0
    assert loo.loo(s) == share(errors)


def test_opper_winther_of_all_free_rows_is_the_inverse_of_the_whole_matrix(
    global_random_seed,
):
    X, y = _data(global_random_seed, n=20)
    K = _gauss(X, 1.0) + 0.1 * np.eye(20)
    a = np.random.default_rng(global_random_seed).uniform(0.1, 3.0, 20)
    s = _made(K, y, a, 10.0)
    expected = np.mean(a / np.diag(np.linalg.inv(K)) - s.margins >= 0)
    assert loo.opper_winther(s) == pytest.approx(expected)


@pytest.mark.parametrize("squared", LOSSES)
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_ranges(C, squared, global_random_seed):
    X, y = _data(global_random_seed)
    s = _fit(_gauss(X), y, C, squared)
    for name, estimate in loo.ESTIMATES.items():
        value = estimate(s)
        assert isinstance(value, float) and value >= 0, name
        if name not in ("gacv", "vc_bound", "radius_margin"):
            assert value <= 1, name
            assert value * len(y) == pytest.approx(round(value * len(y)))
        assert estimate(s) == value, name


@pytest.mark.parametrize("squared", LOSSES)
def test_bounds_hold(squared, global_random_seed):
    rng = np.random.default_rng((global_random_seed, 7))
    for _ in range(6):
        X, y = _data(rng.integers(2**31), n=25, d=2, noise=rng.uniform(0.0, 2.0))
        K, C = _gauss(X, rng.choice([0.3, 3.0])), float(rng.choice([0.1, 1.0, 30.0]))
        s = _fit(K, y, C, squared)
        errors = 0
        for p in range(len(y)):
            decision, a = _refit_alone(K, y, C, p, squared)
            free = np.any(_kinds(a, C, squared) == 1)
            errors += bool(free and y[p] * decision < 0)
        true = errors / len(y)
        assert loo.sv_count(s) >= true
        if len(s.free):  # the theorem asks for a free one
            assert loo.xi_alpha(s) >= true
        assert loo.xi_alpha(s, 1.0) <= loo.xi_alpha(s)


def _without_bias(K, C):
    """``max sum a - 1/2 a'Ka, 0 <= a <= C``, one coordinate at a time."""
    a = np.zeros(len(K))
    for _ in range(5000):
        last = a.copy()
        for i in range(len(K)):
            a[i] = min(C, max(0.0, a[i] + (1 - K[i] @ a) / K[i, i]))
        if np.abs(a - last).max() < 1e-11:
            break
    return a


def test_bounds_of_machines_without_bias(global_random_seed):
    # the ones for which Jaakkola-Haussler is a theorem, row by row
    exact = 0
    for seed in range(3):
        X, y = _data((global_random_seed, seed), n=20)
        K = _gauss(X, 1.0)
        Q = K * np.outer(y, y)
        a = _without_bias(Q, 1.0)
        s = _made(K, y, a, 1.0)
        free, bounded = spans(s, bias=False)
        predicted = s.margins
        predicted[s.free] -= a[s.free] * free
        predicted[s.bounded] -= a[s.bounded] * bounded
        margins = np.empty(20)
        for p in range(20):
            keep = np.delete(np.arange(20), p)
            rest = _without_bias(Q[np.ix_(keep, keep)], 1.0)
            margins[p] = Q[p, keep] @ rest
            same = _kinds(rest, 1.0, False) == _kinds(a, 1.0, False)[keep]
            if same.all():
                exact += 1
                assert_allclose(predicted[p], margins[p], rtol=0, atol=1e-5)
        # y f - a K <= the margin left out
        assert np.all(s.margins - a * s.diagonal <= margins + 1e-7)
        assert loo.jaakkola_haussler(s) >= np.mean(margins < -1e-7)
    assert exact


def test_gacv_counts_rows_far_on_the_wrong_side_twice():
    K = np.eye(4)
    y = np.array([1.0, -1.0, 1.0, -1.0])
    s = _made(K, y, [1.0, 0.0, 0.5, 0.0], 1.0, bias=-2.5)
    assert_allclose(s.margins, [-1.5, 2.5, -2.0, 2.5])
    assert loo.gacv(s) == pytest.approx((2.5 + 3.0 + 2 * 1.0 + 2 * 0.5) / 4)


def test_xi_alpha_widens_for_kernels_that_go_below_zero(global_random_seed):
    X, y = _data(global_random_seed)
    K = X @ X.T
    s = _fit(K, y, 0.1)
    radius = np.diag(K).max() - K.min()
    expected = np.mean(2 * s.alpha * radius + s.slack >= 1)
    assert loo.xi_alpha(s) == pytest.approx(expected)


@pytest.mark.parametrize("squared", LOSSES)
@pytest.mark.parametrize("kind", ["gauss", "linear"])
def test_ball_against_an_interior_point_code(
    kind, squared, reference_solution, global_random_seed
):
    X, y = _data(global_random_seed)
    K = _gauss(X) if kind == "gauss" else X @ X.T
    n = len(y)
    s = _made(K, y, np.ones(n), 2.0, squared=squared)
    H = K + np.diag(s.shift)
    problem = SimpleNamespace(
        target=0.5 * np.diag(H), lower=np.zeros(n), upper=np.full(n, np.inf),
        total=1.0, hessian=lambda: H,
    )  # fmt: skip
    c = reference_solution(problem)
    expected = c @ np.diag(H) - c @ H @ c
    size = np.diag(H).mean()
    radius, found = loo.ball(s, 1e-8)
    assert_allclose(radius, expected, rtol=1e-6)
    assert found.sum() == pytest.approx(1.0) and np.all(found >= 0)
    # by default to 1e-4 of the mean of K_ii, and never above the least
    assert expected - 2.1e-4 * size <= loo.ball(s)[0] <= expected * (1 + 1e-8)
    # all rows lie in it, by as much as the gap
    inside = np.diag(H) - 2 * H @ found + found @ H @ found
    assert np.all(inside <= radius + 1e-6 * size)


def test_ball_of_shapes_known():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) + 5.0
    square = _made(corners @ corners.T, y, np.ones(4), 1.0)
    assert loo.ball(square, 1e-8)[0] == pytest.approx(2.0, rel=1e-6)
    orthonormal = _made(np.eye(4), y, np.ones(4), 1.0)
    assert loo.ball(orthonormal, 1e-8)[0] == pytest.approx(1 - 1 / 4, rel=1e-6)
    point = _made(np.ones((4, 4)), y, np.ones(4), 1.0)
    assert loo.ball(point)[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("squared", LOSSES)
def test_radius_margin_and_vc_bound_against_their_closed_forms(
    squared, global_random_seed
):
    X, y = _data(global_random_seed, n=60, noise=0.3)
    K, n = 0.25 * _gauss(X, 0.1), len(y)  # little capacity: the bound exists
    s = _fit(K, y, np.linspace(0.5, 1.0, n), squared)
    H = K + np.diag(s.shift)
    radius = -minimize(
        lambda c: (c @ H @ c - c @ np.diag(H), 2 * H @ c - np.diag(H)),
        np.full(n, 1 / n), jac=True, method="SLSQP", bounds=[(0, None)] * n,
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1,
                     "jac": lambda c: np.ones(n)},
        options={"ftol": 1e-12, "maxiter": 500},
    ).fun  # fmt: skip
    norm = s.b @ H @ s.b
    assert s.weight_norm == pytest.approx(norm, rel=1e-9)
    f = y * (K @ s.b + s.bias)
    if squared:
        assert norm == pytest.approx(s.alpha.sum(), rel=1e-6)
        expected = radius * norm / n
    else:
        penalty = 2 * s.C @ np.clip(1 - f, 0, None)
        expected = (radius + 1 / s.C.mean()) * (norm + penalty) / n
    assert loo.radius_margin(s) == pytest.approx(expected, rel=1e-3)

    h = radius * norm + 1
    assert h < 2 * n
    confidence = np.sqrt((h * (np.log(2 * n / h) + 1) - np.log(0.05 / 4)) / n)
    assert loo.vc_bound(s) == pytest.approx(np.mean(f <= 0) + confidence, rel=1e-3)


def test_vc_bound_says_nothing_where_capacity_exceeds_the_rows(global_random_seed):
    X, y = _data(global_random_seed)
    s = _made(_gauss(X, 10.0), y, np.full(len(y), 50.0), 100.0)
    assert loo.vc_bound(s) == np.inf


@pytest.mark.parametrize("squared", LOSSES)
def test_radius_margin_bounds_the_error_of_a_hard_margin(squared, global_random_seed):
    # R^2 |w|^2 / N >= leave-one-out errors / N, without slack (Vapnik)
    X, y = _data(global_random_seed, noise=0.0)
    s = _fit(_gauss(X, 1.0), y, 1e4, squared, tol=1e-6)
    assert loo.radius_margin(s) >= loo.loo(s)


@pytest.mark.parametrize("squared", LOSSES)
@pytest.mark.parametrize("name", list(loo.ESTIMATES))
def test_the_order_of_rows_does_not_count(name, squared, global_random_seed):
    X, y = _data(global_random_seed)
    order = np.random.default_rng(global_random_seed).permutation(len(y))
    K = _gauss(X)
    here = _fit(K, y, 1.0, squared)
    there = _fit(K[np.ix_(order, order)], y[order], 1.0, squared)
    value = loo.ESTIMATES[name](here)
    assert loo.ESTIMATES[name](there) == pytest.approx(value, rel=1e-3)
