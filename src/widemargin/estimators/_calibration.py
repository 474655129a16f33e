"""Probabilities from decisions: logistic fits to out-of-fold decisions."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from widemargin.estimators._base import seed_of
from widemargin.solvers.logistic import couple_pairs, fit_logistic, logistic


def calibrate(estimator: Any, X: Any, y: np.ndarray, weights: Any) -> np.ndarray:
    """Slope and offset of each pair's logistic, (n_pairs, 2).

    Decisions of all rows come from fits that did not see them, or are predicted
    leave-one-out ones; of a pair's logistic
    only rows of its two classes take part. The slope is >= 0, so a higher decision
    never means a lower probability.
    """
    classes, codes = estimator.classes_, np.searchsorted(estimator.classes_, y)
    n_classes = len(classes)
    if estimator.calibration == "loo":
        scores = estimator._loo_pairs()
    else:
        scores = _fold_decisions(estimator, X, y, codes, weights)
    weight = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
    fits = []
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            rows = np.flatnonzero((codes == i) | (codes == j))
            positive = codes[rows] == (j if n_classes == 2 else i)
            fits.append(fit_logistic(scores[rows, pair], positive, weight[rows]))
            pair += 1
    return np.array(fits)


def _fold_decisions(
    estimator: Any, X: Any, y: np.ndarray, codes: np.ndarray, weights: Any
) -> np.ndarray:
    """Decisions of all pairs for each row, from a fit that did not see the row."""
    classes = estimator.classes_
    n_classes = len(classes)
    counts = np.bincount(codes, minlength=n_classes)
    folds = int(estimator.calibration)
    if counts.min() < folds:
        rare = int(np.argmin(counts))
        raise ValueError(
            f"calibration={folds} needs at least {folds} samples of each class, but "
            f"class {classes[rare]!r} has {counts[rare]}"
        )
    n_pairs = n_classes * (n_classes - 1) // 2
    scores = np.empty((len(y), n_pairs))
    seed = seed_of(estimator.random_state)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(np.zeros(len(y)), y):
        model = clone(estimator).set_params(
            calibration=None, warm_start=False, gamma=estimator.gamma_
        )
        precomputed = estimator.kernel == "precomputed"
        rows = X[np.ix_(train, train)] if precomputed else X[train]
        held_out = X[np.ix_(test, train)] if precomputed else X[test]
        w = None if weights is None else np.asarray(weights, np.float64)[train]
        model.fit(rows, y[train], w)
        scores[test] = model._pair_decisions(held_out)
    return scores


def probabilities(scores: np.ndarray, fits: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of all classes from the pairs' decisions."""
    p = logistic(fits[:, 0] * scores + fits[:, 1])
    if n_classes == 2:
        return np.column_stack((1.0 - p[:, 0], p[:, 0]))
    return couple_pairs(p, n_classes)
