"""What the estimators share: checks of parameters, kernels from them, warnings."""

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin.kernel_function import KERNELS, Kernel
from widemargin.progress import Callback, Reporter, listening, to_stderr

# A column this many times wider than the median one drowns the others.
SCALE_RATIO = 100.0
# The most columns a warning names.
NAMED_COLUMNS = 4


class DataScaleWarning(UserWarning):
    """Features in unlike units: the largest ones decide alone."""


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    open_low: bool = False,
    whole: bool = False,
) -> None:
    """Raise unless `value` is a number in the range; the message gives the range."""
    kind = Integral if whole else Real
    right = isinstance(value, kind) and not isinstance(value, bool)
    right = right or (isinstance(value, np.number) and np.isscalar(value))
    if not right:
        word = "a whole number" if whole else "a number"
        raise TypeError(f"{name} must be {word}, got {value!r}")
    above = value > low if open_low else value >= low
    if not (above and value <= high and np.isfinite(value)):
        limits = ["finite"] if np.isinf(value) else []
        if np.isfinite(low):
            limits.insert(0, f"{'>' if open_low else '>='} {low:g}")
        if np.isfinite(high):
            limits.append(f"<= {high:g}")
        raise ValueError(f"{name} must be {' and '.join(limits)}, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not any(value is c or (isinstance(c, str) and value == c) for c in choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_kernel(estimator: Any) -> None:
    """Check kernel, gamma, degree and coef0 of an estimator that has them."""
    kernel = estimator.kernel
    if not callable(kernel):
        check_choice("kernel", kernel, [*KERNELS, "precomputed"])
    check_number("degree", estimator.degree, 0, whole=True)
    check_number("coef0", estimator.coef0, -np.inf)


def _pooled_variance(X: Any, weights: np.ndarray | None) -> float:
    """Variance of all entries, what scikit-learn's "scale" uses."""
    if sparse.issparse(X) or weights is not None:
        w = np.ones(X.shape[0]) if weights is None else weights
        total = w.sum() * X.shape[1]
        mean = (X.T @ w).sum() / total
        if sparse.issparse(X):
            square = (X.multiply(X).T @ w).sum() / total
            return float(max(square - mean**2, 0.0))
        return float((w @ np.square(X - mean)).sum() / total)
    return float(X.var())


def resolve_gamma(
    gamma: Any, kernel: Any, X: Any, weights: np.ndarray | None
) -> float | np.ndarray:
    """gamma as a number, or as an array of one scale for each feature.

    "scale" is 1 / (n_features * variance of all entries), "auto" 1 / n_features;
    where the variance is 0, "scale" is 1.
    """
    n_features = X.shape[1]
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ["scale", "auto"])
        if gamma == "auto":
            return 1.0 / n_features
        if callable(kernel) or kernel in ("precomputed", "linear"):
            return 1.0  # not used: spare the pass over the data
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _pooled_variance(X, weights)
            # a constant's variance is rounding, not zero
            noise = (16 * np.finfo(float).eps * abs(X).max()) ** 2 if variance else 0.0
        usable = np.isfinite(variance) and variance > noise
        return 1.0 / (n_features * variance) if usable else 1.0
    if isinstance(gamma, Real) or np.ndim(gamma) == 0:
        check_number("gamma", gamma, 0.0)
        return float(gamma)
    scales = np.asarray(gamma, np.float64)
    if kernel != "rbf":
        raise ValueError(
            f"gamma may be an array (one scale for each feature) only with "
            f"kernel='rbf', got kernel={kernel!r}"
        )
    if scales.shape != (n_features,):
        raise ValueError(
            f"gamma has shape {scales.shape}, but X has {n_features} features: give "
            f"one scale for each"
        )
    bad = np.flatnonzero(~(np.isfinite(scales) & (scales >= 0)))
    if len(bad):
        raise ValueError(f"gamma[{bad[0]}] must be >= 0, got {scales[bad[0]]}")
    return scales


def kernel_of(estimator: Any, gamma: float | np.ndarray) -> Kernel:
    """The kernel function that an estimator's parameters describe."""
    return Kernel(
        estimator.kernel, gamma, float(estimator.degree), float(estimator.coef0)
    )


def check_square(X: Any, kernel: Any) -> None:
    """Raise unless a precomputed kernel matrix is square and dense."""
    if kernel == "precomputed" and sparse.issparse(X):
        raise TypeError(
            "Sparse precomputed kernels are not supported: give the Gram matrix as a "
            "dense array, for example K.toarray()"
        )
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix: kernel='precomputed' takes "
            f"the (n_samples, n_samples) Gram matrix in fit, got {X.shape}"
        )


def warn_about_scales(X: Any, kernel: Any, names: Any = None) -> None:
    """Warn where one feature's spread exceeds the median spread a hundredfold."""
    if (
        callable(kernel)
        or kernel == "precomputed"
        or X.shape[1] < 2
        or len(X.shape) < 2
    ):
        return
    if sparse.issparse(X):
        return  # text counts and indicators: unlike scales are the rule, and harmless
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    varying = spread[spread > 0]
    if len(varying) < 2 or not varying.max() > SCALE_RATIO * varying.min():
        return
    limit = SCALE_RATIO * float(np.median(varying))
    wide = np.flatnonzero(spread > limit)
    if not len(wide):
        return
    worst = wide[np.argsort(-spread[wide], kind="stable")][:NAMED_COLUMNS]
    labels = [str(names[k]) if names is not None else str(k) for k in worst]
    more = f" and {len(wide) - len(worst)} more" if len(wide) > len(worst) else ""
    warnings.warn(
        f"features in unlike units: the spread of column{'s' * (len(labels) > 1)} "
        f"{', '.join(labels)}{more} is over {SCALE_RATIO:.0f} times the median spread, "
        "so the others hardly count. Put a StandardScaler before the estimator.",
        DataScaleWarning,
        stacklevel=3,
    )


def warn_not_converged(
    name: str, status: str, measure: str, reached: float, asked: float, n_iter: int
) -> None:
    """One ConvergenceWarning: what was reached, what was asked, what to try."""
    warnings.warn(
        f"{name} ended ({status}) with {measure} {reached:.3g} after {n_iter} "
        f"iterations; tol={asked:g} was asked. Scale the features, raise max_iter, "
        "lower C or loosen tol.",
        ConvergenceWarning,
        stacklevel=3,
    )


def reporting(
    verbose: int, name: str
) -> tuple[AbstractContextManager, Callback | None]:
    """(context, callback) for a fit: with verbose, messages go to standard error."""
    if not verbose:
        return nullcontext(), None
    return listening(to_stderr), Reporter(name)


def n_jobs_of(n_jobs: int | None) -> int:
    """Number of fits side by side: None is 1, negative counts from all cores."""
    if n_jobs is None:
        return 1
    check_number("n_jobs", n_jobs, -np.inf, whole=True)
    if n_jobs == 0:
        raise ValueError("n_jobs must be None or not 0; -1 takes all cores, got 0")
    from joblib import effective_n_jobs

    return effective_n_jobs(n_jobs)


def seed_of(random_state: Any) -> int:
    """A seed from random_state; None is 0, so that fits repeat by default."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state must be None, a whole number, a Generator or a RandomState, "
        f"got {random_state!r}"
    )
