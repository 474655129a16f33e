"""Weights of samples and classes: copies, absence, balance; against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import svm
from sklearn.utils.class_weight import compute_class_weight

from widemargin import SVC

TIGHT = 1e-8
SAME = {"rtol": 0, "atol": 1e-6}  # decisions at a gap of 1e-8
LOSSES = ["hinge", "squared_hinge"]


def _model(**parameters):
    return SVC(**{"gamma": 0.3, "tol": TIGHT, **parameters})


def _copies(y, seed):
    """Whole weights from 0 to 3, at least one row of each class kept."""
    copies = np.random.default_rng(seed).integers(0, 4, len(y))
    for label in np.unique(y):
        copies[np.flatnonzero(y == label)[0]] = 2
    return copies


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_counts_as_copies(n_classes, loss, kernel, blobs, global_random_seed):
    X, y = blobs(n=90, n_classes=n_classes)
    copies = _copies(y, global_random_seed)
    repeated = np.repeat(np.arange(90), copies)
    fit_X, fit_repeated, test = X, X[repeated], X
    if kernel == "precomputed":
        fit_X, fit_repeated = X @ X.T, X[repeated] @ X[repeated].T
        test = X @ X.T, X @ X[repeated].T
    weighted = _model(kernel=kernel, loss=loss).fit(fit_X, y, copies)
    plain = _model(kernel=kernel, loss=loss).fit(fit_repeated, y[repeated])
    left, right = test if kernel == "precomputed" else (test, test)
    assert_allclose(
        weighted.decision_function(left), plain.decision_function(right), **SAME
    )
    assert_allclose(weighted.objective_, plain.objective_, rtol=1e-7)
    assert not np.isin(weighted.support_, np.flatnonzero(copies == 0)).any()


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_gamma_counts_weights_as_copies(gamma, storage, blobs, global_random_seed):
    X, y = blobs()
    X = X + 1.0
    copies = _copies(y, global_random_seed)
    repeated = np.repeat(np.arange(120), copies)
    weighted = _model(gamma=gamma).fit(storage(X), y, copies)
    plain = _model(gamma=gamma).fit(storage(X[repeated]), y[repeated])
    assert weighted.gamma_ == pytest.approx(plain.gamma_, rel=1e-12)
    everywhere = _model(gamma=gamma).fit(storage(X), y, np.full(120, 0.2))
    unweighted = _model(gamma=gamma).fit(storage(X), y)
    assert everywhere.gamma_ == pytest.approx(unweighted.gamma_, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_of_zero_is_no_row(n_classes, loss, blobs):
    X, y = blobs(n_classes=n_classes)
    gone = np.arange(120) % 5 == 0
    poisoned, wrong = X.copy(), y.copy()
    poisoned[gone] *= 30
    wrong[gone] = n_classes - 1 - wrong[gone]
    weighted = _model(loss=loss).fit(poisoned, wrong, np.where(gone, 0.0, 1.0))
    plain = _model(loss=loss).fit(X[~gone], y[~gone])
    assert_allclose(weighted.decision_function(X), plain.decision_function(X), **SAME)
    assert not gone[weighted.support_].any()
    assert weighted.n_support_.sum() == plain.n_support_.sum()


def test_a_class_of_weight_zero_is_known_but_never_near(blobs):
    X, y = blobs(n_classes=3)
    model = _model().fit(X, y, np.where(y == 1, 0.0, 1.0))
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.n_support_[1] == 0
    plain = _model().fit(X[y != 1], y[y != 1])
    model.set_params(decision_function_shape="ovo")
    decisions = model.decision_function(X)[:, 1]  # of the pair (0, 2)
    assert_allclose(decisions, -plain.decision_function(X), **SAME)
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weight_is_the_matching_sample_weight(n_classes, loss, blobs):
    X, y = blobs(n_classes=n_classes)
    keep = (y != 0) | (np.arange(120) % 3 == 0)  # class 0 is rare
    X, y = X[keep], y[keep]
    balanced = compute_class_weight("balanced", classes=np.unique(y), y=y)
    by_name = _model(loss=loss, class_weight="balanced").fit(X, y)
    by_dict = _model(loss=loss, class_weight=dict(enumerate(balanced))).fit(X, y)
    by_sample = _model(loss=loss).fit(X, y, balanced[y])
    assert_allclose(by_name.class_weight_, balanced)
    for other in (by_dict, by_sample):
        assert_allclose(
            by_name.decision_function(X), other.decision_function(X), **SAME
        )
    some = _model(loss=loss, class_weight={1: 3.0}).fit(X, y)
    assert_allclose(some.class_weight_, [1.0, 3.0, 1.0][:n_classes])
    words = np.array(["a", "b", "c"])[y]
    named = _model(loss=loss, class_weight={"b": 3.0}).fit(X, words)
    assert_allclose(named.decision_function(X), some.decision_function(X), **SAME)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_scikit_learn(class_weight, weighted, n_classes, blobs):
    X, y = blobs(n_classes=n_classes)
    weights = None
    if weighted:
        if class_weight == "balanced":
            pytest.skip("scikit-learn's counts ignore the weights; ours do not")
        weights = np.random.default_rng(0).uniform(0.0, 2.0, 120)
    parameters = {"gamma": 0.5, "class_weight": class_weight, "tol": 1e-7}
    ours = SVC(**parameters).fit(X, y, weights)
    theirs = svm.SVC(**parameters).fit(X, y, weights)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_array_equal(ours.support_, theirs.support_)
    # at a gap of 1e-7, magnified by the condition of the kernel matrix
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-5)
    assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-4
    )


def test_balance_counts_weights_as_copies(blobs, global_random_seed):
    X, y = blobs()
    copies = _copies(y, global_random_seed)
    repeated = np.repeat(np.arange(120), copies)
    weighted = _model(class_weight="balanced").fit(X, y, copies)
    plain = _model(class_weight="balanced").fit(X[repeated], y[repeated])
    assert_allclose(weighted.class_weight_, plain.class_weight_)
    assert_allclose(weighted.decision_function(X), plain.decision_function(X), **SAME)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6])
def test_weights_and_C_are_one_product(size, loss, blobs):
    X, y = blobs()
    base = _model(C=3.0, loss=loss).fit(X, y)
    other = _model(C=3.0 / size, loss=loss).fit(X, y, np.full(120, size))
    assert_allclose(other.decision_function(X), base.decision_function(X), **SAME)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tiny", [1e-8, 1e-20, 1e-45, 1e-300, 5e-324])
def test_rows_of_tiny_weight_hardly_count(tiny, loss, blobs):
    X, y = blobs()
    small = np.arange(120) % 4 == 0
    weighted = SVC(gamma=0.3, loss=loss).fit(X, y, np.where(small, tiny, 1.0))
    plain = SVC(gamma=0.3, loss=loss).fit(X[~small], y[~small])
    assert weighted.converged_
    # both at a gap of 1e-3
    assert_allclose(
        weighted.decision_function(X), plain.decision_function(X), rtol=0, atol=0.05
    )


@pytest.mark.parametrize("sample_weight", [2, 2.0, [1.0] * 120, np.ones(120, int)])
def test_kinds_of_weights(sample_weight, blobs):
    X, y = blobs()
    factor = 1.0 if np.ndim(sample_weight) else 2.0
    model = _model().fit(X, y, sample_weight)
    plain = _model(C=factor).fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), **SAME)
