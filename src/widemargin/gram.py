"""A Gram matrix that is never formed unless somebody wants it.

`prepare` turns samples into `Rows` that answer for a kernel function's values, in
float32 where that is safe. See `kernel_rows.py` for what they can do.
"""

from typing import Any

import numpy as np
from scipy import sparse

from widemargin import kernels
from widemargin.kernel_function import NORMALISED, Kernel
from widemargin.kernel_rows import (
    LOG2_E,
    DenseRows,
    FunctionRows,
    Rows,
    SparseRows,
    StoredRows,
)

CODES = {
    "linear": kernels.LINEAR,
    "poly": kernels.POLY,
    "rbf": kernels.RBF,
    "sigmoid": kernels.SIGMOID,
    "laplacian": kernels.LAPLACIAN,
    "exponential": kernels.EXPONENTIAL,
}
# float32 entries are not tried where they are typically off by more than this.
FLOAT32_ERROR = 1e-5


def _dense_rows(X: np.ndarray, kernel: Kernel, dtype: Any, centre: Any) -> DenseRows:
    code = CODES[kernel.name]  # type: ignore[index]
    euclidean = code in (kernels.RBF, kernels.EXPONENTIAL)
    factor = _factor(kernel)
    n, d = X.shape
    data = np.empty((n, d + 2 * euclidean), dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        _fill_dense(X, factor, centre, code, data)
    coef0 = kernel.coef0
    if code == kernels.EXPONENTIAL:
        coef0 = _rounding(-data[:, d], dtype)
    return DenseRows(data, code, coef0, kernel.degree)


def _rounding(norms: np.ndarray, dtype: Any) -> float:
    """Half a squared distance that is nothing but rounding, from half squared norms."""
    return 16.0 * float(np.finfo(dtype).eps) * float(norms.max(initial=0.0))


def _fill_dense(X, factor, centre, code, data) -> None:
    d = X.shape[1]
    euclidean = data.shape[1] > d
    if euclidean or code == kernels.LAPLACIAN:
        # In float64 before it is rounded: distances do not see the shift.
        scaled = (X - centre) * factor
        data[:, :d] = scaled
        if euclidean:
            # of the rounded rows, so that a row is at distance 0 from itself
            z = data[:, :d].astype(np.float64, copy=False)
            data[:, d] = -0.5 * np.einsum("ij,ij->i", z, z)
            data[:, d + 1] = 1.0
    else:
        np.multiply(X, factor, out=data, casting="same_kind")


def _sparse_rows(X: Any, kernel: Kernel, dtype: Any) -> SparseRows:
    code = CODES[kernel.name]  # type: ignore[index]
    factor = _factor(kernel)
    if factor.ndim:
        factor = factor[X.indices]
    data = (X.data * factor).astype(dtype, copy=False)
    norms = np.zeros(X.shape[0], dtype)
    values = data.astype(np.float64, copy=False)
    starts = X.indptr[:-1].astype(np.int64)
    filled = np.diff(X.indptr) > 0
    if code in (kernels.RBF, kernels.EXPONENTIAL):
        with np.errstate(over="ignore"):
            squares = np.append(values**2, 0.0)
        norms[:] = 0.5 * np.add.reduceat(squares, starts) * filled
    elif code == kernels.LAPLACIAN:
        norms[:] = np.add.reduceat(np.append(np.abs(values), 0.0), starts) * filled
    return SparseRows(
        np.ascontiguousarray(data),
        np.ascontiguousarray(X.indices, np.int32).view(np.uint32),
        np.ascontiguousarray(X.indptr, np.int64).view(np.uint64),
        norms,
        X.shape[1],
        code,
        _rounding(norms, dtype) if code == kernels.EXPONENTIAL else kernel.coef0,
        kernel.degree,
    )


def _factor(kernel: Kernel) -> np.ndarray:
    """What rows are multiplied by, so that their product is what `transform` wants."""
    gamma = np.asarray(kernel.gamma, np.float64)
    match kernel.name:
        case "rbf":
            return np.sqrt(2.0 * LOG2_E * gamma)
        case "exponential":  # the product is -(gamma log2(e) |x - z|)^2
            return np.sqrt(2.0) * LOG2_E * gamma
        case "laplacian":
            return LOG2_E * gamma
        case "linear":
            return np.ones(())
        case _:
            return np.sqrt(gamma)


def centre_of(X: Any, kernel: Kernel) -> np.ndarray | float:
    """What `prepare` subtracts from dense rows: the mean, where distances matter."""
    if sparse.issparse(X) or kernel.name not in NORMALISED or not len(X):
        return 0.0
    return X.mean(axis=0, dtype=np.float64)


def float32_error(X: Any, kernel: Kernel, centre: np.ndarray | float) -> float:
    """Typical absolute error of a float32 kernel entry; inf where not foreseen.

    A distance is the difference of numbers as large as the rows, so the error grows
    with the root mean square of ``gamma |x - centre|``. Linear, polynomial and sigmoid
    values have no bound and exponential ones take a root of the distance: inf.
    """
    if kernel.name not in ("rbf", "laplacian"):
        return np.inf
    gamma = np.asarray(kernel.gamma, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.name == "laplacian":
            shifted = X if sparse.issparse(X) else X - centre
            sizes = gamma * np.asarray(abs(shifted).sum(axis=1)).ravel()
        elif sparse.issparse(X):
            sizes = X.multiply(X) @ np.broadcast_to(gamma, X.shape[1])
        elif gamma.ndim:
            sizes = np.square(X - centre) @ gamma
        else:
            shifted = X - centre
            sizes = gamma * np.einsum("ij,ij->i", shifted, shifted)
        size = float(np.sqrt(np.mean(np.square(sizes))))
    return 1e-7 * (1.0 + size) if np.isfinite(size) else np.inf


def prepare(
    X: Any, kernel: Kernel, dtype: Any = np.float64, centre: np.ndarray | float = 0.0
) -> Rows:
    """Samples ready for `kernel` in the given precision.

    Parameters
    ----------
    X : ndarray or CSR, (n_samples, n_features)
        Samples; for kernel "precomputed" the matrix itself, float64 or float32.
    kernel : Kernel
        The kernel function.
    dtype : numpy float type
        Precision of the entries; "precomputed" keeps the matrix's own and a
        function always gives float64.
    centre : ndarray or float
        Subtracted from dense rows, see `centre_of`. Rows that meet must share it.
    """
    if callable(kernel.name):
        return FunctionRows(X, kernel.name)
    if kernel.name == "precomputed":
        numbers = np.arange(X.shape[0])
        square = X.shape[0] == X.shape[1]
        matrix = X.view()
        matrix.flags.writeable = False  # one kernel signature, and a promise
        return StoredRows(matrix, numbers, numbers if square else None)
    if sparse.issparse(X):
        return _sparse_rows(X, kernel, dtype)
    return _dense_rows(X, kernel, dtype, centre)


class Distances:
    """Squared distances stored once, Gaussian Gram rows for any gamma.

    For searches over gamma on a few thousand samples: only the exponential is
    computed again.
    """

    def __init__(self, X: np.ndarray) -> None:
        kernel = Kernel("linear")
        centred = X - centre_of(X, Kernel("rbf"))
        products = prepare(centred, kernel).block(prepare(centred, kernel))
        norms = np.diagonal(products).copy()
        products *= -2.0
        products += norms
        products += norms[:, None]
        np.maximum(products, 0.0, out=products)
        np.fill_diagonal(products, 0.0)
        self._matrix = products.astype(np.float32)

    def rows(self, gamma: float) -> StoredRows:
        """Rows of the Gram matrix ``exp(-gamma |x - z|^2)``."""
        numbers = np.arange(self._matrix.shape[0])
        return StoredRows(self._matrix, numbers, numbers, float(gamma))
