"""Optuna: tree-structured Parzen estimators, with scikit-learn's SVC and folds."""

from typing import Any

import numpy as np
import optuna
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from benchmarks.competitors.searches import (
    N_FOLDS,
    TPE,
    TRIALS,
    Found,
    Task,
    peer_svc,
)

NAME = TPE
optuna.logging.set_verbosity(optuna.logging.WARNING)


def search(task: Task) -> Found:
    """As many settings as CMA-ES tries, on logarithmic scales."""
    base = peer_svc(task.box)

    def objective(trial: Any) -> float:
        params: dict[str, Any] = {
            name: trial.suggest_float(name, *getattr(task.box, name), log=True)
            for name in ("C", "gamma")
        }
        if task.box.degrees:
            params["degree"] = trial.suggest_categorical("degree", task.box.degrees)
        model = clone(base).set_params(**params)
        return float(np.mean(cross_val_score(model, task.X, task.y, cv=N_FOLDS)))

    sampler = optuna.samplers.TPESampler(seed=task.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=TRIALS)
    model = clone(base).set_params(**study.best_params).fit(task.X, task.y)
    return Found(model, dict(study.best_params), N_FOLDS * TRIALS)
