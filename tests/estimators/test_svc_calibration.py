"""Probabilities: sums, order, use, and what happens to a class that is rare."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from widemargin import SVC

KINDS = [4, "loo"]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("calibration", KINDS)
def test_probabilities(calibration, loss, n_classes, storage, blobs):
    X, y = blobs(n=300, n_classes=n_classes)
    X = storage(X)
    model = SVC(loss=loss, calibration=calibration).fit(X[:200], y[:200])
    p = model.predict_proba(X[200:])
    assert p.shape == (100, n_classes)
    assert np.all((p >= 0) & (p <= 1))
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    # better than the shares of the classes on rows never seen
    share = np.bincount(y[:200]) / 200
    assert log_loss(y[200:], p) < 0.9 * log_loss(y[200:], np.tile(share, (100, 1)))
    assert np.mean(p.argmax(axis=1) == model.predict(X[200:])) > 0.9


@pytest.mark.parametrize("calibration", KINDS)
def test_two_classes_in_the_order_of_the_decision(calibration, blobs):
    X, y = blobs(n=200)
    model = SVC(calibration=calibration).fit(X, y)
    order = np.argsort(model.decision_function(X))
    p = model.predict_proba(X)[order, 1]
    assert np.all(np.diff(p) >= 0)
    assert p[-1] > 0.7 and p[0] < 0.3


def test_the_logistic_belongs_to_decisions_of_other_folds(blobs):
    # the same folds by hand, with scikit-learn's logistic regression on Platt's targets
    X, y = blobs(n=200)
    model = SVC(calibration=4, random_state=5).fit(X, y)
    scores = np.empty(200)
    folds = StratifiedKFold(4, shuffle=True, random_state=5)
    for train, test in folds.split(X, y):
        fold = SVC(gamma=model.gamma_).fit(X[train], y[train])
        scores[test] = fold.decision_function(X[test])
    n_positive, n_negative = y.sum(), (1 - y).sum()
    target = np.where(y, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], 200),
        np.concatenate((target, 1 - target)),
    )
    slope, offset = reference.coef_[0, 0], reference.intercept_[0]
    expected = expit(slope * model.decision_function(X) + offset)
    assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_noise_never_turns_the_order_round(C, calibration, global_random_seed):
    # on labels of pure noise decisions without the row are anti-correlated with y
    rng = np.random.default_rng(global_random_seed)
    for _ in range(5):
        X = rng.normal(size=(40, 3))
        y = np.arange(40) % 2
        model = SVC(C=C, calibration=calibration).fit(X, y)
        p = model.predict_proba(X)[:, 1]
        order = np.argsort(model.decision_function(X))
        assert np.all(np.diff(p[order]) >= 0)
        if np.ptp(p) > 0:
            order = roc_auc_score(y, model.decision_function(X))
            assert roc_auc_score(y, p) == pytest.approx(order, abs=1e-12)


@pytest.mark.parametrize("kernel", ["precomputed", "linear", "laplacian", "poly"])
@pytest.mark.parametrize("calibration", KINDS)
def test_kernels(calibration, kernel, blobs):
    X, y = blobs(n=150, n_classes=3)
    if kernel == "precomputed":
        X = X @ X.T
    p = SVC(kernel=kernel, calibration=calibration).fit(X, y).predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(p.argmax(axis=1) == y) > 0.6


@pytest.mark.parametrize("calibration", KINDS)
def test_weights_count(calibration, blobs):
    X, y = blobs(n=200)
    model = SVC(gamma=0.3, calibration=calibration)
    light = model.fit(X, y).predict_proba(X)[:, 1]
    heavy = model.fit(X, y, np.where(y == 1, 20.0, 1.0)).predict_proba(X)[:, 1]
    assert heavy.mean() > light.mean()


@pytest.mark.parametrize("calibration", KINDS)
def test_rows_of_weight_zero_do_not_take_part(calibration, blobs):
    X, y = blobs(n=200)
    alive = np.ones(200)
    alive[np.flatnonzero(y == 1)[8:]] = 0.0  # eight left in class 1
    wrong = np.where(alive > 0, y, 0)
    model = SVC(calibration=calibration)
    p = model.fit(X, y, alive).predict_proba(X)
    assert np.all(np.isfinite(p))
    # what is written on rows of weight 0 makes no difference
    assert_allclose(model.fit(X, wrong, alive).predict_proba(X), p)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_leave_one_out_counts_weights_as_copies_of_the_fit(loss, blobs):
    # a weight changes what is left out, so probabilities are near, not equal
    X, y = blobs(n=100)
    model = SVC(gamma=0.3, loss=loss, calibration="loo")
    twice = model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).predict_proba(X)
    weighted = model.fit(X, y, np.full(100, 2.0)).predict_proba(X)
    assert_allclose(weighted, twice, rtol=0, atol=0.2)


def test_same_seed_same_probabilities_for_any_jobs(blobs):
    X, y = blobs(n=200, n_classes=3)
    for calibration in (3, "loo"):
        model = SVC(calibration=calibration, random_state=1)
        first = model.fit(X, y).predict_proba(X)
        for n_jobs in (None, 2):
            again = model.set_params(n_jobs=n_jobs).fit(X, y).predict_proba(X)
            assert_array_equal(again, first)
    first = SVC(calibration=3, random_state=1).fit(X, y).predict_proba(X)
    assert np.any(SVC(calibration=3).fit(X, y).predict_proba(X) != first)


def test_decisions_do_not_depend_on_it(blobs):
    X, y = blobs(n_classes=3)
    plain, calibrated = SVC().fit(X, y), SVC(calibration=3).fit(X, y)
    assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))
    assert_array_equal(calibrated.predict(X), plain.predict(X))


def test_without_calibration_there_is_no_such_method(blobs):
    X, y = blobs()
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"has no attribute 'predict_proba'") as e:
        _ = model.predict_proba
    assert str(e.value.__cause__) == (
        "predict_proba needs calibration='loo' or a number of folds, for example "
        "SVC(calibration=5), and fit again"
    )


def test_set_after_the_fit_it_says_to_fit_again(blobs):
    X, y = blobs()
    model = SVC().fit(X, y).set_params(calibration=3)
    with pytest.raises((AttributeError, ValueError), match="fit again"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("sigmoid", ValueError, "calibration must be None, 'loo' or a whole number of "
         "folds >= 2, got 'sigmoid'"),
        (1, ValueError, "calibration must be >= 2, got 1"),
        (0, ValueError, "calibration must be >= 2, got 0"),
        (2.5, TypeError, "calibration must be a whole number, got 2.5"),
        (True, TypeError, "calibration must be a whole number, got True"),
    ],
)  # fmt: skip
def test_values_refused(value, error, message, blobs):
    X, y = blobs()
    with pytest.raises(error) as raised:
        SVC(calibration=value).fit(X, y)
    assert str(raised.value) == message


def test_a_class_with_fewer_rows_than_folds(blobs):
    X, y = blobs()
    y = np.array(["no", "yes"])[y]
    y[:] = "no"
    y[:3] = "yes"
    with pytest.raises(ValueError) as raised:
        SVC(calibration=4).fit(X, y)
    assert str(raised.value) == (
        "calibration=4 needs at least 4 samples of each class, but class 'yes' has 3"
    )
