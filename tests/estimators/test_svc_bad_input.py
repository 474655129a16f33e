"""What is wrong is said in one line: the parameter, its value, what would be right."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from widemargin import SVC

KERNEL_NAMES = (
    "'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'exponential', 'precomputed'"
)
WEIGHT_KINDS = "class_weight must be a dict, 'balanced' or None"
REMEDY = "remove the row, or put an imputer before the estimator"
NO_WEIGHT = (
    "sample_weight and class_weight are zero for all samples but those of {} "
    "class(es); SVC needs samples of 2"
)
SEED_KINDS = "random_state must be None, a whole number, a Generator or a RandomState"


def _data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), np.tile([0, 1], 15)


def _message(error, parameters, X=None, y=None, sample_weight=None):
    """The message of a fit that must fail."""
    given_X, given_y = _data()
    X, y = given_X if X is None else X, given_y if y is None else y
    with pytest.raises(error) as raised:
        SVC(**parameters).fit(X, y, sample_weight)
    assert raised.type is error
    message = str(raised.value)
    assert "\n" not in message
    return message


REFUSED = [
    ("C", 0, "C must be > 0, got 0"),
    ("C", -1.0, "C must be > 0, got -1.0"),
    ("C", np.nan, "C must be > 0, got nan"),
    ("kernel", "rbff", f"kernel must be one of {KERNEL_NAMES}, got 'rbff'"),
    ("kernel", None, f"kernel must be one of {KERNEL_NAMES}, got None"),
    ("gamma", -1, "gamma must be >= 0, got -1"),
    ("gamma", np.nan, "gamma must be >= 0, got nan"),
    ("gamma", "scal", "gamma must be one of 'scale', 'auto', got 'scal'"),
    ("gamma", [1, 2], "gamma has shape (2,), but X has 3 features: give one scale for "
     "each"),
    ("gamma", [1, -2, 3], "gamma[1] must be >= 0, got -2.0"),
    ("gamma", [1, 2, np.nan], "gamma[2] must be >= 0, got nan"),
    ("degree", -1, "degree must be >= 0, got -1"),
    ("coef0", np.inf, "coef0 must be finite, got inf"),
    ("loss", "hing", "loss must be one of 'hinge', 'squared_hinge', got 'hing'"),
    ("tol", 0, "tol must be > 0, got 0"),
    ("tol", -1e-3, "tol must be > 0, got -0.001"),
    ("max_iter", -2, "max_iter must be >= -1, got -2"),
    ("cache_size", 0, "cache_size must be > 0, got 0"),
    ("cache_size", -5, "cache_size must be > 0, got -5"),
    ("decision_function_shape", "ovx", "decision_function_shape must be one of 'ovr', "
     "'ovo', got 'ovx'"),
    ("class_weight", "balance", f"{WEIGHT_KINDS}, got 'balance'"),
    ("class_weight", [1, 2], f"{WEIGHT_KINDS}, got [1, 2]"),
    ("class_weight", {5: 1.0}, "class_weight names [5], which are not labels of y: "
     "[0, 1]"),
    ("class_weight", {0: -1.0}, "class_weight[0] must be finite and >= 0, got -1.0"),
    ("class_weight", {1: np.nan}, "class_weight[1] must be finite and >= 0, got nan"),
    ("random_state", "a", f"{SEED_KINDS}, got 'a'"),
    ("n_jobs", 0, "n_jobs must be None or not 0; -1 takes all cores, got 0"),
    ("C", np.inf, "C must be > 0 and finite, got inf"),
    ("gamma", np.inf, "gamma must be >= 0 and finite, got inf"),
    ("coef0", -np.inf, "coef0 must be finite, got -inf"),
    ("tol", np.inf, "tol must be > 0 and finite, got inf"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_values_refused(name, value, message):
    assert _message(ValueError, {name: value}) == message


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("C", "1", "a number"),
        ("C", None, "a number"),
        ("C", True, "a number"),
        ("C", [1.0], "a number"),
        ("gamma", None, "a number"),
        ("degree", "3", "a whole number"),
        ("coef0", None, "a number"),
        ("tol", "a", "a number"),
        ("cache_size", "200", "a number"),
        ("max_iter", 2.5, "a whole number"),
        ("max_iter", None, "a whole number"),
        ("shrinking", "yes", "True or False"),
        ("break_ties", 1, "True or False"),
        ("warm_start", None, "True or False"),
        ("n_jobs", 1.5, "a whole number"),
        ("n_jobs", "a", "a whole number"),
        ("degree", 2.5, "a whole number"),
    ],
)
def test_types_refused(name, value, kind):
    assert _message(TypeError, {name: value}) == f"{name} must be {kind}, got {value!r}"


def test_parameters_that_do_not_go_together():
    message = _message(ValueError, {"kernel": "linear", "gamma": [1, 2, 3]})
    assert message == (
        "gamma may be an array (one scale for each feature) only with kernel='rbf', "
        "got kernel='linear'"
    )
    both = {"break_ties": True, "decision_function_shape": "ovo"}
    assert _message(ValueError, both) == (
        "break_ties must be False when decision_function_shape is 'ovo': ties are "
        "broken by the 'ovr' scores"
    )


def test_probability_points_to_calibration():
    with pytest.raises(TypeError) as raised:
        SVC(probability=True)
    assert str(raised.value) == (
        "SVC takes no probability: calibration=5 (folds) or calibration='loo' gives "
        "predict_proba"
    )
    with pytest.raises(TypeError, match="wrong"):
        SVC(wrong=True)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_where_X_is_not_finite(storage, value):
    X, y = _data()
    model = SVC().fit(X, y)
    bad = X.copy()
    bad[4, 1] = value
    what = (
        "NaN"
        if np.isnan(value)
        else "infinity or a value too large for dtype('float64')"
    )
    expected = f"Input X contains {what} in row 4, column 1; {REMEDY}"
    assert _message(ValueError, {}, storage(bad)) == expected
    assert _predict_error(model, storage(bad)) == expected


def test_where_a_frame_is_not_finite(require_package):
    pandas = require_package("pandas")
    X, y = _data()
    X[7, 2] = np.nan
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    assert _message(ValueError, {}, frame, y) == (
        f"Input X contains NaN in row 7, column 'c'; {REMEDY}"
    )


def _predict_error(model, X):
    with pytest.raises(ValueError) as raised:
        model.predict(X)
    return str(raised.value)


@pytest.mark.parametrize("label", [0, 1.0, "a", True])
def test_one_class_only(label):
    message = _message(ValueError, {}, y=np.full(30, label))
    assert message == (
        f"SVC needs samples of at least 2 classes in y, got 1 class: {label!r}"
    )


def test_targets_refused():
    X, y = _data()
    message = _message(ValueError, {}, y=X[:, 0])
    assert "Unknown label type: continuous" in message
    assert "y" in _message(ValueError, {}, y=np.where(y, np.nan, 1.0))
    assert _message(ValueError, {}, y=np.column_stack((y, y))) == (
        "y should be a 1d array, got an array of shape (30, 2) instead."
    )
    assert "inconsistent numbers of samples: [30, 29]" in _message(
        ValueError, {}, y=y[:-1]
    )


@pytest.mark.parametrize(
    ("labels", "types"), [([None, "a"], "NoneType, str"), ([1, "a"], "int, str")]
)
def test_targets_that_cannot_be_sorted(labels, types):
    y = np.array(labels * 15, object)
    assert _message(ValueError, {}, y=y) == (
        f"y mixes labels of the types {types}: give all one type, for example "
        "y.astype(str), and remove rows without a label"
    )


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (-np.ones(30), "sample_weight must be finite and >= 0, got -1.0 in row 0"),
        (np.where(np.arange(30) == 7, np.nan, 1.0),
         "sample_weight must be finite and >= 0, got nan in row 7"),
        (np.where(np.arange(30) == 7, np.inf, 1.0),
         "sample_weight must be finite and >= 0, got inf in row 7"),
        (np.ones(29), "sample_weight.shape == (29,), expected (30,): one weight for "
         "each row of X"),
        (np.ones((30, 1)), "sample_weight.shape == (30, 1), expected (30,): one weight "
         "for each row of X"),
        (1.0 * (np.arange(30) % 2), NO_WEIGHT.format(1)),
        (np.zeros(30), NO_WEIGHT.format(0)),
        (["a"] * 30, "sample_weight must be numbers, one for each row of X"),
    ],
)  # fmt: skip
def test_weights_refused(sample_weight, message):
    assert _message(ValueError, {}, sample_weight=sample_weight) == message


def test_a_class_of_weight_zero():
    assert _message(ValueError, {"class_weight": {1: 0.0}}) == NO_WEIGHT.format(1)
    parameters = {"class_weight": "balanced"}
    zeros = np.zeros(30)
    message = _message(ValueError, parameters, sample_weight=zeros)
    assert message == NO_WEIGHT.format(0)


def test_shapes_refused():
    X, y = _data()
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        SVC().fit(X[:, 0], y)
    assert "0 sample(s)" in _message(ValueError, {}, X[:0], y[:0])
    assert "0 feature(s)" in _message(ValueError, {}, X[:, :0])
    assert _message(ValueError, {"kernel": "precomputed"}) == (
        "Precomputed matrix must be a square matrix: kernel='precomputed' takes the "
        "(n_samples, n_samples) Gram matrix in fit, got (30, 3)"
    )
    square = sparse.csr_array(X @ X.T)
    assert _message(TypeError, {"kernel": "precomputed"}, square) == (
        "Sparse precomputed kernels are not supported: give the Gram matrix as a dense "
        "array, for example K.toarray()"
    )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_wrong_width_at_predict(storage):
    X, y = _data()
    model = SVC().fit(storage(X), y)
    for width in (2, 5):
        rows = storage(np.ones((4, width)))
        for method in (model.predict, model.decision_function):
            with pytest.raises(ValueError) as raised:
                method(rows)
            assert str(raised.value) == (
                f"X has {width} features, but SVC is expecting 3 features as input."
            )
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        model.predict(X[0])
    given = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="X has 5 features, but SVC is expecting 30"):
        given.predict(np.ones((2, 5)))


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_before_fit(method):
    X, _ = _data()
    with pytest.raises(NotFittedError, match="This SVC instance is not fitted yet"):
        getattr(SVC(calibration=2), method)(X)
    with pytest.raises(NotFittedError):
        _ = SVC(kernel="linear").coef_


def test_a_function_of_the_wrong_shape_or_without_values():
    def flat(left, right):
        return np.ones(len(left))

    assert _message(ValueError, {"kernel": flat}) == (
        "the kernel function must return an array of shape (30, 30) for blocks of 30 "
        "and 30 rows, got (30,)"
    )

    def nothing(left, right):
        return np.full((len(left), len(right)), np.nan)

    assert "not finite" in _message(ValueError, {"kernel": nothing})
