"""What is refused, and in which words."""

import re

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.model_selection import Integer, Log, MarginSearchCV

ARD = Log(0.1, 1, per_feature=True)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (
            MarginSearchCV(SVC(), search="cma"),
            "search must be one of 'cmaes', 'zoom', 'grid', 'line', 'bfgs', got 'cma'",
        ),
        (
            MarginSearchCV(SVC(), {"gama": (0.1, 1)}),
            "space names 'gama', which is not a parameter of SVC; did you mean "
            "'gamma'?",
        ),
        (
            MarginSearchCV(LogisticRegression()),
            "space=None needs an estimator with a space of its own, such as SVC; "
            "LogisticRegression has none: give a dict from parameter name to Log, "
            "Linear, Integer or a list",
        ),
        (
            MarginSearchCV(LogisticRegression(), {"C": (0.1, 1)}, cv="loo"),
            "cv='loo' needs an estimator with leave-one-out margins (widemargin.SVC, "
            "or a pipeline that ends in it); LogisticRegression has none: give a "
            "number of folds, for example cv=5",
        ),
        (
            MarginSearchCV(SVC(), cv="five"),
            "cv must be None, 'loo', a number of folds or a splitter, got 'five'",
        ),
        (MarginSearchCV(SVC(), cv=1), "cv must be at least 2 folds, got 1"),
        (
            MarginSearchCV(make_pipeline(SelectKBest(k=1), SVC())),
            "the step 'selectkbest' (SelectKBest) learns from the labels, so "
            "leave-one-out margins would be too good: the row left out has taken part "
            "in it. Give a number of folds, for example cv=5",
        ),
        (
            MarginSearchCV(LogisticRegression(), {"C": (0.1, 1)}, scoring="span"),
            "scoring='span' comes from a single fit and needs widemargin.SVC; "
            "LogisticRegression cannot give it. With folds, give a scikit-learn scorer "
            "such as 'accuracy'",
        ),
        (
            MarginSearchCV(SVC(), scoring="loo_error", cv=5),
            "scoring='loo_error' comes from a single fit and needs cv=None or "
            "cv='loo'. With folds, give a scikit-learn scorer such as 'accuracy'",
        ),
        (
            MarginSearchCV(SVC(), search="bfgs", scoring="loo_error"),
            "search='bfgs' follows a gradient, which only scoring='radius_margin' has, "
            "got 'loo_error'; other criteria: search='cmaes'",
        ),
        (
            MarginSearchCV(SVC(kernel="poly"), search="bfgs"),
            "search='bfgs' has the gradient of kernel='rbf' only, got 'poly'; others: "
            "search='cmaes'",
        ),
        (
            MarginSearchCV(SVC(), search="bfgs", cv=5),
            "search='bfgs' needs widemargin.SVC (or a pipeline that ends in it) and "
            "cv=None or 'loo'",
        ),
        (
            MarginSearchCV(SVC(), {"degree": Integer(2, 3)}, search="bfgs"),
            "search='bfgs' moves C and gamma on Log ranges only, got degree: "
            "Integer(low=2, high=3)",
        ),
        (
            MarginSearchCV(SVC(), {"C": (1, 2), "gamma": ARD}, search="line"),
            "search='line' needs a space of exactly C and gamma, both Log and not per "
            "feature, got C, gamma; other spaces: search='cmaes'",
        ),
        (
            MarginSearchCV(SVC(), {"C": [1, 2]}),
            "space['C'] is a list of values, which search='cmaes' cannot walk along: "
            "use search='grid' or 'zoom', or give a range",
        ),
        (
            MarginSearchCV(SVC(), budget=5),
            "budget=5 is too small: search='cmaes' needs at least 8 settings with 2 "
            "parameters (the start, one generation and the mean)",
        ),
        (MarginSearchCV(SVC(), budget=0), "budget must be >= 1, got 0"),
        (MarginSearchCV(SVC(), max_time=0), "max_time must be > 0, got 0"),
        (MarginSearchCV(SVC(), refit="f1"), "refit must be True or False, got 'f1'"),
        (
            MarginSearchCV(SVC),
            "estimator must be an estimator with fit, got <class "
            "'widemargin.estimators.svc.SVC'>",
        ),
        (
            MarginSearchCV(SVC(), scoring=["f1"]),
            "scoring must be a name, a scorer or None, got ['f1']; one at a time",
        ),
    ],
    ids=lambda value: "" if isinstance(value, MarginSearchCV) else value[:30],
)
def test_message(search, message, rings):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        search.fit(*rings())


def test_unknown_scoring_names_the_nearest(rings):
    with pytest.raises(ValueError, match=r"got 'loo_eror'; did you mean 'loo_error'\?"):
        MarginSearchCV(SVC(), scoring="loo_eror").fit(*rings())
    with pytest.raises(ValueError, match=r"got 'acuracy'; did you mean 'accuracy'\?"):
        MarginSearchCV(SVC(), scoring="acuracy", cv=3).fit(*rings())


def test_transformers_inside_others_are_looked_at(rings):
    union = FeatureUnion([("a", StandardScaler()), ("b", SelectKBest(k=1))])
    with pytest.raises(ValueError, match=r"'featureunion' \(FeatureUnion\) learns"):
        MarginSearchCV(make_pipeline(union, SVC())).fit(*rings())
    for step in (VarianceThreshold(), StandardScaler(), "passthrough"):
        MarginSearchCV(make_pipeline(step, SVC()), budget=8).fit(*rings())
    pipe = make_pipeline(union, SVC())
    MarginSearchCV(pipe, cv=3, budget=8).fit(*rings())


def test_folds_of_one_class(rings):
    X, y = rings()
    order = np.argsort(y, kind="stable")
    names = np.array(["left", "right"])[y[order]]
    message = (
        "fold 0 of 2 trains on one class only ('right'): use fewer folds, or a "
        "splitter that keeps the classes together, such as StratifiedKFold"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MarginSearchCV(SVC(), cv=KFold(2)).fit(X[order], names)


def test_weights_for_an_estimator_without(rings):
    X, y = rings()
    search = MarginSearchCV(KNeighborsClassifier(), {"n_neighbors": Integer(1, 5)})
    message = "KNeighborsClassifier.fit does not take sample_weight"
    with pytest.raises(TypeError, match=message):
        search.fit(X, y, sample_weight=np.ones(len(y)))


class Moody(SVC):
    """Cannot be fitted with a C above 1."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1:
            raise RuntimeError("not today")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("search", ["cmaes", "zoom", "grid", "line", "bfgs"])
def test_failures_are_recorded_and_passed(search, cv, rings):
    if search == "bfgs" and cv:
        return
    X, y = rings()
    # the neutral start, C = 4, fails too; BFGS cannot leave it
    high = 0.9 if search == "bfgs" else 100.0
    space = {"C": (0.01, high), "gamma": (0.1, 10.0)}
    model = MarginSearchCV(Moody(), space, search=search, budget=40, cv=cv).fit(X, y)
    assert model.best_params_["C"] <= 1
    results = model.cv_results_
    for p, status, error, score in zip(
        results["params"], results["status"], results["error"],
        results["mean_test_score"], strict=True,
    ):  # fmt: skip
        failed = p["C"] > 1
        assert (status == "failed") == failed
        assert error == ("RuntimeError: not today" if failed else "")
        assert np.isnan(score) == failed
    assert results["rank_test_score"][model.best_index_] == 1


def test_all_fail(rings):
    X, y = rings()
    search = MarginSearchCV(Moody(), {"C": (10, 100)}, budget=10)
    with pytest.raises(
        ValueError, match="all 10 settings failed: RuntimeError: not today"
    ):
        search.fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="settings failed: ValueError: Input X contai"):
        MarginSearchCV(SVC(), budget=8).fit(X, y)


def test_hopeless_settings_are_ended_and_ranked_last(rings, recwarn, monkeypatch):
    from widemargin.model_selection import evaluate

    monkeypatch.setattr(evaluate, "STEPS_PER_ROW", 5)
    X, y = rings()
    y = np.where(np.arange(len(y)) < 6, 1 - y, y)  # no separation
    space = {"C": [1.0, 1e6], "gamma": [0.5]}
    model = MarginSearchCV(SVC(), space, search="grid").fit(X, y)
    assert model.cv_results_["status"].tolist() == ["ok", "max_iter"]
    assert model.best_params_["C"] == 1.0
    assert not len(recwarn)


def test_useless_settings_are_ranked_last(rings):
    X, y = rings()
    # without a free support vector, and a constant prediction
    space = {"C": [1e-4, 1.0], "gamma": [1.0]}
    model = MarginSearchCV(SVC(), space, search="grid").fit(X, y)
    assert model.cv_results_["status"].tolist() == ["degenerate", "ok"]
