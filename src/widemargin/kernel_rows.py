"""Samples prepared for one kernel function, whatever stands behind them.

Two `Rows` of a kind give a block of kernel values (`block`), or its product with
weights (`product`, never stored); one alone gives its square (`square`). `take` makes
a contiguous subset. So the solvers need no index arithmetic, and see dense rows, CSR
rows, a given matrix, stored distances and a Python function alike. `gram.prepare`
makes them.

Entries are computed and stored in ``rows.dtype``; sums over more than a tile are
float64.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from widemargin import kernels
from widemargin._threads import in_threads, run_each

LOG2_E = float(np.log2(np.e))
# Kernels with values in [0, 1] and 1 on the diagonal.
NORMALISED_CODES = (kernels.RBF, kernels.LAPLACIAN, kernels.EXPONENTIAL)
# Entries of a product that make a second thread worth its start.
THREAD_ENTRIES = 4_000_000
# Entries of a part of a product: tens of milliseconds, then Ctrl-C is heard.
PART_ENTRIES = 1 << 27
# CSR rows of more features are multiplied by SciPy.
SCATTER_FEATURES = 1 << 14
# Entries of a block of a product that goes through memory.
BLOCK_ENTRIES = 1 << 22


class Rows(Protocol):
    """Samples prepared for one kernel function."""

    @property
    def dtype(self) -> np.dtype: ...
    def __len__(self) -> int: ...
    def take(self, index: np.ndarray | slice) -> "Rows": ...
    def diagonal(self) -> np.ndarray: ...
    def block(self, other: Any, out: np.ndarray | None = None) -> np.ndarray: ...
    def square(self, out: np.ndarray, n_threads: int = 1) -> np.ndarray: ...
    def product(self, other: Any, weights: np.ndarray, n_threads: int = 1) -> Any: ...


def _scaling(uint16: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """(scale, half) that turn [0, 1] into rounded 16-bit numbers, or leave it."""
    one = dtype.type
    return (one(65535.0), one(0.5)) if uint16 else (one(1.0), one(0.0))


@dataclass(frozen=True)
class DenseRows:
    """Dense rows; `data` is ``[Z, -|Z|^2/2, 1]`` for Euclidean distances, else Z.

    Where two meet, the constants are those of the right ones: `coef0` of exponential
    rows is the distance that counts as none, and must not depend on who is on the left.
    """

    data: np.ndarray
    code: int
    coef0: float
    degree: float

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def _args(self) -> tuple[int, Any, float]:
        return self.code, self.dtype.type(self.coef0), float(self.degree)

    def __len__(self) -> int:
        return self.data.shape[0]

    def take(self, index: np.ndarray | slice) -> "DenseRows":
        data = np.ascontiguousarray(self.data[index])
        return DenseRows(data, self.code, self.coef0, self.degree)

    def diagonal(self) -> np.ndarray:
        if self.code in NORMALISED_CODES:
            return np.ones(len(self))
        tile = np.einsum("ij,ij->i", self.data, self.data, dtype=np.float64)
        kernels.transform(tile[None, :], self.code, self.coef0, float(self.degree))
        return tile

    def block(self, other: "DenseRows", out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = np.empty((len(self), len(other)), self.dtype)
        kernels.dense_block(self.data, other.data, *other._args, out)
        return out

    def square(self, out: np.ndarray, n_threads: int = 1) -> np.ndarray:
        scale, half = _scaling(out.dtype == np.uint16, self.dtype)
        n, side = len(self), kernels.TILE_ROWS

        def work(start: int) -> None:
            stop = min(n, start + step)
            kernels.dense_square(self.data, *self._args, scale, half, start, stop, out)

        # Columns further right have more tiles above the diagonal: small parts.
        threaded = n_threads > 1 and n * n >= THREAD_ENTRIES
        step = side if threaded else max(n, 1)
        run_each(work, range(0, n, step)[::-1], n_threads)
        if self.code in NORMALISED_CODES:
            np.fill_diagonal(out, int(scale))
        return out

    def product(
        self, other: "DenseRows", weights: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        out = np.zeros(len(self))
        weights = np.ascontiguousarray(weights, self.dtype)
        if len(self) * len(other) < THREAD_ENTRIES:
            n_threads = 1
        most = PART_ENTRIES // max(1, len(other))

        def work(part: slice) -> None:
            kernels.dense_product(
                self.data[part], other.data, weights, *other._args, out[part]
            )

        in_threads(work, len(self), kernels.TILE_ROWS, n_threads, most)
        return out


@dataclass(frozen=True)
class SparseRows:
    """CSR rows; `norms` is half the squared norm, or the L1 norm, or zeros."""

    data: np.ndarray
    ind: np.ndarray
    ptr: np.ndarray
    norms: np.ndarray
    n_features: int
    code: int
    coef0: float
    degree: float

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.data, self.ind, self.ptr, self.norms

    @property
    def _args(self) -> tuple[int, Any, float]:
        return self.code, self.dtype.type(self.coef0), float(self.degree)

    def __len__(self) -> int:
        return self.norms.shape[0]

    def _matrix(self) -> sparse.csr_array:
        return sparse.csr_array(
            (self.data, self.ind.view(np.int32), self.ptr.view(np.int64)),
            shape=(len(self), self.n_features),
        )

    def take(self, index: np.ndarray | slice) -> "SparseRows":
        matrix = self._matrix()[index]
        return SparseRows(
            matrix.data,
            matrix.indices.astype(np.int32, copy=False).view(np.uint32),
            matrix.indptr.astype(np.int64, copy=False).view(np.uint64),
            np.ascontiguousarray(self.norms[index]),
            self.n_features,
            self.code,
            self.coef0,
            self.degree,
        )

    def diagonal(self) -> np.ndarray:
        if self.code in NORMALISED_CODES:
            return np.ones(len(self))
        squares = self.data.astype(np.float64) ** 2
        tile = np.add.reduceat(
            np.append(squares, 0.0), self.ptr[:-1].astype(np.int64)
        ) * (np.diff(self.ptr.astype(np.int64)) > 0)
        kernels.transform(tile[None, :], self.code, self.coef0, float(self.degree))
        return tile

    def _work(self) -> np.ndarray:
        # About 4 MB of scattered right rows, at least 64 at a time.
        room = (1 << 22) // (self.n_features * self.dtype.itemsize + 1)
        width = int(min(kernels.TILE_COLS, max(64, room)))
        return np.zeros((self.n_features, width), self.dtype)

    def _scatters(self) -> bool:
        """False where scattered rows would not stay in cache: SciPy multiplies."""
        return self.n_features <= SCATTER_FEATURES or self.code == kernels.LAPLACIAN

    def _multiplied(self, other: "SparseRows", part: slice) -> np.ndarray:
        """Kernel values of the rows `part` by a sparse product."""
        mine = self.take(part)
        tile = (mine._matrix() @ other._matrix().T).toarray()
        tile -= mine.norms[:, None]
        tile -= other.norms
        kernels.transform(tile, *other._args)
        return tile

    def block(self, other: "SparseRows", out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = np.empty((len(self), len(other)), self.dtype)
        scale, half = _scaling(out.dtype == np.uint16, self.dtype)
        if not self._scatters():
            step = max(1, BLOCK_ENTRIES // max(1, len(other)))
            for start in range(0, len(self), step):
                part = slice(start, start + step)
                out[part] = self._multiplied(other, part) * scale + half
            return out
        kernels.sparse_block(
            *self._arrays, *other._arrays, *other._args, scale, half, self._work(), out
        )
        return out

    def square(self, out: np.ndarray, n_threads: int = 1) -> np.ndarray:
        self.block(self, out)
        if self.code in NORMALISED_CODES:
            np.fill_diagonal(out, 65535 if out.dtype == np.uint16 else 1)
        return out

    def product(
        self, other: "SparseRows", weights: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        out = np.zeros(len(self))
        weights = np.ascontiguousarray(weights, self.dtype)
        if len(self) * len(other) < THREAD_ENTRIES:
            n_threads = 1
        most = PART_ENTRIES // max(1, len(other))

        if not self._scatters():
            most = min(most, BLOCK_ENTRIES // max(1, len(other)))

        def work(part: slice) -> None:
            if not self._scatters():
                out[part] = self._multiplied(other, part) @ weights
                return
            ptr = self.ptr[part.start : part.stop + 1]
            kernels.sparse_product(
                self.data, self.ind, ptr, self.norms[part], *other._arrays,
                weights, *other._args, self._work(), out[part],
            )  # fmt: skip

        in_threads(work, len(self), kernels.TILE_ROWS, n_threads, most)
        return out


@dataclass(frozen=True)
class StoredRows:
    """Rows (and columns) of a given matrix of kernel values.

    `rows` are the samples' own row numbers, `cols` their column numbers: equal for
    a training matrix, while rows of a prediction matrix have no columns.
    """

    matrix: np.ndarray
    rows: np.ndarray
    cols: np.ndarray | None = None
    shared_scale: float | None = None  # then `matrix` holds squared distances

    @property
    def dtype(self) -> np.dtype:
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.rows.shape[0]

    def take(self, index: np.ndarray | slice) -> "StoredRows":
        cols = None if self.cols is None else self.cols[index]
        return StoredRows(self.matrix, self.rows[index], cols, self.shared_scale)

    def _finish(self, values: np.ndarray) -> np.ndarray:
        if self.shared_scale is not None:
            values = np.multiply(values, -self.shared_scale * LOG2_E)
            kernels.transform(values, kernels.RBF, self.dtype.type(0), 1.0)
        return values

    def diagonal(self) -> np.ndarray:
        if self.shared_scale is not None:
            return np.ones(len(self))
        return self.matrix[self.rows, self.cols].astype(np.float64)

    def block(self, other: "StoredRows", out: np.ndarray | None = None) -> np.ndarray:
        assert other.cols is not None  # rows of a prediction matrix stand left
        values = self._finish(self.matrix[np.ix_(self.rows, other.cols)])
        if out is None:
            return values
        out[...] = np.rint(values * 65535) if out.dtype == np.uint16 else values
        return out

    def square(self, out: np.ndarray, n_threads: int = 1) -> np.ndarray:
        return self.block(self, out)

    def product(
        self, other: "StoredRows", weights: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        out = np.zeros(len(self))
        cols = other.cols
        assert cols is not None
        step = max(1, BLOCK_ENTRIES // max(1, len(cols)))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            if self.shared_scale is not None:
                out[part] = self.take(part).block(other) @ weights
            else:
                kernels.stored_product(
                    self.matrix,
                    self.rows[part].view(np.uint64),
                    cols.view(np.uint64),
                    np.ascontiguousarray(weights, np.float64),
                    out[part],
                )
        return out


@dataclass(frozen=True)
class FunctionRows:
    """Rows for a kernel that is a Python function of two row blocks."""

    data: Any
    function: Callable[[Any, Any], Any]
    dtype: np.dtype = np.dtype(np.float64)  # noqa: RUF009

    def __len__(self) -> int:
        return self.data.shape[0]

    def take(self, index: np.ndarray | slice) -> "FunctionRows":
        return FunctionRows(self.data[index], self.function)

    def diagonal(self) -> np.ndarray:
        out = np.empty(len(self))
        for start in range(0, len(self), 64):
            part = self.data[start : start + 64]
            out[start : start + 64] = np.diagonal(self._call(part, part))
        return out

    def _call(self, left: Any, right: Any) -> np.ndarray:
        values = self.function(left, right)
        if sparse.issparse(values):
            values = values.toarray()
        values = np.asarray(values, np.float64)
        if values.shape != (left.shape[0], right.shape[0]):
            raise ValueError(
                f"the kernel function must return an array of shape "
                f"{(left.shape[0], right.shape[0])} for blocks of {left.shape[0]} and "
                f"{right.shape[0]} rows, got {values.shape}"
            )
        return values

    def block(self, other: "FunctionRows", out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = np.empty((len(self), len(other)))
        for start in range(0, len(self), 1024):
            part = slice(start, start + 1024)
            out[part] = self._call(self.data[part], other.data)
        return out

    def square(self, out: np.ndarray, n_threads: int = 1) -> np.ndarray:
        return self.block(self, out)

    def product(
        self, other: "FunctionRows", weights: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        out = np.empty(len(self))
        step = max(1, BLOCK_ENTRIES // max(1, len(other)))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            out[part] = self._call(self.data[part], other.data) @ weights
        return out
