"""The radius/margin criterion: closed forms, and its gradient against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize

from widemargin import SVC, loo_estimates
from widemargin.estimators._svc_loo import solutions
from widemargin.solvers.radius_margin import ball, radius_margin_gradient


def _problem(rng, n=60, d=3):
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return X, y, rng.uniform(0.5, 2.0, n)


def _criterion(X, y, weights, logs, loss, ard):
    gamma = np.exp(logs[1:]) if ard else float(np.exp(logs[1]))
    model = SVC(C=np.exp(logs[0]), gamma=gamma, loss=loss, tol=1e-9)
    model.fit(X, y, weights)
    ((_, _, index, solution),) = solutions(model)
    return model, radius_margin_gradient(solution, X[index], gamma)


@pytest.mark.parametrize("ard", [False, True], ids=["one", "ard"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_gradient_is_that_of_differences(loss, ard, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y, weights = _problem(rng)
    logs = rng.uniform(-1.5, 0.5, 1 + (X.shape[1] if ard else 1))
    _, here = _criterion(X, y, weights, logs, loss, ard)
    gradient = np.r_[here.log_C, here.log_gamma]
    # the ball is solved to 1e-5, and the value's error is of second order in that
    h = 1e-3
    for k, slope in enumerate(gradient):
        step = np.zeros(len(logs))
        step[k] = h
        above, below = (
            _criterion(X, y, weights, logs + s * step, loss, ard)[1].value
            for s in (1, -1)
        )
        assert_allclose(slope, (above - below) / (2 * h), rtol=0, atol=2e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_value_is_the_published_estimate(loss, global_random_seed):
    X, y, weights = _problem(np.random.default_rng(global_random_seed))
    model, found = _criterion(X, y, weights, np.array([0.5, -1.0]), loss, False)
    published = loo_estimates(model, X, y, ["radius_margin"])["radius_margin"]
    # which solves the ball to 1e-4 of K_ii
    assert_allclose(found.value, published, rtol=1e-4)


def test_ball_of_two_points_has_half_their_distance():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    model = SVC(gamma=0.3).fit(X, [0, 1])
    ((_, _, _, solution),) = solutions(model)
    radius, c = ball(solution)
    assert_allclose(c, [0.5, 0.5], atol=1e-6)
    assert_allclose(radius, (2 - 2 * np.exp(-0.3 * 5)) / 4, rtol=1e-6)


def test_ball_against_a_general_minimiser(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y, _ = _problem(rng, n=15)
    model = SVC(gamma=0.5, loss="squared_hinge", C=2.0).fit(X, y)
    ((_, _, _, solution),) = solutions(model)
    radius, c = ball(solution)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + np.eye(15) / 2
    found = minimize(
        lambda c: c @ K @ c - np.diag(K) @ c, np.full(15, 1 / 15),
        jac=lambda c: 2 * K @ c - np.diag(K), bounds=[(0, None)] * 15,
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1}, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert_allclose(radius, -found.fun, rtol=1e-4)
    assert_allclose(c.sum(), 1.0, rtol=1e-9)


def test_sparse_rows_give_the_same(global_random_seed):
    X, y, _ = _problem(np.random.default_rng(global_random_seed))
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = SVC(gamma=0.4, tol=1e-9).fit(X, y)
    ((_, _, _, solution),) = solutions(model)
    dense = radius_margin_gradient(solution, X, 0.4)
    thin = radius_margin_gradient(solution, sparse.csr_array(X), 0.4)
    assert_allclose([*dense], [*thin], rtol=1e-10)
