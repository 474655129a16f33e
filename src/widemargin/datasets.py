"""Seeded generators of two-class problems with a known shape.

All return ``X`` of shape (n_samples, n_features), float64, and ``y`` of 0 and 1, and
take ``random_state``: an int or a NumPy Generator. NumPy's global generator is never
used. The first six are the kinds of artificial sets on which the tuning of support
vector machines by evolution strategies was studied; the last three are Breiman's.
"""

import numpy as np

Sample = tuple[np.ndarray, np.ndarray]
Seed = int | np.random.Generator | None


def _labels(rng: np.random.Generator, n: int, share: float = 0.5) -> np.ndarray:
    """Shuffled labels with a share of ones, at least one of each."""
    ones = min(max(1, round(n * share)), n - 1)
    y = np.zeros(n, np.intp)
    y[:ones] = 1
    return rng.permutation(y)


def _with_noise(
    rng: np.random.Generator, X: np.ndarray, n_noise: int, low: float, high: float
) -> np.ndarray:
    """Columns of uniform noise to the right."""
    noise = rng.uniform(low, high, size=(len(X), n_noise))
    return np.hstack([X, noise])


def make_gaussians(
    n_samples: int = 200,
    *,
    share: float = 0.5,
    distance: float = 2.0,
    random_state: Seed = 0,
) -> Sample:
    """Two overlapping round Gaussians in the plane; `share` of class 1.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows, >= 2.
    share : float, default=0.5
        Share of class 1: 0.5 is the balanced set, 0.1 the unbalanced one.
    distance : float, default=2.0
        Between the means, in standard deviations.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples, share)
    X = rng.normal(size=(n_samples, 2))
    X[:, 0] += distance * (y - 0.5)
    return X, y


def make_checkerboard(
    n_samples: int = 600,
    *,
    cells: int = 4,
    n_noise_features: int = 0,
    random_state: Seed = 0,
) -> Sample:
    """Uniform on a board of cells x cells; the class is the colour of the cell.

    Parameters
    ----------
    n_samples : int, default=600
        Number of rows.
    cells : int, default=4
        Cells along a side.
    n_noise_features : int, default=0
        Columns to the right that have the same distribution and say nothing.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0.0, cells, size=(n_samples, 2))
    y = (np.floor(X).sum(axis=1) % 2).astype(np.intp)
    return _with_noise(rng, X, n_noise_features, 0.0, cells), y


def make_curves(
    n_samples: int = 300, *, noise: float = 0.15, random_state: Seed = 0
) -> Sample:
    """Two sine curves, one above the other.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    noise : float, default=0.15
        Standard deviation across the curves, which are 0.6 apart.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples)
    t = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    height = np.sin(t) + 0.6 * y + noise * rng.normal(size=n_samples)
    return np.column_stack([t, height]), y


def make_rings(
    n_samples: int = 300, *, noise: float = 0.2, random_state: Seed = 0
) -> Sample:
    """A ring of radius 2 around a ring of radius 1.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    noise : float, default=0.2
        Standard deviation of the radius.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples)
    angle = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    radius = 1.0 + y + noise * rng.normal(size=n_samples)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def make_crossed_rings(
    n_samples: int = 300, *, noise: float = 0.1, random_state: Seed = 0
) -> Sample:
    """Two rings of radius 1 whose centres are 1 apart, so that they cross twice.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    noise : float, default=0.1
        Standard deviation of the radius.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples)
    angle = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    radius = 1.0 + noise * rng.normal(size=n_samples)
    X = np.column_stack([radius * np.cos(angle) + y, radius * np.sin(angle)])
    return X, y


def make_twonorm(
    n_samples: int = 400, *, n_features: int = 20, random_state: Seed = 0
) -> Sample:
    """Unit Gaussians at (a, ..., a) and (-a, ..., -a), a = 2 / sqrt(n_features).

    Bayes error 2.3 %. L. Breiman, Bias, variance, and arcing classifiers (1996).

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows.
    n_features : int, default=20
        Number of columns.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples)
    a = 2.0 / np.sqrt(n_features)
    return rng.normal(size=(n_samples, n_features)) + a * (2 * y - 1)[:, None], y


def make_ringnorm(
    n_samples: int = 400, *, n_features: int = 20, random_state: Seed = 0
) -> Sample:
    """A Gaussian of variance 4 at 0, and a unit one at (a, ..., a), a = 1/sqrt(d).

    L. Breiman (1996) as used by most since; a = 1 / sqrt(n_features).

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows.
    n_features : int, default=20
        Number of columns.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[y == 0] *= 2.0
    X[y == 1] += 1.0 / np.sqrt(n_features)
    return X, y


def make_waveform(n_samples: int = 400, *, random_state: Seed = 0) -> Sample:
    """Mixtures of two of three triangular waves with noise; class 1 is the first kind.

    21 columns. L. Breiman et al., Classification and Regression Trees (1984), with the
    second and third kind put together.

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows.
    random_state : int or Generator, default=0
        Seed.

    Returns
    -------
    X, y : ndarray
    """
    rng = np.random.default_rng(random_state)
    place = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(place - np.array([[11], [7], [15]])), 0)
    kind = rng.integers(3, size=n_samples)
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[kind].T
    u = rng.random((n_samples, 1))
    X = u * waves[first] + (1 - u) * waves[second] + rng.normal(size=(n_samples, 21))
    return X, (kind == 0).astype(np.intp)
