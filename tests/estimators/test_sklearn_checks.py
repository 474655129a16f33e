"""scikit-learn's estimator checks on every kind of SVC, no failure expected."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC

# Weights against repeated rows are compared at 1e-7, so the tolerance is a tight one.
TIGHT = 1e-8
# Some checks have data around 100: a polynomial of modest values even so.
POLY = {"kernel": "poly", "gamma": 1e-3, "coef0": 1.0, "degree": 2}


class Product:
    """A kernel that is a Python function; without an address in its name."""

    def __call__(self, left, right):
        return left @ right.T

    def __repr__(self):
        return "Product()"


VARIANTS = [
    SVC(tol=TIGHT),
    SVC(tol=TIGHT, loss="squared_hinge"),
    SVC(tol=TIGHT, kernel="linear"),
    SVC(tol=TIGHT, C=300.0, **POLY),
    SVC(tol=TIGHT, kernel="laplacian", n_jobs=2),
    SVC(tol=TIGHT, kernel="precomputed"),
    SVC(tol=TIGHT, kernel=Product()),
    SVC(tol=TIGHT, cache_size=1e-6),
    SVC(tol=TIGHT, calibration=2),
    SVC(tol=1e-3),
]
MORE = [
    SVC(tol=TIGHT, kernel="linear", loss="squared_hinge"),
    SVC(tol=TIGHT, loss="squared_hinge", C=0.1, **POLY),
    SVC(tol=TIGHT, kernel="sigmoid", gamma=0.01),
    SVC(tol=TIGHT, kernel="laplacian", loss="squared_hinge"),
    SVC(tol=TIGHT, kernel="exponential"),
    SVC(tol=TIGHT, kernel="exponential", loss="squared_hinge", C=10.0),
    SVC(tol=TIGHT, kernel="precomputed", loss="squared_hinge"),
    SVC(tol=TIGHT, gamma="auto", C=10.0),
    SVC(tol=TIGHT, gamma=0.1, decision_function_shape="ovo"),
    SVC(tol=TIGHT, break_ties=True),
    SVC(tol=TIGHT, shrinking=False),
    SVC(tol=TIGHT, shrinking=False, cache_size=1e-6),
    SVC(tol=TIGHT, cache_size=1e-6, loss="squared_hinge"),
    SVC(tol=TIGHT, cache_size=1e-6, kernel="laplacian"),
    SVC(tol=TIGHT, cache_size=1e-6, kernel="linear"),
    SVC(tol=TIGHT, cache_size=1e-6, kernel="exponential", loss="squared_hinge"),
    SVC(tol=TIGHT, class_weight="balanced"),
    SVC(tol=TIGHT, warm_start=True),
    SVC(tol=TIGHT, calibration=2, kernel="linear", loss="squared_hinge"),
    SVC(tol=TIGHT, calibration=3, decision_function_shape="ovo"),
    SVC(tol=TIGHT, calibration="loo"),
    SVC(tol=TIGHT, calibration="loo", loss="squared_hinge", kernel="laplacian"),
]


TRAIN = [
    "check_classifiers_train",
    "check_classifiers_train(readonly_memmap=True)",
    "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
]
WEIGHTS = [
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]


def _expected_failures(estimator):
    """What cannot hold; scikit-learn's own SVC is excepted or fails in the same way."""
    failures = {}
    if estimator.tol > 1e-4:
        reason = "a fit to a gap of 1e-3 does not agree with another one to 1e-7"
        failures.update(dict.fromkeys(WEIGHTS, reason))
    if estimator.calibration is not None:
        if estimator.calibration == "loo":
            reason = "of k copies one is left out, of a row of weight k all"
        else:
            reason = "folds of weighted and of repeated rows are not the same"
        failures.update(dict.fromkeys(WEIGHTS, reason))
    if estimator.decision_function_shape == "ovo":
        reason = "columns of decision_function are pairs, not classes"
        failures.update(dict.fromkeys(TRAIN, reason))
    elif estimator.calibration is not None and estimator.loss == "squared_hinge":
        reason = "near the boundary the most probable class need not be the predicted"
        failures.update(dict.fromkeys(TRAIN, reason))
    return failures


# Checks set max_iter as they like.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    VARIANTS, expected_failed_checks=_expected_failures, xfail_strict=True
)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    MORE, expected_failed_checks=_expected_failures, xfail_strict=True
)
def test_contract_of_more_variants(estimator, check):
    check(estimator)


def test_tags():
    assert is_classifier(SVC())
    tags = SVC().__sklearn_tags__()
    assert tags.input_tags.sparse and not tags.input_tags.pairwise
    assert tags.classifier_tags.multi_class
    tags = SVC(kernel="precomputed").__sklearn_tags__()
    assert tags.input_tags.pairwise and not tags.input_tags.sparse
    assert not SVC(kernel=Product()).__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_works_inside_others(n_classes, blobs):
    X, y = blobs(n_classes=n_classes)
    pipeline = make_pipeline(StandardScaler(), SVC(calibration=2))
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    assert search.predict_proba(X).shape == (120, n_classes)
    given = SVC(kernel="precomputed")
    scores = cross_val_score(given, X @ X.T, y, cv=3)  # slices both axes
    linear = cross_val_score(SVC(kernel="linear"), X, y, cv=3)
    np.testing.assert_allclose(scores, linear, atol=0.03)
    assert OneVsRestClassifier(SVC()).fit(X, y).score(X, y) > 0.6
    assert CalibratedClassifierCV(SVC(), cv=2).fit(X, y).score(X, y) > 0.6
    bagged = BaggingClassifier(SVC(), 3, random_state=0).fit(X, y)
    assert bagged.score(X, y) > 0.6
    model = SVC().fit(X, y)
    assert permutation_importance(model, X, y, n_repeats=2, random_state=0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
