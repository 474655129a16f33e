"""Seeded generators."""

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import Dataset


def clusters(n: int, d: int, seed: int = 0) -> Dataset:
    """scikit-learn's make_classification: three clusters a class, 3 % wrong labels."""
    X, y = make_classification(
        n_samples=n, n_features=d, n_informative=10, n_redundant=2 if d > 10 else 0,
        n_clusters_per_class=3, flip_y=0.03, random_state=seed,
    )  # fmt: skip
    return Dataset(StandardScaler().fit_transform(X), y)


def gaussians(n: int, d: int, seed: int = 0) -> Dataset:
    """Two Gaussians of unit covariance; the best classifier errs by 10 %."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += np.where(y == 1, 1.0, -1.0) * norm.ppf(0.9)
    return Dataset(X, y)
