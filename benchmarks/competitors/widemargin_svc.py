"""widemargin."""

from typing import Any

from benchmarks.competitors import OWN, Settings
from widemargin import SVC

NAME = OWN


def make(settings: Settings, n_threads: int) -> SVC:
    """An SVC as its users get it: every default but the problem's own settings."""
    return SVC(C=settings.C, gamma=settings.gamma, tol=settings.tol, n_jobs=n_threads)


def remark(model: Any) -> str | None:
    """Anything that makes the comparison unfair."""
    return None if model.converged_ else "did not converge"
