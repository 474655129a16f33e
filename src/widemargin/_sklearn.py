"""The seam to scikit-learn: whatever its releases may move is adapted here.

Only this file may import private scikit-learn names. Today it needs none: signatures
of the private weight helpers drift between releases, so the few lines that turn
weights into one vector are our own.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data


def _is_plain(X: Any, y: Any) -> bool:
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.flags.c_contiguous
        and type(y) is np.ndarray
        and y.ndim == 1
        and y.dtype.kind in "iufb"
        and len(X) == len(y)
        and X.shape[0] > 0
        and X.shape[1] > 0
    )


def validate_training(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """`validate_data` for fit: float64 rows, C order or canonical CSR.

    scikit-learn's own takes a third of a small fit; arrays that need no conversion
    pass after the one check that looks at the values. Whatever is wrong goes the long
    way, for its messages.
    """
    if _is_plain(X, y):
        with np.errstate(all="ignore"):
            finite = np.isfinite(X.sum()) and (
                y.dtype.kind != "f" or np.isfinite(y.sum())
            )
        if finite:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
            return X, y
    return _validated(estimator, X, y)


def validate_rows(estimator: Any, X: Any) -> Any:
    """`validate_data` for predict: the features of fit, float64."""
    return _validated(estimator, X, reset=False)


def _validated(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    try:
        out = validate_data(
            estimator, X, *y, reset=reset, dtype=np.float64, order="C",
            accept_sparse="csr", accept_large_sparse=True,
        )  # fmt: skip
    except ValueError as error:
        first = str(error).splitlines()[0] if str(error) else ""
        if not first.startswith("Input X contains"):
            raise
        place = _first_bad_place(X)
        raise ValueError(
            f"{first.rstrip('.')}{place}; remove the row, or put an imputer before the "
            "estimator"
        ) from None
    if y:
        return _canonical(out[0]), out[1]
    return _canonical(out)


def _first_bad_place(X: Any) -> str:
    """ " in row i, column j" of the first value that is not finite."""
    try:
        if sparse.issparse(X):
            entries = X.tocoo()
            bad = np.flatnonzero(~np.isfinite(entries.data))
            place = int(entries.row[bad[0]]), int(entries.col[bad[0]])
        else:
            values = np.asarray(X, np.float64)
            row, column = np.argwhere(~np.isfinite(values))[0]
            place = int(row), int(column)
    except (TypeError, ValueError, IndexError):
        return ""
    name = getattr(X, "columns", None)
    label = repr(name[place[1]]) if name is not None else place[1]
    return f" in row {place[0]}, column {label}"


def plain(label: Any) -> Any:
    """A label as Python prints it: 'a', not np.str_('a')."""
    return label.item() if isinstance(label, np.generic) else label


def _canonical(X: Any) -> Any:
    """CSR with sorted indices and no repetition; a copy only where X is not so."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(classes, position of each label in them); refuses a continuous target."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.rint(y)):
        check_classification_targets(y)
    try:
        return np.unique(y, return_inverse=True)
    except TypeError:
        kinds = sorted({type(plain(label)).__name__ for label in y})
        raise ValueError(
            f"y mixes labels of the types {', '.join(kinds)}: give all one type, for "
            "example y.astype(str), and remove rows without a label"
        ) from None


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Weights as float64 (n_samples,), or None; refuses negative and non-finite."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "sample_weight must be numbers, one for each row of X"
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected ({n_samples},): one "
            "weight for each row of X"
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight must be finite and >= 0, got {weights[bad[0]]} in row "
            f"{bad[0]}"
        )
    return weights


def class_weights(
    class_weight: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """One weight for each class: from a dict, or "balanced" by weighted counts."""
    ones = np.ones(len(classes))
    if class_weight is None:
        return ones
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}"
            )
        counts = np.bincount(codes, weights, len(classes))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(counts > 0, counts.sum() / (len(classes) * counts), 0.0)
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}"
        )
    labels = list(classes.tolist())
    known = [label for label in labels if label in class_weight]
    if len(known) < min(len(labels), len(class_weight)):
        unknown = [key for key in class_weight if key not in labels]
        raise ValueError(
            f"class_weight names {unknown}, which are not labels of y: {labels}"
        )
    for i, label in enumerate(labels):
        weight = float(class_weight.get(label, 1.0))
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(
                f"class_weight[{label!r}] must be finite and >= 0, got {weight}"
            )
        ones[i] = weight
    return ones


def votes_to_scores(
    winners: np.ndarray, confidences: np.ndarray, n_classes: int
) -> np.ndarray:
    """One-vs-one decisions as one score for each class, scikit-learn's convention.

    Votes, plus the summed confidences squeezed into (-1/3, 1/3), which break ties.
    winners (n, pairs): True where the first class of the pair wins; confidences
    (n, pairs): positive for the first class. Pairs in the order (0,1), (0,2), ...
    """
    votes = np.zeros((len(winners), n_classes))
    total = np.zeros((len(winners), n_classes))
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            total[:, i] += confidences[:, pair]
            total[:, j] -= confidences[:, pair]
            votes[winners[:, pair], i] += 1
            votes[~winners[:, pair], j] += 1
            pair += 1
    return votes + total / (3 * (np.abs(total) + 1))
