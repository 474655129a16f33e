"""Small sets for hyperparameter search, and their seeded splits.

The classical ones are pools of rows beside the repository (see `files`), split at
random into the usual sizes; the artificial ones are drawn anew for every split.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import Dataset
from benchmarks.datasets.files import _npz
from widemargin.datasets import (
    make_checkerboard,
    make_crossed_rings,
    make_curves,
    make_gaussians,
    make_rings,
)

# Rows of an artificial set on which its error is measured.
N_TEST = 2_000
NOISE_FEATURES = 8


class Split(NamedTuple):
    """Both parts, standardised by the training part."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Pool(NamedTuple):
    """Where rows come from, and how many are learnt from."""

    n_train: int
    load: Callable[[int, int], Dataset]  # of (number of rows, seed)


def _file(name: str) -> Callable[[int, int], Dataset]:
    return lambda n, seed: _npz(f"svm/{name}.npz")


def _noisy_banana(n: int, seed: int) -> Dataset:
    X, y = _npz("svm/banana.npz")
    noise = np.random.default_rng([seed, 8]).normal(size=(len(X), NOISE_FEATURES))
    return Dataset(np.hstack([StandardScaler().fit_transform(X), noise]), y)


def _drawn(make: Callable, **settings: float) -> Callable[[int, int], Dataset]:
    return lambda n, seed: Dataset(*make(n, random_state=seed, **settings))


def _own(load: Callable) -> Callable[[int, int], Dataset]:
    return lambda n, seed: Dataset(*load(return_X_y=True))


POOLS = {
    "banana": Pool(400, _file("banana")),
    "waveform": Pool(400, _file("waveform")),
    "ringnorm": Pool(400, _file("ringnorm")),
    "german": Pool(700, _file("german")),
    "heart": Pool(170, _file("heart")),
    "thyroid": Pool(140, _file("thyroid")),
    "breast-cancer": Pool(200, _file("breast_cancer")),
    "image": Pool(1300, _file("image")),
    "banana + 8 noise": Pool(400, _noisy_banana),
    "balanced": Pool(200, _drawn(make_gaussians)),
    "unbalanced": Pool(200, _drawn(make_gaussians, share=0.1)),
    "checkerboard": Pool(400, _drawn(make_checkerboard)),
    "two curves": Pool(300, _drawn(make_curves)),
    "two rings": Pool(300, _drawn(make_rings)),
    "crossed rings": Pool(300, _drawn(make_crossed_rings)),
    "iris": Pool(100, _own(load_iris)),
    "wine": Pool(118, _own(load_wine)),
    "digits": Pool(300, _own(load_digits)),
}


def split(name: str, seed: int) -> Split:
    """Split number `seed` of a set: the same rows for everybody."""
    pool = POOLS[name]
    X, y = pool.load(pool.n_train + N_TEST, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: pool.n_train], order[pool.n_train :]
    scaler = StandardScaler().fit(X[train])
    return Split(
        scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    )
