"""widemargin's descent on the radius/margin criterion of the squared hinge."""

from benchmarks.competitors.searches import BFGS, Found, Task, found
from widemargin import SVC
from widemargin.model_selection import MarginSearchCV

NAME = BFGS


def search(task: Task) -> Found:
    """One fit and one ball problem a step; no random numbers."""
    search = MarginSearchCV(
        SVC(loss="squared_hinge", **task.box.fixed()), task.box.space(),
        search="bfgs", n_jobs=1,
    )  # fmt: skip
    return found(search.fit(task.X, task.y))
