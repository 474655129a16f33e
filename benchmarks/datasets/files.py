"""Public sets in the folder ``shared/data`` beside the repository.

The environment variable WIDEMARGIN_DATA names another folder of the same layout.
"""

import gzip
import os
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import Dataset, MissingDataError


def _folder() -> Path:
    named = os.environ.get("WIDEMARGIN_DATA")
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "data"


def _find(name: str) -> Path:
    path = _folder() / name
    if not path.is_file():
        raise MissingDataError(f"no file {name}; WIDEMARGIN_DATA may name its folder")
    return path


def _libsvm(name: str, n_features: int | None = None) -> Dataset:
    with gzip.open(_find(name), "rb") as file:
        X, y = load_svmlight_file(file, n_features=n_features)
    return Dataset(sparse.csr_matrix(X), y.astype(np.int64))


def _npz(name: str) -> Dataset:
    with np.load(_find(name)) as content:
        return Dataset(content["X"].astype(np.float64), content["y"])


def ijcnn1() -> Dataset:
    """Validation part of ijcnn1, 14,990 x 22, two classes of which one is 10 %."""
    X, y = _libsvm("libsvm/ijcnn1.val.gz")
    return Dataset(X.toarray(), y)


def letter() -> Dataset:
    """letter, 15,000 x 16 in [-1, 1], 26 classes."""
    X, y = _libsvm("libsvm/letter.scale.gz")
    return Dataset(X.toarray(), y)


def a9a() -> Dataset:
    """The first 16,000 rows of a9a, 123 columns of zeros and ones, as CSR."""
    X, y = _libsvm("libsvm/a9a.gz", n_features=123)
    return Dataset(X[:16_000], y[:16_000])


def a9a_dense() -> Dataset:
    """The same as an array, which LIBSVM prefers."""
    X, y = a9a()
    return Dataset(X.toarray(), y)


def usps() -> Dataset:
    """usps, 7,291 x 256 grey values in [-1, 1], 10 digits."""
    return _npz("dense/usps_train.npz")


def shuttle() -> Dataset:
    """shuttle, 58,000 x 9 standardised, the largest class against the rest."""
    X, y = _npz("dense/shuttle.npz")
    values, counts = np.unique(y, return_counts=True)
    largest = values[np.argmax(counts)]
    return Dataset(StandardScaler().fit_transform(X), (y == largest).astype(int))


def digits() -> Dataset:
    """scikit-learn's own digits, 1,797 x 64 in [0, 1], 10 classes."""
    X, y = load_digits(return_X_y=True)
    return Dataset(X / 16.0, y)
