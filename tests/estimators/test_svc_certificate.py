"""What SVC publishes about its own quality, computed anew by others' means.

Only public attributes and scikit-learn's kernel functions are used: the objective, the
KKT gap, and the duality gap with a primal minimised independently over t and b.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise
from sklearn.svm import LinearSVC

from widemargin import SVC

GAMMA = 0.4
KERNELS = {
    "rbf": lambda X, Z: pairwise.rbf_kernel(X, Z, GAMMA),
    "linear": pairwise.linear_kernel,
    "poly": lambda X, Z: pairwise.polynomial_kernel(X, Z, 2, GAMMA, 1.0),
    "laplacian": lambda X, Z: np.exp(-GAMMA * cdist(X, Z, "cityblock")),
    "exponential": lambda X, Z: np.exp(-GAMMA * cdist(X, Z)),
}


def _pair_problems(model, X, y, kernel, C):
    """(K, y as -1 and 1, C, b) of each pair, from the published attributes alone."""
    X = X.toarray() if sparse.issparse(X) else X
    codes = np.searchsorted(model.classes_, y)
    C = np.broadcast_to(C, len(y))
    n_classes = len(model.classes_)
    owner = codes[model.support_]
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            rows = np.flatnonzero((codes == i) | (codes == j))
            b = np.zeros(len(y))
            if n_classes == 2:
                b[model.support_] = model.dual_coef_[0]
                signs = np.where(codes == 1, 1.0, -1.0)
            else:  # LIBSVM's layout
                own, other = owner == i, owner == j
                b[model.support_[own]] = model.dual_coef_[j - 1, own]
                b[model.support_[other]] = model.dual_coef_[i, other]
                signs = np.where(codes == i, 1.0, -1.0)
            K = KERNELS[kernel](X[rows], X[rows])
            yield K, signs[rows], C[rows], b[rows]


def _loss(z, y, C, squared):
    """Least loss over the bias at decisions z, and nothing of ours in it."""
    if squared:
        reach = 3 + 2 * np.abs(z).max()

        def slope(bias):
            return (C * y * np.maximum(1 - y * (z + bias), 0)).sum()

        bias = brentq(slope, -reach, reach, xtol=1e-14)
        return 0.5 * (C * np.maximum(1 - y * (z + bias), 0) ** 2).sum()
    breaks = y - z
    best = np.inf
    for part in np.array_split(breaks, max(1, len(breaks) // 200)):
        xi = np.maximum(1 - y * (z + part[:, None]), 0)
        best = min(best, (xi @ C).min())
    return best


def _least_primal(f, square, y, C, squared):
    def value(t):
        return 0.5 * t * t * square + _loss(t * f, y, C, squared)

    found = minimize_scalar(
        value, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-10}
    )
    return found.fun


def _check(model, X, y, kernel, C, squared):
    objectives = np.atleast_1d(model.objective_)
    gaps, kkt_gaps = np.atleast_1d(model.dual_gap_), np.atleast_1d(model.kkt_gap_)
    pairs = list(_pair_problems(model, X, y, kernel, C))
    assert len(pairs) == len(objectives) == len(gaps)
    for k, (K, signs, penalty, b) in enumerate(pairs):
        shift = 1 / penalty if squared else 0 * penalty
        bound = np.full(len(b), np.inf) if squared else penalty
        a = signs * b
        assert np.all(a >= 0) and np.all(a <= bound)
        assert abs(b.sum()) <= 1e-9 * a.sum()
        square = b @ K @ b
        dual = 0.5 * square + 0.5 * (shift * b) @ b - a.sum()
        # float32 may blur v by a quarter of tol, independently from row to row
        blur = 0.3 * model.tol * np.linalg.norm(b)
        assert objectives[k] == pytest.approx(dual, rel=1e-6, abs=blur)

        v = signs - K @ b - shift * b
        up, down = (
            np.where(signs > 0, a < bound, a > 0),
            np.where(signs > 0, a > 0, a < bound),
        )
        kkt = max(0.0, v[up].max() - v[down].min())
        assert abs(kkt - kkt_gaps[k]) <= 0.3 * model.tol
        assert kkt_gaps[k] <= model.tol

        primal = _least_primal(K @ b, square, signs, penalty, squared)
        least = (primal + dual) / max(abs(primal), abs(dual))
        assert least >= -1e-9  # weak duality
        # published: the best point to a twentieth of the gap, and rounding
        rounding = 2e-6 + blur / abs(dual)
        assert least - rounding <= gaps[k] <= least / 0.95 + rounding


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificate(n_classes, C, loss, kernel, storage, blobs):
    X, y = blobs(n=150, d=3, n_classes=n_classes)
    model = SVC(C, kernel=kernel, gamma=GAMMA, degree=2, coef0=1.0, loss=loss)
    model.fit(storage(X), y)
    assert model.converged_
    _check(model, X, y, kernel, C, loss == "squared_hinge")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificate_with_weights(n_classes, loss, blobs):
    X, y = blobs(n=150, n_classes=n_classes)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
    weights[y == 1] *= 2
    model = SVC(2.0, gamma=GAMMA, loss=loss, class_weight={1: 3.0})
    model.fit(X, y, weights)
    C = 2.0 * weights * np.where(y == 1, 3.0, 1.0)
    _check(model, X, y, "rbf", C, loss == "squared_hinge")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_certificate_beyond_memory(loss, storage, blobs):
    X, y = blobs(n=1200, d=3)
    model = SVC(10.0, gamma=GAMMA, loss=loss, cache_size=4).fit(storage(X), y)
    assert model.solver_ == "active_set"
    assert model.converged_
    _check(model, X, y, "rbf", 10.0, loss == "squared_hinge")


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [3.0, 30.0])
def test_certificate_far_apart(size, storage, kernel, global_random_seed):
    # neighbours far from the mean: distances are small differences of large numbers
    rng = np.random.default_rng(global_random_seed)
    centres = size * rng.normal(size=(10, 5))
    X = centres[rng.integers(10, size=400)] + 0.5 * rng.normal(size=(400, 5))
    y = (rng.normal(size=400) + X[:, 0] / size > 0).astype(int)
    model = SVC(30.0, kernel=kernel, gamma=GAMMA).fit(storage(X), y)
    _check(model, X, y, kernel, 30.0, False)


def test_the_gap_says_how_far_a_stopped_fit_is(blobs):
    X, y = blobs(n=300)
    best = SVC(10.0, gamma=GAMMA, tol=1e-8).fit(X, y).objective_
    for max_iter in (1, 10, 50):
        model = SVC(10.0, gamma=GAMMA, max_iter=max_iter)
        with pytest.warns(UserWarning, match="max_iter"):
            model.fit(X, y)
        assert not model.converged_
        assert model.kkt_gap_ > 1e-3
        # D <= P* = -best: the dual value can rise by no more than the gap allows
        primal_bound = -model.objective_ / (1 - model.dual_gap_)
        assert -best <= primal_bound * (1 + 1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_against_an_interior_point_code(loss, kernel, C, blobs, require_package):
    clarabel = require_package("clarabel")
    X, y = blobs(n=80, d=3)
    n, signs = len(y), np.where(y == 1, 1.0, -1.0)
    K = KERNELS[kernel](X, X)
    P = K * np.outer(signs, signs)
    eye = sparse.eye(n)
    blocks, right = [signs[None, :], -eye], [np.zeros(1 + n)]
    if loss == "hinge":
        blocks, right = [*blocks, eye], [*right, np.full(n, C)]
    else:
        P += np.eye(n) / C
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n * (len(blocks) - 1))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sparse.csc_array(np.triu(P)), -np.ones(n), sparse.vstack(blocks, format="csc"),
        np.concatenate(right), cones, settings,
    ).solve()  # fmt: skip
    model = SVC(C, kernel=kernel, gamma=GAMMA, loss=loss, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(solution.obj_val, rel=1e-7)
    decisions = K @ (signs * np.array(solution.x)) + model.intercept_
    assert_allclose(model.decision_function(X), decisions, rtol=0, atol=1e-4)
    a = np.abs(model.dual_coef_[0])
    if np.any(a < C * (1 - 1e-6)):  # else any bias of an interval is optimal
        # the multiplier of y'a = 0 is the bias, with the sign of the Lagrangian
        assert abs(model.intercept_[0]) == pytest.approx(abs(solution.z[0]), abs=1e-4)


def test_squared_hinge_against_liblinear(blobs):
    # the same problem but for the bias, which liblinear penalises; none is needed when
    # the data are mirrored. liblinear has C sum xi^2, ours C/2 sum xi^2
    X, y = blobs(n=100, d=3)
    X, y = np.concatenate((X, -X)), np.concatenate((y, 1 - y))
    ours = SVC(2.0, kernel="linear", loss="squared_hinge", tol=1e-8).fit(X, y)
    theirs = LinearSVC(C=1.0, fit_intercept=False, tol=1e-10, max_iter=100_000)
    theirs.fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    assert ours.intercept_[0] == pytest.approx(0.0, abs=1e-6)


def test_two_points_in_closed_form():
    # the widest margin between x = 0 and x = 2 is w = 1, b = -1
    X, y = np.array([[0.0], [2.0]]), [0, 1]
    model = SVC(100.0, kernel="linear", tol=1e-12).fit(X, y)
    assert_allclose(model.coef_, [[1.0]], rtol=1e-12)
    assert_allclose(model.intercept_, [-1.0], rtol=1e-12)
    assert_allclose(model.dual_coef_, [[-0.5, 0.5]], rtol=1e-12)
    assert model.objective_ == pytest.approx(-0.5)
    assert model.dual_gap_ == pytest.approx(0.0, abs=1e-9)
    # C = 0.1 binds: a = 0.1, w = 0.2
    model.set_params(C=0.1).fit(X, y)
    assert_allclose(model.coef_, [[0.2]], rtol=1e-12)
    assert model.objective_ == pytest.approx(0.5 * 0.04 - 0.2)
    # squared: a (4 + 2 / C) = 2
    model.set_params(C=1.0, loss="squared_hinge").fit(X, y)
    assert_allclose(model.dual_coef_, [[-1 / 3, 1 / 3]], rtol=1e-12)
