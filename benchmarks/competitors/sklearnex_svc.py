"""scikit-learn-intelex: oneDAL's SVC behind scikit-learn's interface."""

from typing import Any

from sklearnex.svm import SVC

from benchmarks.competitors import SKLEARNEX, Settings
from benchmarks.competitors.sklearn_svc import LARGE_CACHE

NAME = SKLEARNEX


def make(settings: Settings, n_threads: int) -> SVC:
    """An SVC with a cache that holds the problem."""
    cache = LARGE_CACHE if settings.n_samples >= 8000 else {}
    return SVC(
        C=settings.C, gamma=settings.gamma, tol=settings.tol, n_jobs=n_threads, **cache
    )


def remark(model: Any) -> str | None:
    """Anything that makes the comparison unfair."""
    if not hasattr(model, "_onedal_estimator"):
        return "handed the fit over to scikit-learn"
    return None
