"""What the search needs to know of estimators: their own space, start, abilities."""

import inspect
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.utils import get_tags

from widemargin.estimators.svc import SVC
from widemargin.model_selection.space import Log, Params, Space

# The customary box (Hsu, Chang and Lin, A practical guide to SVC).
C_RANGE = Log(2.0**-5, 2.0**15)
GAMMA_RANGE = Log(2.0**-15, 2.0**3)
# The neutral start of C: at the isotropic optimum a search with one gamma for each
# feature can collapse.
START_C = 4.0


def last_step(estimator: Any) -> tuple[str, Any]:
    """(prefix of its parameters, estimator at the end of a pipeline)."""
    prefix = ""
    while getattr(estimator, "steps", None):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix, estimator


def earlier_steps(estimator: Any) -> list[tuple[str, Any]]:
    """(name, transformer) of all steps before the last, of inner pipelines too."""
    found: list[tuple[str, Any]] = []
    while getattr(estimator, "steps", None):
        found += estimator.steps[:-1]
        estimator = estimator.steps[-1][1]
    return found


def transformed(estimator: Any, X: Any) -> Any:
    """X as a fitted pipeline's last step sees it."""
    while getattr(estimator, "steps", None):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    return X


def uses_labels(transformer: Any) -> bool:
    """True if a transformer learns from y, inner transformers included."""
    if transformer is None or isinstance(transformer, str):
        return False
    parts = [
        *getattr(transformer, "steps", []),
        *getattr(transformer, "transformers", []),
        *getattr(transformer, "transformer_list", []),
    ]
    if parts:
        return any(uses_labels(part[1]) for part in parts)
    if hasattr(transformer, "fit_resample"):
        return True
    # Selectors score features by y even where, as SelectKBest's, their fit has a
    # default for it.
    if isinstance(transformer, SelectorMixin):
        return not isinstance(transformer, VarianceThreshold)
    if get_tags(transformer).target_tags.required:
        return True
    y = inspect.signature(transformer.fit).parameters.get("y")
    return y is not None and y.default is inspect.Parameter.empty


def has_loo(estimator: Any) -> bool:
    """True if leave-one-out margins come with a fit."""
    return hasattr(last_step(estimator)[1], "loo_decision_function")


def default_space(estimator: Any) -> dict[str, Any]:
    """The estimator's own space, for ``space=None``.

    An estimator may have a method ``default_search_space()`` that returns one; SVC
    searches C, and gamma where its kernel has one.
    """
    prefix, final = last_step(estimator)
    if hasattr(final, "default_search_space"):
        own = dict(final.default_search_space())
    elif isinstance(final, SVC):
        own = {"C": C_RANGE}
        if not callable(final.kernel) and final.kernel not in ("linear", "precomputed"):
            own["gamma"] = GAMMA_RANGE
    else:
        raise ValueError(
            f"space=None needs an estimator with a space of its own, such as SVC; "
            f"{type(final).__name__} has none: give a dict from parameter name to "
            "Log, Linear, Integer or a list"
        )
    return {prefix + name: value for name, value in own.items()}


def seen_rows(estimator: Any, X: Any, y: Any) -> Any:
    """X as the last step will see it, by the present parameters of the others.

    None where they cannot be fitted: the search itself says why.
    """
    rows = X
    try:
        inner = clone(estimator)
        while getattr(inner, "steps", None):
            if len(inner.steps) > 1:
                rows = inner[:-1].fit_transform(rows, y)
            inner = inner.steps[-1][1]
        if sparse.issparse(rows):
            return rows
        rows = np.asarray(rows)
    except Exception:
        return None
    return rows if rows.ndim == 2 and rows.shape[1] else None


def start_params(estimator: Any, space: Space, rows: Any) -> Params:
    """A neutral first setting: C = 4 and gamma = 1 / (n_features variance).

    With one gamma for each feature each has its own variance, so that all features
    count the same. Other parameters start in the middle.
    """
    prefix, final = last_step(estimator)
    params: Params = {}
    if not isinstance(final, SVC):
        return params
    if f"{prefix}C" in space.dimensions:
        params[f"{prefix}C"] = START_C
    name = f"{prefix}gamma"
    if name not in space.dimensions or rows is None or final.kernel == "precomputed":
        return params
    try:
        variance = _variance(rows, name in space.per_feature)
    except (TypeError, ValueError):
        return params
    usable = np.isfinite(variance) & (variance > 0)
    with np.errstate(divide="ignore"):
        gamma = np.where(usable, 1.0 / (rows.shape[1] * variance), 1.0 / rows.shape[1])
    params[name] = gamma if name in space.per_feature else float(gamma)
    return params


def _variance(rows: Any, per_feature: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        if sparse.issparse(rows):
            mean = np.asarray(rows.mean(axis=0)).ravel()
            square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
        else:
            rows = rows.astype(np.float64)
            mean, square = rows.mean(axis=0), np.square(rows).mean(axis=0)
        if per_feature:
            return square - mean**2
        return np.asarray(square.mean() - mean.mean() ** 2)
