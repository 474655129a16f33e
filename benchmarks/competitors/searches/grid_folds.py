"""scikit-learn: every combination of a grid, by folds, with its own SVC."""

from sklearn.model_selection import GridSearchCV

from benchmarks.competitors.searches import GRID, N_FOLDS, Found, Task, peer_svc

NAME = GRID


def search(task: Task) -> Found:
    """10 x 10 values of C and gamma, ends of the box included."""
    grid = GridSearchCV(peer_svc(task.box), task.box.grid(), cv=N_FOLDS)
    grid.fit(task.X, task.y)
    n_fits = N_FOLDS * len(grid.cv_results_["params"])
    return Found(grid.best_estimator_, grid.best_params_, n_fits)
