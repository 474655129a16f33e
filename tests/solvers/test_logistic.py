"""The logistic of one score, and probabilities of pairs put together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from widemargin.solvers.logistic import couple_pairs, fit_logistic, logistic


def _scores(seed, n=200, slope=1.5, offset=-0.4):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) + 0.3
    positive = rng.random(n) < expit(slope * scores + offset)
    positive[:2] = True, False
    return scores, positive, rng.uniform(0.2, 2.0, n)


def _platt_loss(parameters, scores, positive, weights):
    """Platt's smoothed targets (1999), by the formulas of the paper."""
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    target = np.where(
        positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
    )
    z = parameters[0] * scores + parameters[1]
    return weights @ (np.logaddexp(0, z) - target * z)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_against_a_general_minimiser(scale, shift, global_random_seed):
    scores, positive, weights = _scores(global_random_seed)
    slope, offset = fit_logistic(scale * (scores + shift), positive, weights)
    found = minimize(
        _platt_loss, (1.0, 0.0), (scores, positive, weights), tol=1e-12, method="BFGS",
        options={"gtol": 1e-9},
    )  # fmt: skip
    # BFGS with differences knows the point to 1e-5
    assert slope * scale == pytest.approx(found.x[0], rel=1e-4)
    assert offset + slope * scale * shift == pytest.approx(found.x[1], rel=1e-4)
    at = _platt_loss(
        (slope * scale, offset + slope * scale * shift), scores, positive, weights
    )
    assert at <= found.fun * (1 + 1e-9)


def test_against_logistic_regression(global_random_seed):
    # Platt's targets are what both labels of each row, weighted by them, give
    scores, positive, weights = _scores(global_random_seed)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    target = np.where(
        positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
    )
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], len(scores)),
        np.concatenate((weights * target, weights * (1 - target))),
    )
    slope, offset = fit_logistic(scores, positive, weights)
    assert slope == pytest.approx(reference.coef_[0, 0], rel=1e-5)
    assert offset == pytest.approx(reference.intercept_[0], rel=1e-5, abs=1e-6)


def test_a_weight_counts_as_copies(global_random_seed):
    scores, positive, _ = _scores(global_random_seed, 60)
    copies = np.random.default_rng(global_random_seed).integers(0, 4, 60)
    copies[:2] = 1
    weighted = fit_logistic(scores, positive, copies.astype(float))
    repeated = fit_logistic(
        np.repeat(scores, copies), np.repeat(positive, copies), np.ones(copies.sum())
    )
    assert_allclose(weighted, repeated, rtol=1e-8)


def test_the_slope_is_never_negative(global_random_seed):
    scores, positive, weights = _scores(global_random_seed, slope=-2.0, offset=0.0)
    slope, offset = fit_logistic(scores, positive, weights)
    assert slope == 0.0
    # all that is left is the share of positives (smoothed)
    share = weights[positive].sum() / weights.sum()
    assert expit(offset) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("n_positive", [1, 5, 9])
def test_separable_scores_have_a_finite_slope(n_positive):
    scores = np.concatenate((np.linspace(1, 2, n_positive), np.linspace(-2, -1, 9)))
    positive = scores > 0
    slope, offset = fit_logistic(scores, positive, np.ones(len(scores)))
    assert 0 < slope < 100
    p = expit(slope * scores + offset)
    assert np.all(p[positive] > p[~positive].max())


def test_degenerate_scores():
    ones = np.ones(4)
    positive = np.array([True, False, False, False])
    for scores in (np.zeros(4), np.full(4, 7.0), np.full(4, 1e300)):
        slope, offset = fit_logistic(scores, positive, ones)
        assert slope == 0.0
        # (1 * 2/3 + 3 * 1/5) / 4 from Platt's targets
        assert expit(offset) == pytest.approx((2 / 3 + 3 / 5) / 4)
    assert fit_logistic(np.arange(4.0), positive, np.zeros(4)) == (0.0, 0.0)
    slope, offset = fit_logistic(np.arange(4.0), np.ones(4, bool), ones)
    assert np.isfinite([slope, offset]).all()
    outlier = np.array([0.0, 1.0, 2.0, 1e12])
    assert np.isfinite(fit_logistic(outlier, outlier > 1.5, ones)).all()


def test_logistic_does_not_overflow():
    with np.errstate(all="raise"):
        assert_array_equal(logistic(np.array([-1e4, 0.0, 1e4])), [0.0, 0.5, 1.0])


# --- pairs ---------------------------------------------------------------------------


def _wu_objective(p, r):
    """sum over i, j of (r_ji p_i - r_ij p_j)^2 (Wu, Lin and Weng, 2004)."""
    return ((r.T * p[:, None] - r * p[None, :]) ** 2).sum()


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_coupling_is_the_least_squares_point(n_classes, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    i, j = np.triu_indices(n_classes, 1)
    p = rng.uniform(0.02, 0.98, (5, len(i)))
    coupled = couple_pairs(p, n_classes)
    assert_allclose(coupled.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(coupled >= 0)
    for row, found in zip(p, coupled, strict=True):
        r = np.zeros((n_classes, n_classes))
        r[i, j], r[j, i] = row, 1 - row
        reference = minimize(
            _wu_objective, np.full(n_classes, 1 / n_classes), (r,), method="SLSQP",
            bounds=[(0, 1)] * n_classes, tol=1e-14,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        )  # fmt: skip
        assert _wu_objective(found, r) <= reference.fun * (1 + 1e-6) + 1e-12
        assert_allclose(found, reference.x, rtol=0, atol=1e-4)  # SLSQP's accuracy


def test_coupling_of_consistent_pairs_gives_them_back():
    truth = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
    i, j = np.triu_indices(3, 1)
    pairs = truth[:, i] / (truth[:, i] + truth[:, j])
    assert_allclose(couple_pairs(pairs, 3), truth, rtol=1e-10)


def test_coupling_of_certain_pairs():
    certain = np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    coupled = couple_pairs(certain, 3)
    assert np.all(np.isfinite(coupled))
    assert_allclose(coupled[0], [1, 0, 0], atol=1e-5)
    assert_allclose(coupled[1], [0, 1, 0], atol=1e-5)
    assert_allclose(coupled[2], [1 / 3] * 3, atol=1e-5)  # a cycle: nobody is ahead
    assert couple_pairs(np.empty((0, 3)), 3).shape == (0, 3)


def test_coupling_two_classes_is_the_probability_itself():
    assert_allclose(couple_pairs(np.array([[0.3]]), 2), [[0.3, 0.7]], rtol=1e-10)
