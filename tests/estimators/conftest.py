"""Data that the tests of estimators share."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import StandardScaler

Data = tuple[np.ndarray, np.ndarray]


@cache
def _load(name: str) -> Data:
    match name:
        case "iris":
            X, y = load_iris(return_X_y=True)
            return StandardScaler().fit_transform(X), y
        case "cancer":
            X, y = load_breast_cancer(return_X_y=True)
            return StandardScaler().fit_transform(X), np.array(["no", "yes"])[y]
        case "digits":
            X, y = load_digits(return_X_y=True)
            return X[:400] / 16.0, y[:400]
    raise ValueError(name)


@pytest.fixture(scope="session")
def load() -> Callable[[str], Data]:
    """Data by name: iris (3 classes), cancer (2, words), digits (10), all scaled."""
    return _load


@pytest.fixture
def blobs(global_random_seed) -> Callable[..., Data]:
    """Overlapping Gaussians: (n, d), standardised, and labels."""

    def make(n: int = 120, d: int = 4, n_classes: int = 2, seed: int = 0) -> Data:
        rng = np.random.default_rng((global_random_seed, seed))
        y = np.arange(n) % n_classes
        rng.shuffle(y)
        centres = rng.normal(size=(n_classes, d))
        X = centres[y] + 0.8 * rng.normal(size=(n, d))
        return (X - X.mean(axis=0)) / X.std(axis=0), y

    return make


@pytest.fixture
def decisions(blobs: Callable[..., Data]) -> Callable[..., np.ndarray]:
    """Decisions of a model of three classes on rows that were not in its fit."""
    X, y = blobs(n_classes=3)
    test, _ = blobs(n=40, seed=1)

    def decide(
        model: Any,
        change: Callable[[np.ndarray], Any] = lambda Z: Z,
        order: Any = slice(None),
    ) -> np.ndarray:
        model.set_params(decision_function_shape="ovo")
        model.fit(change(X[order]), y[order])
        return model.decision_function(change(test))

    return decide
