"""One setting tried: a fit and its leave-one-out margins, or a fit for each fold."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from widemargin.estimators.loo_estimates import loo_estimates
from widemargin.estimators.svc import SVC
from widemargin.model_selection.criteria import (
    FROM_FIT,
    FROM_MARGINS,
    no_free_vector,
    predictions_of,
)
from widemargin.model_selection.space import Params
from widemargin.model_selection.targets import last_step, transformed

# Weight of the log-loss beside the leave-one-out error. Errors are whole rows: alone
# they make plateaus, on which the search walks blindly and a choice is by chance.
# Between 0.01 and 1 the test error changes little on small benchmark sets.
SMOOTH = 0.3
# SMO steps for each row before a setting counts as hopeless.
STEPS_PER_ROW = 100
# Added to the values that optimisers see, so that any good setting is ahead of these.
PENALTIES = {"ok": 0.0, "max_iter": 1e6, "degenerate": 1e9, "failed": np.inf}


@dataclass
class Outcome:
    """What became of one setting.

    `value` is what the optimiser minimises, `score` what is published (higher is
    better). `status` is "ok"; "max_iter" where the solver was ended early;
    "degenerate" where one class is predicted for all rows or no support vector is
    free; "failed" with the reason in `error`.
    """

    value: float = np.inf
    score: float = np.nan
    folds: list[float] = field(default_factory=list)
    status: str = "ok"
    error: str = ""
    n_fits: int = 0
    seconds: float = 0.0
    gradient: list[float] | None = None

    @property
    def told(self) -> float:
        """The value with its penalty."""
        return self.value + PENALTIES[self.status]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return asdict(self)


@dataclass(frozen=True)
class Data:
    """Rows, labels, weights and groups of a search."""

    X: Any
    y: Any
    weights: np.ndarray | None
    groups: Any


def take_rows(X: Any, index: np.ndarray, columns: np.ndarray | None = None) -> Any:
    """Rows of arrays, data frames and lists; with `columns` also of a Gram matrix."""
    if X is None:
        return None
    if hasattr(X, "iloc"):
        X = X.iloc[index]
        return X if columns is None else X.iloc[:, columns]
    if columns is not None:
        return np.asarray(X)[np.ix_(index, columns)]
    if hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def fit_params(estimator: Any, weights: np.ndarray | None) -> dict[str, Any]:
    """sample_weight under the name that the estimator's fit knows it by."""
    if weights is None:
        return {}
    prefix, final = last_step(estimator)
    if not has_fit_parameter(final, "sample_weight"):
        raise TypeError(f"{type(final).__name__}.fit does not take sample_weight")
    return {f"{prefix}sample_weight": weights}


def call_scorer(scorer: Any, model: Any, X: Any, y: Any, weights: Any) -> float:
    """A scorer with weights where it can take them."""
    if weights is not None:
        try:
            return float(scorer(model, X, y, sample_weight=weights))
        except TypeError:  # a metric without weights
            pass
    return float(scorer(model, X, y))


class Evaluator:
    """Tries settings; never raises but for what is not an Exception (Ctrl-C)."""

    def __init__(self, estimator: Any, data: Data) -> None:
        self.estimator, self.data = estimator, data

    def __call__(self, params: Params) -> Outcome:
        began = time.perf_counter()
        outcome = Outcome()
        try:
            self._try(params, outcome)
            if outcome.status != "failed" and not np.isfinite(outcome.score):
                raise ValueError(f"the score is {outcome.score}")
        except Exception as error:
            outcome.status = "failed"
            outcome.error = f"{type(error).__name__}: {error}"
            outcome.value, outcome.score = np.inf, np.nan
        outcome.seconds = time.perf_counter() - began
        return outcome

    def _try(self, params: Params, outcome: Outcome) -> None:
        raise NotImplementedError

    def _model(self, params: Params, n: int) -> Any:
        """An unfitted copy with the parameters, and the search's limit of steps."""
        model = clone(self.estimator).set_params(**params)
        final = last_step(model)[1]
        if isinstance(final, SVC) and final.max_iter == -1:
            final.max_iter = STEPS_PER_ROW * n
        return model


class LeaveOneOut(Evaluator):
    """One fit a setting; the criterion comes from the fit.

    Parameters
    ----------
    estimator : estimator
        Whose last step has ``loo_decision_function``.
    data : Data
        Training data.
    scoring : str or callable
        One of `criteria.CRITERIA`, or what scikit-learn takes.
    gradient : callable, optional
        ``gradient(model, X)`` -> (value, gradient), replaces the criterion.
    """

    def __init__(
        self,
        estimator: Any,
        data: Data,
        scoring: Any,
        gradient: Callable[[Any, Any], tuple[float, np.ndarray]] | None = None,
    ) -> None:
        super().__init__(estimator, data)
        self.scoring, self.gradient = scoring, gradient
        named = isinstance(scoring, str) and scoring in FROM_MARGINS + FROM_FIT
        self.scorer = None if named else check_scoring(estimator, scoring)
        self.fit_params = fit_params(estimator, data.weights)
        self.y = np.asarray(data.y)

    def _try(self, params: Params, outcome: Outcome) -> None:
        X, y, weights = self.data.X, self.data.y, self.data.weights
        model = self._model(params, len(self.y))
        outcome.n_fits = 1
        model.fit(X, y, **self.fit_params)
        final = last_step(model)[1]
        if not getattr(final, "converged_", True):
            outcome.status = "max_iter"
        if self.gradient is not None:
            value, gradient = self.gradient(model, X)
            # its logarithm has the same minimum, and no scale
            outcome.value, outcome.score = float(np.log(value)), -value
            outcome.gradient = [float(g) for g in gradient / value]
            return
        if self.scoring in FROM_FIT and self.scorer is None:
            rows = transformed(model, X)
            outcome.value = loo_estimates(final, rows, self.y, [self.scoring])[
                self.scoring
            ]
            outcome.score = -outcome.value
            if self.scoring == "span" and no_free_vector(final):
                outcome.status = "degenerate"
            return
        known = predictions_of(final, self.y, weights)
        if outcome.status == "ok" and (no_free_vector(final) or known.constant()):
            outcome.status = "degenerate"
        if self.scorer is not None:
            outcome.score = call_scorer(self.scorer, known, X, self.y, weights)
            outcome.value = -outcome.score
            return
        loss = known.log_loss()
        if self.scoring == "loo_logloss":
            outcome.value, outcome.score = loss, -loss
            return
        error = known.error()
        if self.scoring == "loo_mix":
            outcome.value, outcome.score = error + loss, -error - loss
            return
        outcome.value, outcome.score = error + SMOOTH * loss, -error


class Folds(Evaluator):
    """A fit for each fold; the criterion is the mean score of the parts left out.

    Parameters
    ----------
    estimator : estimator
        Anything with fit.
    data : Data
        Training data.
    scoring : str, callable or None
        What scikit-learn takes.
    splits : list of (train, test)
        Row numbers.
    """

    def __init__(self, estimator: Any, data: Data, scoring: Any, splits: list) -> None:
        super().__init__(estimator, data)
        self.scorer = check_scoring(estimator, scoring)
        self.splits = splits
        self.pairwise = get_tags(estimator).input_tags.pairwise
        fit_params(estimator, data.weights)  # raises early

    def _try(self, params: Params, outcome: Outcome) -> None:
        X, y, weights = self.data.X, self.data.y, self.data.weights
        for train, test in self.splits:
            model = self._model(params, len(train))
            columns = train if self.pairwise else None
            w = None if weights is None else weights[train]
            outcome.n_fits += 1
            model.fit(
                take_rows(X, train, columns), take_rows(y, train),
                **fit_params(self.estimator, w),
            )  # fmt: skip
            if not getattr(last_step(model)[1], "converged_", True):
                outcome.status = "max_iter"
            score = call_scorer(
                self.scorer, model, take_rows(X, test, columns), take_rows(y, test),
                None if weights is None else weights[test],
            )  # fmt: skip
            outcome.folds.append(score)
        outcome.score = float(np.mean(outcome.folds))
        outcome.value = -outcome.score
