"""What a fitted `SVC` remembers of its training, for leave-one-out; never saved."""

from typing import Any, NamedTuple

import numpy as np

from widemargin.kernel_function import Kernel


class Training(NamedTuple):
    """Validated rows (not a copy where none was needed) and the problem they made."""

    X: Any
    codes: np.ndarray
    C: np.ndarray
    kernel: Kernel
    squared: bool
    tol: float
