"""One limit of threads for every side: BLAS, OpenMP and oneDAL."""

from collections.abc import Iterator
from contextlib import contextmanager

# threadpoolctl limits only the libraries that are loaded already, and SciPy brings a
# BLAS of its own beside NumPy's: load both, and OpenMP with scikit-learn, before.
import scipy.linalg.blas  # noqa: F401
import sklearn.svm  # noqa: F401
from threadpoolctl import ThreadpoolController

try:
    from daal4py import daalinit
except ImportError:
    daalinit = None

_controller: ThreadpoolController | None = None


@contextmanager
def limited(n_threads: int) -> Iterator[None]:
    """Give everybody `n_threads` inside the block."""
    global _controller
    if _controller is None:
        _controller = ThreadpoolController()
    if daalinit is not None:
        daalinit(n_threads)  # its pool of threads does not listen to threadpoolctl
    with _controller.limit(limits=n_threads):
        yield
