"""Probabilities from decisions: logistic fits to out-of-fold decisions."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from widemargin._sklearn import plain
from widemargin.estimators._base import seed_of
from widemargin.solvers.logistic import couple_pairs, fit_logistic, logistic


def calibrate(estimator: Any, X: Any, y: np.ndarray, weights: Any) -> np.ndarray:
    """Slope and offset of each pair's logistic, (n_pairs, 2).

    Decisions of all rows come from fits that did not see them, or are predicted
    leave-one-out ones; of a pair's logistic only rows of its two classes take part, and
    rows of weight 0 nowhere. The slope is >= 0, so a higher decision never means a
    lower probability.
    """
    codes = estimator._training.codes
    n_classes = len(estimator.classes_)
    weight = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
    alive = np.flatnonzero(estimator._training.C > 0)
    if estimator.calibration == "loo":
        scores = estimator._loo_pairs()[alive]
    else:
        scores = _fold_decisions(estimator, X, y, codes, weight, alive)
    codes, weight = codes[alive], weight[alive]
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
    estimator: Any,
    X: Any,
    y: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    alive: np.ndarray,
) -> np.ndarray:
    """Decisions of all pairs for the rows `alive`, from fits that did not see them."""
    n_classes = len(estimator.classes_)
    counts = np.bincount(codes[alive], minlength=n_classes)
    folds = int(estimator.calibration)
    if counts.min() < folds:
        rare = int(np.argmin(counts))
        raise ValueError(
            f"calibration={folds} needs at least {folds} samples of each class, but "
            f"class {plain(estimator.classes_[rare])!r} has {counts[rare]}"
        )
    scores = np.empty((len(alive), n_classes * (n_classes - 1) // 2))
    splitter = StratifiedKFold(
        folds, shuffle=True, random_state=seed_of(estimator.random_state)
    )
    model = clone(estimator).set_params(
        calibration=None, warm_start=False, gamma=estimator.gamma_
    )
    precomputed = estimator.kernel == "precomputed"
    for train, test in splitter.split(np.zeros(len(alive)), codes[alive]):
        fit_on, held_out = alive[train], alive[test]
        mine, theirs = X[fit_on], X[held_out]
        if precomputed:
            mine, theirs = mine[:, fit_on], theirs[:, fit_on]
        model.fit(mine, y[fit_on], weight[fit_on])
        scores[test] = model._pair_decisions(theirs)
    return scores


def probabilities(scores: np.ndarray, fits: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of all classes from the pairs' decisions."""
    p = logistic(fits[:, 0] * scores + fits[:, 1])
    if n_classes == 2:
        return np.column_stack((1.0 - p[:, 0], p[:, 0]))
    return couple_pairs(p, n_classes)
