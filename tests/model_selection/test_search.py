"""`MarginSearchCV` against exhaustive searches, by all ways and on all data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, loo_estimates
from widemargin.model_selection import Integer, Linear, Log, MarginSearchCV

SEARCHES = ["cmaes", "zoom", "grid", "line", "bfgs"]
SPACE = {"C": (0.1, 1000.0), "gamma": (0.01, 10.0)}


def exhaustive(X, y, criterion, values_C, values_gamma):
    return {
        (C, gamma): criterion(SVC(C=C, gamma=gamma).fit(X, y))
        for C in values_C
        for gamma in values_gamma
    }


@pytest.mark.parametrize("name", ["span", "xi_alpha", "gacv", "radius_margin"])
def test_grid_of_an_estimate_is_exhaustive(name, rings):
    X, y = rings()
    Cs, gammas = [0.1, 1.0, 10.0, 100.0], [0.1, 0.5, 2.0]
    model = MarginSearchCV(
        SVC(), {"C": Cs, "gamma": gammas}, search="grid", scoring=name, refit=False
    ).fit(X, y)
    table = exhaustive(X, y, lambda m: loo_estimates(m, X, y, [name])[name], Cs, gammas)
    assert_allclose(model.best_score_, -min(table.values()))
    best = model.best_params_["C"], model.best_params_["gamma"]
    assert_allclose(table[best], min(table.values()))
    assert_allclose(
        -model.cv_results_["mean_test_score"],
        [table[p["C"], p["gamma"]] for p in model.cv_results_["params"]],
    )
    assert model.n_fits_ == 12
    assert model.stop_reasons_ == {"complete": 12}


def test_loo_error_is_that_of_the_decisions(rings):
    X, y = rings()
    Cs, gammas = [0.1, 1.0, 10.0, 100.0], [0.1, 0.5, 2.0]
    model = MarginSearchCV(SVC(), {"C": Cs, "gamma": gammas}, search="grid").fit(X, y)
    table = exhaustive(
        X, y, lambda m: np.mean((m.loo_decision_function() > 0) != y), Cs, gammas
    )
    assert_allclose(
        -model.cv_results_["mean_test_score"],
        [table[p["C"], p["gamma"]] for p in model.cv_results_["params"]],
    )
    assert_allclose(model.best_score_, -min(table.values()))
    assert_array_equal(model.predict(X), SVC(**model.best_params_).fit(X, y).predict(X))


@pytest.mark.parametrize("search", SEARCHES)
def test_all_searches_come_near_a_fine_grid(search, rings):
    X, y = rings(n=60)
    criterion = "radius_margin"
    fine = MarginSearchCV(
        SVC(), SPACE, search="grid", scoring=criterion, budget=144, refit=False
    ).fit(X, y)
    found = MarginSearchCV(
        SVC(), SPACE, search=search, scoring=criterion, refit=False
    ).fit(X, y)
    assert fine.n_fits_ == 144
    assert found.n_fits_ <= 66
    spread = np.ptp(fine.cv_results_["mean_test_score"])
    # the two lines need not cross the minimum
    loss = 0.1 if search == "line" else 0.02
    assert found.best_score_ >= fine.best_score_ - loss * spread
    for name, (low, high) in SPACE.items():
        assert low <= found.best_params_[name] <= high


def test_folds_are_those_of_scikit_learn(rings):
    X, y = rings()
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    ours = MarginSearchCV(SVC(), grid, search="grid", cv=cv).fit(X, y)
    theirs = GridSearchCV(SVC(), grid, cv=cv).fit(X, y)
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert_allclose(
        ours.cv_results_["std_test_score"], theirs.cv_results_["std_test_score"]
    )
    assert_allclose(ours.best_score_, theirs.best_score_)
    assert ours.n_fits_ == 24 and ours.n_splits_ == 4
    assert "split3_test_score" in ours.cv_results_


def test_leave_one_out_agrees_with_true_refits(rings):
    X, y = rings(n=60)
    gammas = [0.1, 0.3, 1.0, 3.0]
    model = MarginSearchCV(SVC(), {"gamma": gammas}, search="grid", scoring="accuracy")
    model.fit(X, y)
    true = [
        cross_val_score(SVC(gamma=g), X, y, cv=LeaveOneOut()).mean() for g in gammas
    ]
    # the span rule is off by up to a tenth of so few rows, without going astray
    assert_allclose(model.cv_results_["mean_test_score"], true, atol=0.15)
    assert true[model.best_index_] >= max(true) - 0.1


@pytest.mark.parametrize(
    "scoring", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"]
)
def test_scorers_see_leave_one_out_decisions(scoring, rings):
    X, y = rings()
    model = MarginSearchCV(
        SVC(), {"C": [0.5, 5.0]}, search="grid", scoring=scoring
    ).fit(X, y)
    for C, score in zip([0.5, 5.0], model.cv_results_["mean_test_score"], strict=True):
        decisions = SVC(C=C).fit(X, y).loo_decision_function()
        metric = get_scorer(scoring)._score_func
        ranks = scoring in ("roc_auc", "average_precision")
        assert_allclose(score, metric(y, decisions if ranks else decisions > 0))
    assert_allclose(model.score(X, y), get_scorer(scoring)(model, X, y))


def test_log_loss_scorer_is_the_criterion(rings):
    X, y = rings()
    space = {"C": [0.5, 5.0]}
    one = MarginSearchCV(SVC(), space, search="grid", scoring="neg_log_loss").fit(X, y)
    two = MarginSearchCV(SVC(), space, search="grid", scoring="loo_logloss").fit(X, y)
    three = MarginSearchCV(SVC(), space, search="grid", scoring="loo_mix").fit(X, y)
    error = MarginSearchCV(SVC(), space, search="grid").fit(X, y)
    scores = [m.cv_results_["mean_test_score"] for m in (one, two, three, error)]
    assert_allclose(scores[0], scores[1])
    assert_allclose(scores[2], scores[1] + scores[3])


def test_a_scorer_of_the_user(rings):
    X, y = rings()
    asked = []

    def scorer(model, X, y):
        asked.append(model.classes_)
        return -float(np.mean((model.predict(X) - y) ** 2))

    own = MarginSearchCV(SVC(), budget=10, scoring=scorer).fit(X, y)
    auc = make_scorer(roc_auc_score, response_method="decision_function")
    named = MarginSearchCV(SVC(), budget=10, scoring="roc_auc").fit(X, y)
    made = MarginSearchCV(SVC(), budget=10, scoring=auc).fit(X, y)
    assert len(asked) == own.n_fits_
    assert named.best_params_ == made.best_params_


def test_one_parameter(rings):
    X, y = rings()
    for search in ("cmaes", "zoom", "grid", "bfgs"):
        model = MarginSearchCV(SVC(), {"gamma": (0.01, 100.0)}, search=search)
        assert list(model.fit(X, y).best_params_) == ["gamma"]
        assert model.n_fits_ <= 40


def test_whole_numbers_are_whole_and_tried_once(rings):
    X, y = rings()
    model = MarginSearchCV(
        SVC(kernel="poly", coef0=1.0), {"degree": Integer(1, 5)}, budget=40
    ).fit(X, y)
    tried = [p["degree"] for p in model.cv_results_["params"]]
    assert all(isinstance(d, int) for d in tried)
    assert model.n_fits_ == len(set(tried)) <= 5
    assert model.best_params_["degree"] >= 2


def test_linear_range_and_three_parameters(rings):
    X, y = rings()
    space = {"C": (0.1, 10.0), "coef0": Linear(0, 2), "degree": Integer(1, 4)}
    model = MarginSearchCV(SVC(kernel="poly"), space, budget=30).fit(X, y)
    assert 0 <= model.best_params_["coef0"] <= 2
    assert list(model.best_params_) == list(space)


@pytest.mark.parametrize("search", ["cmaes", "bfgs"])
def test_a_scale_for_each_feature_switches_noise_off(search, rings):
    X, y = rings(n=120)
    noise = np.random.default_rng(0).normal(size=(120, 3))
    noisy, fresh = np.c_[X, noise], rings(n=400, seed=1)
    test = np.c_[fresh[0], np.random.default_rng(1).normal(size=(400, 3))]
    space = {"C": (0.1, 1e3), "gamma": Log(2.0**-12, 8.0, per_feature=True)}
    loss = "squared_hinge" if search == "bfgs" else "hinge"
    ard = MarginSearchCV(SVC(loss=loss), space, search=search).fit(noisy, y)
    assert ard.best_params_["gamma"].shape == (5,)
    assert ard.best_params_["gamma"][:2].min() > ard.best_params_["gamma"][2:].max()
    one = MarginSearchCV(SVC()).fit(noisy, y)
    assert ard.score(test, fresh[1]) > one.score(test, fresh[1])


def test_pipeline(rings):
    X, y = rings()
    X = X * [1.0, 1e-3] + 5.0
    pipe = make_pipeline(StandardScaler(), SVC())
    model = MarginSearchCV(pipe, budget=20).fit(X, y)
    assert set(model.best_params_) == {"svc__C", "svc__gamma"}
    direct = MarginSearchCV(SVC(), budget=20).fit(StandardScaler().fit_transform(X), y)
    assert_allclose(list(model.best_params_.values()), [*direct.best_params_.values()])
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    assert model.fit(X, y, sample_weight=weights).n_features_in_ == 2
    for name in ("span", "gacv"):
        same = MarginSearchCV(pipe, budget=10, scoring=name).fit(X, y).best_score_
        own = MarginSearchCV(SVC(), budget=10, scoring=name)
        assert_allclose(same, own.fit(StandardScaler().fit_transform(X), y).best_score_)


def test_scale_for_each_feature_behind_a_transformer(rings):
    X, y = rings()
    pipe = make_pipeline(StandardScaler(), SVC())
    space = {"svc__gamma": Log(0.01, 10, per_feature=True)}
    model = MarginSearchCV(pipe, space, budget=20, search="bfgs").fit(X, y)
    assert model.best_params_["svc__gamma"].shape == (2,)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_more_classes(shape, rings):
    X, y = rings(n=90, n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    svc = SVC(decision_function_shape=shape)
    for scoring in (None, "loo_mix", "balanced_accuracy", "radius_margin"):
        model = MarginSearchCV(svc, budget=10, scoring=scoring).fit(X, labels)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.score(X, labels) > 0.6
    bfgs = MarginSearchCV(svc, search="bfgs", budget=10).fit(X, labels)
    assert bfgs.n_fits_ <= 10


@pytest.mark.parametrize("cv", [None, 3])
def test_precomputed_kernel(cv, rings):
    X, y = rings()
    K = rbf_kernel(X, gamma=0.5)
    space = {"C": [0.1, 1.0, 10.0]}
    given = MarginSearchCV(SVC(kernel="precomputed"), space, search="grid", cv=cv)
    own = MarginSearchCV(SVC(gamma=0.5), space, search="grid", cv=cv)
    given.fit(K, y), own.fit(X, y)
    assert given.__sklearn_tags__().input_tags.pairwise
    assert_allclose(
        given.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"]
    )
    assert list(MarginSearchCV(SVC(kernel="precomputed")).fit(K, y).best_params_) == [
        "C"
    ]


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, "frame", list])
def test_kinds_of_tables(make, cv, rings, require_package):
    X, y = rings()
    if make == "frame":
        make = require_package("pandas").DataFrame
    dense = MarginSearchCV(SVC(), budget=10, cv=cv).fit(X, y)
    other = MarginSearchCV(SVC(), budget=10, cv=cv).fit(make(X), y)
    # sums over another storage differ in the last digit, and so does the start
    for name, value in dense.best_params_.items():
        assert_allclose(other.best_params_[name], value, rtol=1e-6)


def test_weights_count_in_scores(rings):
    X, y = rings()
    weights = np.where(np.arange(len(y)) < 40, 1.0, 0.0)
    space = {"C": [0.1, 1.0, 10.0]}
    train = np.flatnonzero(np.arange(80) % 4 < 2)
    test = np.flatnonzero(np.arange(80) % 4 >= 2)
    for cv in (None, [(train, test)]):
        part = MarginSearchCV(SVC(gamma=1.0), space, search="grid", cv=cv)
        part.fit(X, y, sample_weight=weights)
        if cv is None:
            whole = MarginSearchCV(SVC(gamma=1.0), space, search="grid")
            whole.fit(X[:40], y[:40])
            scores = whole.cv_results_["mean_test_score"]
        else:
            train, test = train[:20], test[:20]
            half = [
                SVC(gamma=1.0, C=C).fit(X[train], y[train]).score(X[test], y[test])
                for C in space["C"]
            ]
            scores = np.array(half)
        assert_allclose(part.cv_results_["mean_test_score"], scores)


def test_groups_reach_the_splitter(rings):
    X, y = rings()
    groups = np.arange(len(y)) // 8
    model = MarginSearchCV(SVC(), {"C": [1.0, 2.0]}, search="grid", cv=GroupKFold(5))
    model.fit(X, y, groups=groups)
    expected = cross_val_score(SVC(C=1.0), X, y, cv=GroupKFold(5), groups=groups).mean()
    assert_allclose(model.cv_results_["mean_test_score"][0], expected)


def test_other_estimators_are_tuned_by_folds(rings):
    X, y = rings()
    model = MarginSearchCV(LogisticRegression(), {"C": (1e-3, 1e3)}, budget=12)
    assert model.fit(X, y).n_splits_ == 5
    assert model.n_fits_ == 5 * len(model.cv_results_["params"])
    ridge = MarginSearchCV(Ridge(), {"alpha": (1e-3, 1e3)}, search="zoom", budget=10)
    assert ridge.fit(X, X[:, 0] * 2).score(X, X[:, 0] * 2) > 0.99


def test_an_estimator_may_bring_its_own_space(rings):
    class Own(SVC):
        def default_search_space(self):
            return {"C": Log(1.0, 2.0)}

    X, y = rings()
    assert list(MarginSearchCV(Own(), budget=8).fit(X, y).best_params_) == ["C"]


def test_best_of_equal_settings_has_the_least_C():
    X = np.array([[-1.0], [-0.9], [0.9], [1.0]])
    y = np.array([0, 0, 1, 1])
    # hard margin from C = 1 on: the same machine
    space = {"C": [1000.0, 10.0, 100.0]}
    model = MarginSearchCV(SVC(gamma=0.5), space, search="grid").fit(X, y)
    assert model.best_params_ == {"C": 10.0}
    assert model.best_index_ == 1


def test_parameters_are_not_changed(rings):
    X, y = rings()
    estimator = SVC()
    search = MarginSearchCV(estimator, budget=8)
    before = estimator.get_params()
    search.fit(X, y)
    assert estimator.get_params() == before and not hasattr(estimator, "classes_")
    assert search.best_estimator_.max_iter == -1
    assert clone(search).get_params()["budget"] == 8


def test_without_refit(rings):
    X, y = rings()
    model = MarginSearchCV(SVC(), budget=8, refit=False).fit(X, y)
    assert not hasattr(model, "best_estimator_")
    assert not hasattr(model, "refit_time_")
    with pytest.raises(AttributeError, match="refit=False: no estimator"):
        model.predict(X)


def test_tables_have_a_line_for_each_setting(rings):
    X, y = rings()
    model = MarginSearchCV(SVC(), budget=20).fit(X, y)
    n = len(model.cv_results_["params"])
    assert {len(column) for column in model.cv_results_.values()} == {n}
    assert {len(column) for column in model.history_.values()} == {n}
    assert model.n_fits_ == model.cv_results_["n_fits"].sum() == n
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    assert model.history_["best_score"][-1] == model.best_score_
    assert (np.diff(model.history_["batch"]) >= 0).all()


def test_probabilities_come_from_the_estimator(rings):
    X, y = rings()
    with pytest.raises(AttributeError):
        MarginSearchCV(SVC()).predict_proba  # noqa: B018
    model = MarginSearchCV(SVC(calibration="loo"), budget=8).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.decision_function(X).shape == (len(y),)
