"""widemargin's CMA-ES on cross-validation: what leave-one-out margins save."""

from benchmarks.competitors.searches import FOLDS, N_FOLDS, TRIALS, Found, Task, found
from widemargin import SVC
from widemargin.model_selection import MarginSearchCV

NAME = FOLDS


def search(task: Task) -> Found:
    """Five fits a setting, scored by accuracy."""
    search = MarginSearchCV(
        SVC(**task.box.fixed()), task.box.space(), cv=N_FOLDS, budget=TRIALS,
        n_jobs=1, random_state=task.seed,
    )  # fmt: skip
    return found(search.fit(task.X, task.y))
