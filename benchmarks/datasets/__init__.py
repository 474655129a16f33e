"""What is learnt from: generated sets, and files that lie beside the repository."""

from typing import Any, NamedTuple


class Dataset(NamedTuple):
    """Samples and labels."""

    X: Any  # ndarray or CSR of float64, (n_samples, n_features)
    y: Any


class MissingDataError(Exception):
    """A file is not there; the case is left out."""
