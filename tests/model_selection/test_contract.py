"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC
from widemargin.model_selection import MarginSearchCV


@parametrize_with_checks(
    [
        MarginSearchCV(SVC(tol=1e-8), {"C": [0.5, 5.0]}, search="grid"),
        MarginSearchCV(LogisticRegression(), {"C": (0.1, 10.0)}, cv=2, budget=6),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_only_what_the_estimator_can(rings):
    with pytest.raises(AttributeError):
        MarginSearchCV(SVC()).transform  # noqa: B018
