"""Inputs that once went wrong in SVC and its solvers, with what was wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist

from widemargin import SVC
from widemargin.gram import Distances, Kernel, prepare
from widemargin.result import Status
from widemargin.solvers.certificate import best_primal
from widemargin.solvers.smo import solve_smo


def _true_gap(model, X, y, K, C):
    """The KKT gap from the published coefficients and a float64 matrix."""
    b = np.zeros(len(y))
    b[model.support_] = model.dual_coef_[0]
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    v = signs - K @ b
    up, down = b < np.maximum(signs * C, 0), b > np.minimum(signs * C, 0)
    return v[up].max() - v[down].min()


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_laplacian_of_large_rows_in_float32(storage):
    # sums of |x| near 1e4 in float32: kkt_gap_ said 9.4e-4 where it was 9.4e-3
    rng = np.random.default_rng(0)
    X = 1000 * rng.normal(size=(400, 20))
    y = (X[:, 0] + 1000 * rng.normal(size=400) > 0).astype(int)
    X[200:] = X[:200] + 0.05 * rng.normal(size=(200, 20))
    model = SVC(10.0, kernel="laplacian", gamma=1.0).fit(storage(X), y)
    K = np.exp(-cdist(X, X, "cityblock"))
    assert _true_gap(model, X, y, K, 10.0) <= 1.3e-3


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("radius", "C"), [(200.0, 1000.0), (900.0, 10.0)])
def test_clusters_far_from_the_mean_in_float32(radius, C, storage):
    # float32 distances of 200 to 900: kkt_gap_ said 9.5e-4 where it was 1.7e-2
    rng = np.random.default_rng(0)
    far = rng.normal(size=(10, 5))
    far *= 0.8 * np.sqrt(radius) / np.linalg.norm(far, axis=1)[:, None]
    X = far[rng.integers(10, size=600)] + 0.5 * rng.normal(size=(600, 5))
    y = (rng.normal(size=600) + X[:, 0] / np.abs(X[:, 0]).max() > 0).astype(int)
    model = SVC(C, gamma=1.0).fit(storage(X), y)
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    assert _true_gap(model, X, y, K, C) <= 1.3e-3


@pytest.mark.parametrize("size", [1e8, 1e9, 1e100, 1e150])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rounding_made_a_negative_distance(size, storage):
    # exp2 of a positive exponent: decisions of 4e9, then 1.8e308, then inf
    X = storage(size * np.random.default_rng(0).normal(size=(60, 3)))
    y = np.tile([0, 1], 30)
    for kernel in ("rbf", "laplacian", "exponential"):
        decisions = SVC(kernel=kernel, gamma=1.0).fit(X, y).decision_function(X)
        assert np.all(np.abs(decisions) <= 2.0)


def test_distances_at_gamma_zero_are_ones():
    rows = Distances(np.random.default_rng(0).normal(size=(5, 2))).rows(0.0)
    assert_allclose(rows.block(rows), 1.0)


@pytest.mark.timeout(30)
def test_a_float32_matrix_of_nan_ends():
    # the kernel gave up after 0 steps and was called again, for ever
    y = np.tile([1.0, -1.0], 20)
    K = np.full((40, 40), np.nan, np.float32)
    result = solve_smo(K, y, np.minimum(y, 0), np.maximum(y, 0))
    assert result.status is Status.FAILED


def test_one_row_of_tiny_weight_with_the_squared_hinge():
    # its diagonal of 1e12 set the least curvature of all pairs: 10^7 tiny steps
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.tile([0, 1], 30)
    weights = np.ones(60)
    weights[7] = 1e-12
    model = SVC(loss="squared_hinge", max_iter=10_000).fit(X, y, weights)
    assert model.converged_


@pytest.mark.parametrize(("n", "rare"), [(8000, 2), (20_000, 3)])
def test_a_class_that_no_level_has(n, rare):
    # a subset without the class "converged" at 0 and nothing moved any more
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.zeros(n, int)
    y[rng.permutation(n)[:rare]] = 1
    X[y == 1] += 1.0
    model = SVC().fit(X, y)
    assert model.converged_ and model.dual_gap_ < 1e-2


def test_more_free_rows_than_the_working_set_holds():
    # always the same of them were chosen: stalled at a gap of 4
    rng = np.random.default_rng(0)
    y = np.where(rng.random(6000) < 0.5, 1, 0)
    X = rng.normal(size=(6000, 20)) + 0.29 * (2 * y[:, None] - 1)
    model = SVC(C=1000.0, cache_size=5).fit(X, y)
    assert model.converged_


def test_a_tolerance_below_the_noise_of_float32_beyond_memory():
    # one call of the inner solver used up all 10^7 steps
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5))
    y = (X[:, 0] + rng.normal(size=6000) > 0).astype(int)
    model = SVC(tol=1e-9).fit(X, y)
    assert model.converged_ and model.n_iter_[0] < 10**6


def test_the_hinge_certificate_at_a_breakpoint():
    # the slope of one side of the kink led the search for t the wrong way: 4.46
    rng = np.random.default_rng(42)
    y = np.where(rng.random(5) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores = y + rng.normal(size=5)
    C = rng.uniform(0.1, 3.0, 5)
    value, _, _ = best_primal(scores, y, C, 3.0, 0.3, 0.1, False, 4.39976)
    assert value == pytest.approx(4.39977, abs=1e-4)


def test_a_csr_matrix_is_not_a_numpy_matrix():
    # a PendingDeprecationWarning of np.matrix
    X = sparse.csr_matrix(np.random.default_rng(0).normal(size=(20, 3)))
    for kernel in ("laplacian", "rbf", "exponential", "linear"):
        SVC(kernel=kernel).fit(X, np.tile([0, 1], 10)).predict(X)


def test_a_constant_whose_mean_is_rounded():
    # a variance of 1.8e-30 gave gamma = 1.9e29
    model = SVC(kernel="poly").fit(np.full((20, 3), -3.7), np.arange(20) % 4 == 0)
    assert model.gamma_ == 1.0 and model.converged_


def test_rows_of_weight_zero_in_calibration():
    # labels written on them moved the folds
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.tile([0, 1], 40)
    weights = np.ones(80)
    weights[60:] = 0.0
    p = [
        SVC(calibration=4).fit(X, labels, weights).predict_proba(X)
        for labels in (y, np.r_[y[:60], np.zeros(20, int)])
    ]
    assert_allclose(p[0], p[1])


def test_no_rows_in_a_threaded_product():
    # range() arg 3 must not be zero, once the near set had grown to all rows
    rows = prepare(np.ones((3, 2)), Kernel("linear"))
    assert rows.take(slice(0, 0)).product(rows, np.ones(3)).shape == (0,)
