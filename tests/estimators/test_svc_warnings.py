"""Warnings of SVC: what was found, where, and what helps."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin import SVC, DataScaleWarning


def _data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), np.tile([0, 1], 15)


def test_features_in_unlike_units():
    X, y = _data()
    expected = (
        "features in unlike units: the spread of column 1 is over 100 times the median "
        "spread, so the others hardly count. Put a StandardScaler before the estimator."
    )
    with pytest.warns(DataScaleWarning) as caught:
        SVC().fit(X * [1.0, 1000.0, 1.0], y)
    assert [str(w.message) for w in caught] == [expected]
    assert caught[0].filename == __file__
    rng = np.random.default_rng(0)
    many = rng.normal(size=(30, 20)) * np.r_[np.ones(13), np.arange(1, 8) * 1e4]
    with pytest.warns(DataScaleWarning) as caught:
        SVC().fit(many, y)
    assert "columns 19, 18, 17, 16 and 3 more is over" in str(caught[0].message)
    SVC().fit(X * [1.0, 50.0, 1.0], y)  # no warning, which would be an error
    SVC().fit(sparse.csr_array(X * [1.0, 1000.0, 1.0]), y)
    assert issubclass(widemargin.DataScaleWarning, UserWarning)


def test_columns_are_named_where_they_have_names(require_package):
    pandas = require_package("pandas")
    X, y = _data()
    frame = pandas.DataFrame(X * [1.0, 1.0, 1e5], columns=["age", "height", "income"])
    with pytest.warns(DataScaleWarning, match="the spread of column income is over"):
        SVC().fit(frame, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_that_did_not_converge(n_classes):
    X, y = _data()
    y = np.arange(30) % n_classes
    with pytest.warns(ConvergenceWarning) as caught:
        model = SVC(C=100.0, max_iter=5).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    gap = np.max(model.kkt_gap_)
    assert str(caught[0].message) == (
        f"SVC ended (max_iter) with KKT gap {gap:.3g} after 5 iterations; tol=0.001 "
        "was asked. Scale the features, raise max_iter, lower C or loosen tol."
    )
    assert model.converged_ is False
    assert np.all(np.isfinite(model.decision_function(X)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SVC(C=100.0).fit(X, y).converged_
