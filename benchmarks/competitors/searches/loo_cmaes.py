"""widemargin's default: leave-one-out margins of one fit a setting, and CMA-ES."""

from benchmarks.competitors.searches import SPAN, Found, Task, found
from widemargin import SVC
from widemargin.model_selection import MarginSearchCV

NAME = SPAN


def search(task: Task) -> Found:
    """Every default but the box, which is the same for all."""
    search = MarginSearchCV(
        SVC(**task.box.fixed()), task.box.space(), n_jobs=1, random_state=task.seed
    )
    return found(search.fit(task.X, task.y))
