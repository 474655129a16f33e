"""scikit-learn: LIBSVM. It has one thread whatever the limit."""

from typing import Any

from sklearn.svm import SVC

from benchmarks.competitors import SKLEARN, Settings

NAME = SKLEARN
# Its default of 200 MB makes it compute rows again where ours does not store any.
LARGE_CACHE = {"cache_size": 1500}


def make(settings: Settings, n_threads: int) -> SVC:
    """An SVC with a cache that holds the problem."""
    cache = LARGE_CACHE if settings.n_samples >= 8000 else {}
    return SVC(C=settings.C, gamma=settings.gamma, tol=settings.tol, **cache)


def remark(model: Any) -> str | None:
    """Anything that makes the comparison unfair."""
    return "did not converge" if model.fit_status_ else None
