"""Who competes. One more competitor is one more file here and its name in `FILES`.

A file defines ``NAME``, ``DISTRIBUTION`` (what to install) and ``make(settings,
n_threads)``, which returns an estimator with the attributes of scikit-learn's SVC.
Where the package is missing, importing the file raises ImportError.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

OWN = "widemargin"
SKLEARN = "scikit-learn"
SKLEARNEX = "scikit-learn-intelex"
PEERS = (SKLEARN, SKLEARNEX)
# For the notes under a table
LEGEND = "own = widemargin, skl = scikit-learn (LIBSVM), skx = scikit-learn-intelex."

FILES = {
    OWN: "benchmarks.competitors.widemargin_svc",
    SKLEARN: "benchmarks.competitors.sklearn_svc",
    SKLEARNEX: "benchmarks.competitors.sklearnex_svc",
}


class Settings(NamedTuple):
    """The problem that all solve: the same kernel, C and tolerance."""

    C: float
    gamma: float
    tol: float = 1e-3
    n_samples: int = 0


class Competitor(Protocol):
    """What a file of this folder offers."""

    NAME: str

    def make(self, settings: Settings, n_threads: int) -> Any: ...
    def remark(self, model: Any) -> str | None: ...


def competitors(skip: Callable[[str], None]) -> list[Any]:
    """All that are installed; the others get a word."""
    found = []
    for name, module in FILES.items():
        try:
            found.append(import_module(module))
        except ImportError as error:
            if name == OWN:
                raise
            skip(f"{name} is left out: {error}")
    return found
