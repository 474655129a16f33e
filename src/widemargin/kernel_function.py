"""Which kernel function is meant; its values come from `gram.py`.

Apart from the compiled kernels, so that estimators can name one without Numba.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "exponential")
# Those whose values lie in [0, 1], 1 on the diagonal.
NORMALISED = ("rbf", "laplacian", "exponential")


class Kernel(NamedTuple):
    """A kernel function with its parameters, all numbers.

    ====================  =============================================
    linear                x'z
    poly                  (gamma x'z + coef0)^degree
    rbf                   exp(-gamma |x - z|_2^2)
    sigmoid               tanh(gamma x'z + coef0)
    laplacian             exp(-gamma |x - z|_1)
    exponential           exp(-gamma |x - z|_2)
    ====================  =============================================

    ``gamma`` may be an array of n_features for rbf: one scale per feature,
    ``exp(-sum_k gamma_k (x_k - z_k)^2)``. ``name`` may also be "precomputed", or
    a function of two row blocks.
    """

    name: str | Callable[[Any, Any], Any]
    gamma: float | np.ndarray = 1.0
    degree: float = 3.0
    coef0: float = 0.0
