"""From what the user asks to the parts of a search: criterion, folds, optimiser."""

import difflib
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.svc import SVC
from widemargin.model_selection.bfgs import BFGS
from widemargin.model_selection.cmaes import CMAES
from widemargin.model_selection.criteria import CRITERIA
from widemargin.model_selection.evaluate import (
    Data,
    Evaluator,
    Folds,
    LeaveOneOut,
)
from widemargin.model_selection.grids import Grid, TwoLines, Zoom
from widemargin.model_selection.optimizers import Optimizer, Point
from widemargin.model_selection.smooth import radius_margin_of
from widemargin.model_selection.space import Integer, Log, Space, Values
from widemargin.model_selection.targets import (
    earlier_steps,
    has_loo,
    last_step,
    uses_labels,
)

SEARCHES = ("cmaes", "zoom", "grid", "line", "bfgs")
# Settings tried by default with up to four parameters; more get 100 + 30 each.
BUDGETS = {1: 40, 2: 66, 3: 110, 4: 160}
# Whole numbers are gridded in full up to this many; a wider range like any other.
FULL_INTEGERS = 10


def default_budget(n_parameters: int) -> int:
    """Settings tried for ``budget=None``."""
    return BUDGETS.get(n_parameters, 100 + 30 * n_parameters)


def leaves_one_out(estimator: Any, cv: Any) -> bool:
    """Whether margins of one fit take the place of folds; says why where they cannot.

    Raises
    ------
    ValueError
        cv="loo" for an estimator without such margins, or with a transformer that has
        seen the label of the row left out.
    """
    if isinstance(cv, str) and cv != "loo":
        raise ValueError(
            f"cv must be None, 'loo', a number of folds or a splitter, got {cv!r}"
        )
    if cv is not None and not isinstance(cv, str):
        return False
    final = last_step(estimator)[1]
    if not has_loo(estimator):
        if cv is None:
            return False
        raise ValueError(
            "cv='loo' needs an estimator with leave-one-out margins (widemargin.SVC, "
            f"or a pipeline that ends in it); {type(final).__name__} has none: give "
            "a number of folds, for example cv=5"
        )
    for name, step in earlier_steps(estimator):
        if uses_labels(step):
            raise ValueError(
                f"the step {name!r} ({type(step).__name__}) learns from the labels, so "
                "leave-one-out margins would be too good: the row left out has taken "
                "part in it. Give a number of folds, for example cv=5"
            )
    return True


def check_scoring_name(scoring: Any, loo: bool, estimator: Any) -> None:
    """Raise unless `scoring` is a criterion that can be had here, or a scorer."""
    if scoring is None or callable(scoring):
        return
    if not isinstance(scoring, str):
        raise TypeError(
            f"scoring must be a name, a scorer or None, got {scoring!r}; one at a time"
        )
    if scoring in CRITERIA:
        if not loo:
            final = type(last_step(estimator)[1]).__name__
            can = (
                "cv=None or cv='loo'"
                if has_loo(estimator)
                else f"widemargin.SVC; {final} cannot give it"
            )
            raise ValueError(
                f"scoring={scoring!r} comes from a single fit and needs {can}. With "
                "folds, give a scikit-learn scorer such as 'accuracy'"
            )
        return
    names = [*CRITERIA, *get_scorer_names()]
    if scoring not in names:
        near = difflib.get_close_matches(scoring, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"scoring must be one of {', '.join(CRITERIA)}, or a scikit-learn scorer, "
            f"got {scoring!r}{hint}"
        )


def check_target(estimator: Any, y: Any) -> Any:
    """y as the search can use it: there if needed, and labels for a classifier."""
    if y is None:
        if get_tags(estimator).target_tags.required:
            raise ValueError(
                "MarginSearchCV requires y to be passed, but the target y is None"
            )
        return None
    if not is_classifier(estimator):
        return y
    if not get_tags(estimator).target_tags.multi_output:
        y = column_or_1d(y, warn=True)
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return y


def make_evaluator(
    estimator: Any, data: Data, search: str, scoring: Any, cv: Any, space: Space
) -> tuple[Evaluator, Any, int]:
    """(evaluator, scoring in force, number of folds or 0)."""
    loo = leaves_one_out(estimator, cv)
    check_scoring_name(scoring, loo, estimator)
    if search == "bfgs":
        gradient = _smooth_criterion(estimator, scoring, loo, space)
        scoring = "radius_margin"
        evaluator = LeaveOneOut(estimator, data, scoring, gradient)
        return evaluator, scoring, 0
    if loo:
        scoring = "loo_error" if scoring is None else scoring
        return LeaveOneOut(estimator, data, scoring), scoring, 0
    splits = _splits(estimator, data, cv)
    return Folds(estimator, data, scoring, splits), scoring, len(splits)


def _smooth_criterion(estimator: Any, scoring: Any, loo: bool, space: Space) -> Any:
    prefix, final = last_step(estimator)
    if scoring not in (None, "radius_margin"):
        raise ValueError(
            "search='bfgs' follows a gradient, which only scoring='radius_margin' has, "
            f"got {scoring!r}; other criteria: search='cmaes'"
        )
    if not loo or not isinstance(final, SVC):
        raise ValueError(
            "search='bfgs' needs widemargin.SVC (or a pipeline that ends in it) and "
            "cv=None or 'loo'"
        )
    if final.kernel != "rbf":
        raise ValueError(
            "search='bfgs' has the gradient of kernel='rbf' only, got "
            f"{final.kernel!r}; others: search='cmaes'"
        )
    allowed = (f"{prefix}C", f"{prefix}gamma")
    for name, dimension in space.dimensions.items():
        if name not in allowed or not isinstance(dimension, Log):
            raise ValueError(
                f"search='bfgs' moves {allowed[0]} and {allowed[1]} on Log ranges "
                f"only, got {name}: {dimension!r}"
            )
    return radius_margin_of(space, prefix)


def _splits(estimator: Any, data: Data, cv: Any) -> list:
    classifier = is_classifier(estimator)
    if cv is None:
        cv = 5
    if isinstance(cv, Integral) and not isinstance(cv, bool) and cv < 2:
        raise ValueError(f"cv must be at least 2 folds, got {cv}")
    splitter = check_cv(cv, data.y, classifier=classifier)
    splits = list(splitter.split(data.X, data.y, data.groups))
    if not splits:
        raise ValueError("cv gives no folds")
    if classifier and data.y is not None:
        labels = np.asarray(data.y)
        for k, (train, _) in enumerate(splits):
            present = np.unique(labels[train]).tolist()
            if len(present) < 2:
                raise ValueError(
                    f"fold {k} of {len(splits)} trains on one class only "
                    f"({present[0]!r}): use fewer folds, or a splitter that keeps the "
                    "classes together, such as StratifiedKFold"
                )
    return splits


def make_optimizer(
    search: str, space: Space, start: Point, budget: int | None, seed: int
) -> Optimizer:
    """The optimiser of a search, with the budget checked."""
    limit = default_budget(space.n_parameters) if budget is None else budget
    if search in ("grid", "zoom"):
        sizes = [_levels(axis, search) for axis in space.axes]
        if budget is None:
            listed = int(np.prod([s for s in sizes if s is not None], dtype=float))
            n_open = sum(s is None for s in sizes)
            least = 2 if search == "grid" else 5 if n_open <= 2 else 3
            limit = max(limit, listed * least**n_open)
        return Grid(sizes, limit) if search == "grid" else Zoom(sizes, limit)
    for name, dimension in space.dimensions.items():
        if isinstance(dimension, Values):
            raise ValueError(
                f"space[{name!r}] is a list of values, which search={search!r} cannot "
                "walk along: use search='grid' or 'zoom', or give a range"
            )
    if search == "cmaes":
        return CMAES(start, limit, np.random.default_rng(seed))
    if search == "bfgs":
        return BFGS(start, limit)
    return _two_lines(space, limit)


def _levels(axis: Any, search: str) -> int | None:
    if isinstance(axis, Values):
        return axis.size
    if isinstance(axis, Integer) and search == "grid" and axis.size <= FULL_INTEGERS:
        return axis.size
    return None


def _two_lines(space: Space, limit: int) -> TwoLines:
    names = list(space.dimensions)
    place = {name.split("__")[-1]: k for k, name in enumerate(names)}
    logs = all(
        isinstance(d, Log) and not d.per_feature for d in space.dimensions.values()
    )
    if set(place) != {"C", "gamma"} or len(names) != 2 or not logs:
        raise ValueError(
            "search='line' needs a space of exactly C and gamma, both Log and not per "
            f"feature, got {', '.join(names)}; other spaces: search='cmaes'"
        )
    ranges: list[float] = []
    for name in ("C", "gamma"):
        log: Any = space.dimensions[names[place[name]]]
        ranges.append(float(np.log(log.high / log.low)))
    return TwoLines((ranges[0], ranges[1]), (place["C"], place["gamma"]), limit)
