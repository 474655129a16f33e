"""Criteria that one fit gives: leave-one-out margins as errors, losses or any score."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from widemargin._sklearn import votes_to_scores
from widemargin.solvers.logistic import couple_pairs, fit_logistic, logistic

# From leave-one-out margins of all rows, and from bounds and estimates of the fit.
FROM_MARGINS = ("loo_error", "loo_logloss", "loo_mix")
FROM_FIT = ("span", "radius_margin", "xi_alpha", "gacv")
CRITERIA = FROM_MARGINS + FROM_FIT


class LooPredictions(ClassifierMixin, BaseEstimator):
    """Stands in for a classifier whose leave-one-out decisions are known.

    Answers scorers about the training rows, whatever X they pass on.
    """

    def __init__(self, decisions, classes, y, weights=None, pairwise=False, ties=True):
        self.decisions = decisions
        self.classes = classes
        self.y = y
        self.weights = weights
        self.pairwise = pairwise
        self.ties = ties

    @property
    def classes_(self) -> np.ndarray:
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _class_scores(self) -> np.ndarray:
        """One column for each of more than two classes."""
        scores = self.decisions
        if self.pairwise:
            scores = votes_to_scores(scores > 0, scores, len(self.classes))
        return scores

    def decision_function(self, X: Any = None) -> np.ndarray:
        return self.decisions

    def predict(self, X: Any = None) -> np.ndarray:
        if self.decisions.ndim == 1:
            return self.classes[(self.decisions > 0).astype(np.intp)]
        scores = self._class_scores()
        if not self.ties:
            scores = np.rint(scores)  # votes alone, as SVC.predict
        return self.classes[np.argmax(scores, axis=1)]

    def predict_proba(self, X: Any = None) -> np.ndarray:
        """By logistics with slope >= 0, fitted to the same decisions."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        if self.decisions.ndim == 1:
            a, b = fit_logistic(self.decisions, self.y == self.classes[1], weights)
            p = logistic(a * self.decisions + b)
            return np.column_stack((1.0 - p, p))
        if self.pairwise:
            return self._coupled(weights)
        columns = []
        for k, label in enumerate(self.classes):
            score = self.decisions[:, k]
            a, b = fit_logistic(score, self.y == label, weights)
            columns.append(logistic(a * score + b))
        p = np.column_stack(columns)
        return p / p.sum(axis=1, keepdims=True)

    def _coupled(self, weights: np.ndarray) -> np.ndarray:
        n_classes = len(self.classes)
        columns = []
        for pair, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
            score = self.decisions[:, pair]
            mine = (self.y == self.classes[i]) | (self.y == self.classes[j])
            first = self.y[mine] == self.classes[i]
            a, b = fit_logistic(score[mine], first, weights[mine])
            columns.append(logistic(a * score + b))
        return couple_pairs(np.column_stack(columns), n_classes)

    def error(self) -> float:
        """Weighted share of wrong predictions."""
        return float(np.average(self.predict() != self.y, weights=self.weights))

    def log_loss(self) -> float:
        """Weighted mean of ``-ln p`` of the true class."""
        place = np.searchsorted(self.classes, self.y)
        p = self.predict_proba()[np.arange(len(place)), place]
        return float(np.average(-np.log(np.maximum(p, 1e-15)), weights=self.weights))

    def constant(self) -> bool:
        """True if one class is predicted for all rows."""
        return len(np.unique(self.predict())) < 2


def predictions_of(final: Any, y: np.ndarray, weights: Any) -> LooPredictions:
    """Leave-one-out predictions of a fitted estimator for its training rows."""
    ovo = getattr(final, "decision_function_shape", "ovr") == "ovo"
    decisions = np.asarray(final.loo_decision_function())
    return LooPredictions(
        decisions, final.classes_, y, weights,
        pairwise=ovo and decisions.ndim == 2, ties=getattr(final, "break_ties", True),
    )  # fmt: skip


def no_free_vector(final: Any) -> bool:
    """True if a two-class SVC has no support vector strictly inside its bounds.

    Its bias is then undetermined, and all leave-one-out margins are shifted by -C.
    """
    training = getattr(final, "_training", None)
    if training is None or training.squared or len(final.classes_) != 2:
        return False
    return not bool((np.abs(final.dual_coef_[0]) < training.C[final.support_]).any())
