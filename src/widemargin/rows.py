"""Rows of data as compiled loops and BLAS want them: dense or CSR.

`as_rows` normalises data once, without copying it where that can be helped: what comes
back is a dense array or `CsrRows`, read-only to us.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

_CHUNK_BYTES = 2**20  # of float64 rows: within L2, worth a BLAS call


class CsrRows(NamedTuple):
    """CSR rows as kernels want them: read-only, with unsigned indices.

    Attributes
    ----------
    data : ndarray of shape (n_entries,)
        float32 or float64.
    ind : ndarray of shape (n_entries,)
        Columns, uint32 or uint64; ascending and without repetition in each row.
    ptr : ndarray of shape (n_rows + 1,)
        Where rows start, uint64.
    n_features : int
        Number of columns.
    """

    data: np.ndarray
    ind: np.ndarray
    ptr: np.ndarray
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return len(self.ptr) - 1, self.n_features


Rows: TypeAlias = np.ndarray | CsrRows


def read_only(array: Any, dtype: DTypeLike = np.float64) -> np.ndarray:
    """C-contiguous read-only view, a copy only where the type or order differs.

    Numba tells read-only arrays from others; handing it the former alone keeps every
    kernel at one signature and takes memory-mapped data as it is.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def as_rows(X: Any) -> Rows:
    """Normalise data for the products of this module.

    Parameters
    ----------
    X : array or sparse array of shape (n_rows, n_features)
        float32 and float64 are kept, all else becomes float64. Dense: C or Fortran
        order is kept. CSR with int32 or int64 indices is viewed, other formats are
        converted; unsorted or repeated entries cost a copy.

    Returns
    -------
    ndarray or CsrRows
        `X` itself is never changed.
    """
    dtype = X.dtype if getattr(X, "dtype", None) == np.float32 else np.dtype(np.float64)
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=dtype)
        if X.size and min(X.strides) != X.itemsize:
            X = np.ascontiguousarray(X)
        X = X.view()
        X.flags.writeable = False
        return X
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    signed = X.indices.dtype.newbyteorder("=")
    ind = read_only(X.indices, signed).view(f"u{signed.itemsize}")
    ptr = read_only(X.indptr, np.int64).view(np.uint64)
    return CsrRows(read_only(X.data, dtype), ind, ptr, X.shape[1])


def row_slice(rows: Rows, start: int, stop: int) -> Rows:
    """Rows `start` to `stop`, as views of the data."""
    if not isinstance(rows, CsrRows):
        return rows[start:stop]
    a, b = int(rows.ptr[start]), int(rows.ptr[stop])
    ptr = read_only(rows.ptr[start : stop + 1] - rows.ptr[start], np.uint64)
    return CsrRows(rows.data[a:b], rows.ind[a:b], ptr, rows.n_features)


def row_chunks(rows: Rows, least: int = 16) -> Iterator[tuple[slice, Any]]:
    """Row chunks that stay in cache; dense ones in float64."""
    n_rows, width = rows.shape
    if isinstance(rows, CsrRows):
        width = len(rows.data) // max(n_rows, 1)
    step = max(least, _CHUNK_BYTES // (8 * max(width, 1)))
    for start in range(0, n_rows, step):
        part = row_slice(rows, start, min(start + step, n_rows))
        if not isinstance(part, CsrRows):
            part = part.astype(np.float64, copy=False)
        yield slice(start, start + step), part
