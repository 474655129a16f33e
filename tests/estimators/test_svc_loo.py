"""Leave-one-out from one fit of SVC: against refits, and what is made of it."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
)

from widemargin import SVC, loo_estimates
from widemargin.estimators._svc_loo import solutions
from widemargin.solvers.loo import ESTIMATES

LOSSES = ["hinge", "squared_hinge"]
GAMMA = 0.3


def _gauss(A, B):
    return np.exp(-GAMMA * cdist(A, B, "sqeuclidean"))


def _refits(K, y, C=1.0, weights=None, loss="hinge", shape="ovo"):
    """Decisions of each row from scikit-learn's fit to the others; NaN at weight 0."""
    n = len(y)
    C = np.full(n, C) if weights is None else C * weights
    out = []
    for p in range(n):
        keep = np.flatnonzero((C > 0) & (np.arange(n) != p))
        train, bound = K[np.ix_(keep, keep)], C[keep]
        if loss == "squared_hinge":  # which is a diagonal, and no bound
            train, bound = train + np.diag(1 / bound), np.full(len(keep), 1e7)
        model = svm.SVC(
            kernel="precomputed", C=1.0, tol=1e-7, decision_function_shape=shape
        )
        model.fit(train, y[keep], bound)
        out.append(model.decision_function(K[p, keep][None])[0])
    out = np.array(out)
    out[C == 0] = np.nan
    return out


def _steady(blobs, n=45, n_classes=3):
    """Rows of which, with the squared hinge and C = 0.1, all are support vectors.

    Leaving one out changes no set, so the span rule is exact.
    """
    X, y = blobs(n=n, n_classes=n_classes)
    return X, y, {"gamma": GAMMA, "C": 0.1, "loss": "squared_hinge", "tol": 1e-9}


# --- loo_decision_function -----------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_close_to_refits_on_breast_cancer(loss, load):
    X, y = load("cancer")
    model = SVC(loss=loss, tol=1e-5).fit(X, y)
    found = model.loo_decision_function()
    assert found.shape == (569,)
    plain = model.decision_function(X)
    others = np.setdiff1d(np.arange(569), model.support_)
    assert_allclose(found[others], plain[others], rtol=0, atol=1e-6)
    errors = loo_estimates(model, X, y, ["span", "loo"])
    true = round(569 * errors["loo"])
    predicted = int(np.sum((found > 0) != (y == "yes")))
    assert predicted == round(569 * errors["span"])
    assert abs(predicted - true) <= 4


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_close_to_refits(loss, n_classes, blobs):
    X, y = blobs(n=60, n_classes=n_classes)
    model = SVC(
        gamma=GAMMA, loss=loss, tol=1e-7, decision_function_shape="ovo"
    ).fit(X, y)  # fmt: skip
    found = model.loo_decision_function()
    true = _refits(_gauss(X, X), y, loss=loss)
    assert found.shape == true.shape
    assert np.mean(np.abs(found - true)) < 0.15
    assert np.mean((found > 0) == (true > 0)) > 0.9
    # and closer than the decisions with the row
    plain = model.decision_function(X)
    assert np.mean(np.abs(found - true)) < 0.5 * np.mean(np.abs(plain - true))


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_exact_where_no_set_changes(n_classes, shape, blobs):
    X, y, options = _steady(blobs, 48, n_classes)
    model = SVC(decision_function_shape=shape, **options).fit(X, y)
    found = model.loo_decision_function()
    assert found.shape == model.decision_function(X).shape
    true = _refits(_gauss(X, X), y, 0.1, None, "squared_hinge", shape)
    assert_allclose(found, true, rtol=0, atol=1e-4)


def test_exact_with_the_hinge_and_without_bounded_rows(blobs):
    X, y = blobs(n=30, n_classes=3)
    K = _gauss(X, X) + 2 * np.eye(30)
    model = SVC(C=1e3, kernel="precomputed", tol=1e-9).fit(K, y)
    model.set_params(decision_function_shape="ovo")
    assert len(model.support_) == 30
    assert_allclose(
        model.loo_decision_function(), _refits(K, y, 1e3), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "kernel", ["precomputed", "callable", "sparse", "linear", "poly", "laplacian"]
)
def test_kernels_and_storage(kernel, n_classes, blobs):
    X, y, options = _steady(blobs, 45, n_classes)
    given = X
    match kernel:
        case "precomputed":
            K = _gauss(X, X)
            options["kernel"], given = "precomputed", K
        case "callable":
            K = _gauss(X, X)
            options["kernel"] = _gauss
        case "sparse":
            X = np.where(np.abs(X) < 0.3, 0.0, X)
            K, given = _gauss(X, X), sparse.csr_array(X)
        case "linear":
            X = given = 0.1 * X
            K, options["kernel"] = X @ X.T, "linear"
        case "poly":
            X = given = 0.1 * X
            options.update(kernel="poly", degree=2, coef0=1.0, gamma=1.0)
            K = (X @ X.T + 1.0) ** 2
        case "laplacian":
            options["kernel"] = "laplacian"
            K = np.exp(-GAMMA * cdist(X, X, "cityblock"))
    model = SVC(decision_function_shape="ovo", **options).fit(given, y)
    true = _refits(K, y, 0.1, None, "squared_hinge")
    assert_allclose(model.loo_decision_function(), true, rtol=0, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_and_precomputed_are_the_dense_answer(loss, n_classes, blobs):
    X, y = blobs(n=60, n_classes=n_classes)
    options = {"gamma": GAMMA, "loss": loss, "tol": 1e-9}
    dense = SVC(**options).fit(X, y).loo_decision_function()
    stored = SVC(**options).fit(sparse.csr_array(X), y).loo_decision_function()
    given = SVC(**options, kernel="precomputed").fit(_gauss(X, X), y)
    function = SVC(**options, kernel=_gauss).fit(X, y)
    for other in (
        stored, given.loo_decision_function(), function.loo_decision_function()
    ):  # fmt: skip
        assert_allclose(other, dense, rtol=0, atol=1e-4)


def test_words_for_labels(blobs):
    X, y = blobs(n_classes=3)
    words = np.array(["b", "a", "c"])[y]
    model = SVC().fit(X, words)
    found = model.loo_decision_function()
    predicted = model.classes_[found.argmax(axis=1)]
    assert np.mean(predicted == model.predict(X)) > 0.7
    numbers = SVC().fit(X, np.array([1, 0, 2])[y]).loo_decision_function()
    assert_array_equal(found, numbers)
    binary = SVC().fit(X[y < 2], words[y < 2])  # positive is the second in order
    predicted = np.where(binary.loo_decision_function() > 0, "b", "a")
    assert np.mean(predicted == binary.predict(X[y < 2])) > 0.7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sample_weights(n_classes, blobs, global_random_seed):
    X, y, options = _steady(blobs, 48, n_classes)
    weights = np.random.default_rng(global_random_seed).uniform(0.3, 1.5, 48)
    weights[:6] = 0.0
    model = SVC(decision_function_shape="ovo", **options).fit(X, y, weights)
    found = model.loo_decision_function()
    true = _refits(_gauss(X, X), y, 0.1, weights, "squared_hinge")
    assert_allclose(found[6:], true[6:], rtol=0, atol=1e-4)
    # rows that took no part need not be left out
    assert_allclose(found[:6], model.decision_function(X[:6]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "sparse", "callable"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_weight_zero_get_the_plain_decision(n_classes, loss, kernel, blobs):
    X, y = blobs(n=60, n_classes=n_classes)
    weights = np.where(np.arange(60) % 4 == 0, 0.0, 1.0)
    gone = weights == 0
    options = {"gamma": GAMMA, "loss": loss, "tol": 1e-8}
    alone = SVC(**options).fit(X[~gone], y[~gone]).loo_decision_function()
    given = X
    if kernel == "sparse":
        given = sparse.csr_array(X)
    elif kernel == "precomputed":
        options["kernel"], given = "precomputed", _gauss(X, X)
    elif kernel == "callable":
        options["kernel"] = _gauss
    model = SVC(**options).fit(given, y, weights)
    found = model.loo_decision_function()
    plain = model.decision_function(given)
    assert_allclose(found[gone], plain[gone], rtol=0, atol=1e-10)
    assert_allclose(found[~gone], alone, rtol=0, atol=1e-4)


def test_class_weight(blobs):
    X, y, options = _steady(blobs)
    weight = {0: 0.5, 1: 1.0, 2: 2.0}
    model = SVC(class_weight=weight, decision_function_shape="ovo", **options)
    found = model.fit(X, y).loo_decision_function()
    weights = np.array([0.5, 1.0, 2.0])[y]
    true = _refits(_gauss(X, X), y, 0.1, weights, "squared_hinge")
    assert_allclose(found, true, rtol=0, atol=1e-4)
    model.set_params(class_weight=None).fit(X, y, weights)
    assert_allclose(model.loo_decision_function(), found, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dead", [[1], [0, 2], [2, 3]])
def test_classes_of_weight_zero(dead, blobs):
    X, y = blobs(n_classes=4)
    gone = np.isin(y, dead)
    for calibration in (None, "loo"):
        model = SVC(calibration=calibration, decision_function_shape="ovo")
        model.fit(X, y, np.where(gone, 0.0, 1.0))
        found = model.loo_decision_function()
        assert found.shape == (120, 6) and np.all(np.isfinite(found))
        assert_allclose(
            found[gone], model.decision_function(X)[gone], rtol=0, atol=1e-8
        )
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    estimates = loo_estimates(model, X, y)
    assert not any(np.isnan(value) for value in estimates.values())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_rows_does_not_count(loss, n_classes, blobs, global_random_seed):
    X, y = blobs(n_classes=n_classes)
    order = np.random.default_rng(global_random_seed).permutation(120)
    options = {"gamma": GAMMA, "loss": loss, "tol": 1e-9}
    here = SVC(**options).fit(X, y)
    there = SVC(**options).fit(X[order], y[order])
    assert_allclose(
        there.loo_decision_function(), here.loo_decision_function()[order],
        rtol=0, atol=1e-5,
    )  # fmt: skip
    one, other = loo_estimates(here, X, y), loo_estimates(there, X[order], y[order])
    assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_answer_every_time(n_classes, blobs):
    X, y = blobs(n_classes=n_classes)
    model = SVC().fit(X, y)
    first, estimates = model.loo_decision_function(), loo_estimates(model, X, y)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for other in (model, clone(model).fit(X, y), SVC(n_jobs=2).fit(X, y)):
        assert_array_equal(other.loo_decision_function(), first)
        assert loo_estimates(other, X, y) == estimates
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    first[:] = 0.0  # the caller's own
    assert np.any(model.loo_decision_function() != 0)


def test_it_belongs_to_the_last_fit(blobs):
    X, y = blobs()
    model = SVC(C=1.0, warm_start=True).fit(X, y)
    first = model.loo_decision_function()
    model.set_params(C=100.0)  # no fit yet
    assert_array_equal(model.loo_decision_function(), first)
    again = model.fit(X, y).loo_decision_function()
    fresh = SVC(C=100.0).fit(X, y).loo_decision_function()
    assert np.mean(np.abs(again - first)) > 0.1
    assert np.mean(np.abs(again - fresh)) < 0.05


def test_no_free_support_vector(blobs):
    X, y = blobs(n=40)
    model = SVC(C=1e-4).fit(X, y)
    ((_, _, _, solution),) = solutions(model)
    assert len(solution.free) == 0
    signs = np.where(y == 1, 1.0, -1.0)
    expected = model.decision_function(X) - 1e-4 * signs  # a = C, S^2 = K_pp = 1
    assert_allclose(model.loo_decision_function(), expected, rtol=0, atol=1e-9)


# --- scorers -------------------------------------------------------------------------


def test_scorers_take_the_decisions(blobs):
    X, y = blobs(n=200)
    model = SVC(tol=1e-6).fit(X, y)
    found = model.loo_decision_function()
    plain = model.decision_function(X)
    true = _refits(np.exp(-model.gamma_ * cdist(X, X, "sqeuclidean")), y)
    assert abs(roc_auc_score(y, found) - roc_auc_score(y, true)) < 0.02
    for score in (balanced_accuracy_score, f1_score):
        assert abs(score(y, found > 0) - score(y, true > 0)) < 0.03
    assert abs(log_loss(y, expit(found)) - log_loss(y, expit(true))) < 0.03
    # not the optimistic ones of the fit
    assert log_loss(y, expit(found)) >= log_loss(y, expit(plain))
    assert roc_auc_score(y, found) <= roc_auc_score(y, plain)


# --- saved models --------------------------------------------------------------------


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)),
                                    copy.deepcopy])  # fmt: skip
def test_a_saved_model_has_no_training_rows(copied, blobs):
    X, y = blobs()
    model = SVC(calibration="loo").fit(X, y)
    saved = copied(model)
    with pytest.raises(AttributeError) as raised:
        saved.loo_decision_function()
    assert str(raised.value) == (
        "leave-one-out needs the training rows, which are not saved with a model: "
        "fit again"
    )
    with pytest.raises(ValueError, match=r"needs an SVC fitted in this session.*again"):
        loo_estimates(saved, X, y)
    assert_array_equal(saved.predict_proba(X), model.predict_proba(X))
    assert model.loo_decision_function().shape == (120,)  # the original still can
    again = saved.fit(X, y).loo_decision_function()
    assert_array_equal(again, model.loo_decision_function())


def test_not_fitted(blobs):
    X, y = blobs()
    with pytest.raises(NotFittedError):
        SVC().loo_decision_function()
    with pytest.raises(NotFittedError):
        loo_estimates(SVC(), X, y)


# --- calibration ---------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_the_logistic_belongs_to_leave_one_out_decisions(loss, blobs):
    X, y = blobs(n=150)
    model = SVC(calibration="loo", loss=loss).fit(X, y)
    scores = model.loo_decision_function()
    high = (y.sum() + 1) / (y.sum() + 2)
    target = np.where(y == 1, high, 1 / ((y == 0).sum() + 2))
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], 150),
        np.concatenate((target, 1 - target)),
    )
    slope, offset = reference.coef_[0, 0], reference.intercept_[0]
    assert slope > 0
    expected = expit(slope * model.decision_function(X) + offset)
    assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_slopes_are_never_negative(n_classes, C, loss, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % n_classes  # noise
    model = SVC(C=C, loss=loss, calibration="loo").fit(X, y)
    assert model._calibration.shape == ((n_classes * (n_classes - 1)) // 2, 2)
    assert np.all(model._calibration[:, 0] >= 0)
    p = model.predict_proba(X)
    assert np.all((p > 0) & (p < 1))
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0, 1e6])
@pytest.mark.parametrize("loss", LOSSES)
def test_separable_rows_keep_finite_slopes(loss, C, blobs):
    X, y = blobs(n=60)
    X = X.copy()
    X[:, 0] = np.where(y == 1, 6.0, -6.0) + 0.1 * X[:, 0]
    model = SVC(C=C, loss=loss, calibration="loo").fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert np.all(np.isfinite(model._calibration))
    assert np.all((p > 0) & (p < 1))
    assert_array_equal(p > 0.5, y == 1)


def test_calibration_costs_no_generator_and_no_order(blobs):
    X, y = blobs(n_classes=3)
    first = SVC(calibration="loo", random_state=0).fit(X, y).predict_proba(X)
    other = SVC(calibration="loo", random_state=9).fit(X, y).predict_proba(X)
    assert_array_equal(first, other)


def test_probabilities_of_rare_classes_need_no_folds(blobs):
    X, y = blobs()
    y = np.where(np.arange(120) < 2, 1, 0)  # two rows: too few for folds
    p = SVC(calibration="loo").fit(X, y).predict_proba(X)
    assert np.all(np.isfinite(p)) and p[:, 1].mean() < 0.2


# --- loo_estimates -------------------------------------------------------------------


def test_names(blobs):
    X, y = blobs()
    model = SVC().fit(X, y)
    every = loo_estimates(model, X, y)
    assert list(every) == [name for name in ESTIMATES if name != "loo"]
    assert loo_estimates(model, X, y, "all") == every
    some = loo_estimates(model, X, y, ["span", "loo"])
    assert list(some) == ["span", "loo"] and some["span"] == every["span"]
    assert loo_estimates(model, X, y, "gacv") == {"gacv": every["gacv"]}
    assert loo_estimates(model, X, y, ("xi_alpha",)) == {"xi_alpha": every["xi_alpha"]}
    assert loo_estimates(model, X, y, []) == {}
    assert all(type(value) is float for value in every.values())


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_a_name_given_twice_counts_once(kind, blobs):
    X, y = blobs()
    model = SVC().fit(X, y)
    found = loo_estimates(model, X, y, kind(["span", "gacv", "span"]))
    assert found == loo_estimates(model, X, y, ["span", "gacv"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("spam", "; did you mean 'span'?"),
        ("span_smoth", "; did you mean 'span_smooth'?"),
        ("xi-alpha", "; did you mean 'xi_alpha'?"),
        ("zzz", ""),
        (3, ""),
    ],
)
def test_names_unknown(name, hint, blobs):
    X, y = blobs()
    model = SVC().fit(X, y)
    with pytest.raises(ValueError) as raised:
        loo_estimates(model, X, y, ["gacv", name])
    known = ", ".join(ESTIMATES)
    assert str(raised.value) == f"names must be among {known}, got {name!r}{hint}"
    if isinstance(name, str):
        with pytest.raises(ValueError, match="names must be among"):
            loo_estimates(model, X, y, name)


def test_rows_that_are_not_those_of_the_fit(blobs):
    X, y = blobs()
    model = SVC().fit(X, y)
    begin = (
        "X and y must be those the SVC was fitted on: 120 rows of 4 features, got "
    )  # fmt: skip
    with pytest.raises(ValueError) as raised:
        loo_estimates(model, X[:100], y[:100])
    assert str(raised.value) == begin + "100 rows"
    for wrong_X in (X[::-1], X + 1e-3, sparse.csr_array(2 * X)):
        with pytest.raises(ValueError, match="X and y must be those"):
            loo_estimates(model, wrong_X, y)
    for wrong in (1 - y, y[:100], np.array(["a", "b"])[y]):
        with pytest.raises(ValueError, match=begin):
            loo_estimates(model, X, wrong)
    with pytest.raises(ValueError, match="4 features"):
        loo_estimates(model, X[:, :3], y)


@pytest.mark.parametrize("loss", LOSSES)
def test_estimates_of_two_classes_are_those_of_the_pair(loss, blobs):
    X, y = blobs()
    model = SVC(loss=loss).fit(X, y)
    found = loo_estimates(model, X, y, list(ESTIMATES))
    ((i, j, index, solution),) = solutions(model)
    assert (i, j) == (0, 1)
    assert_array_equal(index, np.arange(120))
    expected = {name: value(solution) for name, value in ESTIMATES.items()}
    assert found == pytest.approx(expected, rel=1e-12)
    assert found["sv_count"] == len(model.support_) / 120
    wrong = (model.loo_decision_function() > 0) != (y == 1)
    assert found["span"] == pytest.approx(wrong.mean())
    assert found["sv_count"] >= found["loo"]


def test_estimates_of_more_classes_are_means_over_pairs_by_their_rows(blobs):
    X, y = blobs(n_classes=3)
    keep = (y != 0) | (np.arange(120) % 3 == 0)  # class 0 is rare
    X, y = X[keep], y[keep]
    found = loo_estimates(SVC(gamma=GAMMA).fit(X, y), X, y, list(ESTIMATES))
    totals = dict.fromkeys(ESTIMATES, 0.0)
    rows = 0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        pair = (y == i) | (y == j)
        model = SVC(gamma=GAMMA, tol=1e-3).fit(X[pair], y[pair])
        alone = loo_estimates(model, X[pair], y[pair], list(ESTIMATES))
        rows += pair.sum()
        for name, value in alone.items():
            totals[name] += pair.sum() * value
    for name, total in totals.items():
        # other orders of the rows: other solutions within the tolerance
        assert found[name] == pytest.approx(total / rows, rel=0.05, abs=0.02), name


def test_rows_of_weight_zero_do_not_count(blobs):
    X, y = blobs()
    weights = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    gone = weights == 0
    model = SVC(gamma=GAMMA, tol=1e-9).fit(X, y, weights)
    alone = SVC(gamma=GAMMA, tol=1e-9).fit(X[~gone], y[~gone])
    assert loo_estimates(model, X, y) == pytest.approx(
        loo_estimates(alone, X[~gone], y[~gone]), rel=1e-3
    )


@pytest.mark.parametrize("storage", ["sparse", "precomputed", "callable", "list"])
def test_estimates_whatever_the_storage(storage, blobs):
    X, y = blobs(n_classes=3)
    options = {"gamma": GAMMA, "tol": 1e-9}
    names = list(ESTIMATES)
    expected = loo_estimates(SVC(**options).fit(X, y), X, y, names)
    given, labels = X, y
    match storage:
        case "sparse":
            given = sparse.csr_array(X)
        case "precomputed":
            given, options["kernel"] = _gauss(X, X), "precomputed"
        case "callable":
            options["kernel"] = _gauss
        case "list":
            given, labels = X.tolist(), y.tolist()
    model = SVC(**options).fit(given, labels)
    found = loo_estimates(model, given, labels, names)
    assert found == pytest.approx(expected, rel=1e-3)
