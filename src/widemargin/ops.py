"""Products with rows of data, dense or CSR.

Data is what `widemargin.rows.as_rows` returns. All products take
``W (n_features, n_outputs)`` or ``U (n_rows, n_outputs)`` in float64, so that every
output shares one pass over the rows; float32 data is summed in float64.

Dense products belong to BLAS, in chunks of rows that stay in cache. Only the Hessian
product of few outputs is compiled: it reads each row from memory once, and passes
over rows of zero curvature.
"""

from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin.rows import CsrRows, Rows, read_only, row_chunks

_DENSE_OUTPUTS = 4  # up to here one compiled pass beats two calls of BLAS
_GROUP_OUTPUTS = 6  # below: sums of four outputs in registers; from here on: in rows
_BATCH = 256  # rows of a sparse Hessian product between its two passes
_TABLE_BYTES = 2**23  # what address translation covers: V and the result together


@kernel(reduce=True)
def _hess(X, D, Vt, shift, out, total):
    """Add U'X to out and 1'U to total, U = D * (XV + shift), four rows at a time."""
    n_rows, n_features = X.shape
    i = 0
    while i < n_rows:
        full = i + 4 <= n_rows  # the last rows stand alone, beside themselves at D = 0
        i1, i2, i3 = (i + 1, i + 2, i + 3) if full else (i, i, i)
        for k in range(D.shape[1]):
            d0 = D[i, k]
            d1, d2, d3 = (D[i1, k], D[i2, k], D[i3, k]) if full else (0.0, 0.0, 0.0)
            if d0 == 0.0 and d1 == 0.0 and d2 == 0.0 and d3 == 0.0:
                continue
            s0 = s1 = s2 = s3 = shift[k]
            for j in range(n_features):
                v = Vt[k, j]
                s0 += X[i, j] * v
                s1 += X[i1, j] * v
                s2 += X[i2, j] * v
                s3 += X[i3, j] * v
            s0, s1, s2, s3 = s0 * d0, s1 * d1, s2 * d2, s3 * d3
            total[k] += s0 + s1 + s2 + s3
            for j in range(n_features):
                u = s0 * X[i, j] + s1 * X[i1, j]
                out[k, j] += u + s2 * X[i2, j] + s3 * X[i3, j]
        i += 4 if full else 1


@kernel
def _product_sparse(data, ind, ptr, start, stop, live, W, Z):
    """Add XW to Z for the live rows from start to stop; Z begins at row start."""
    n_outputs = W.shape[1]
    w = W.ravel()
    grouped = 0 if n_outputs >= _GROUP_OUTPUTS else n_outputs - n_outputs % 4
    for i in range(start, stop):
        if live[i] == 0:
            continue
        r = i - start
        a, b = ptr[i], ptr[i + 1]
        if n_outputs == 1:
            s0 = 0.0
            for p in range(a, b):
                s0 += data[p] * w[ind[p]]
            Z[r, 0] += s0
            continue
        if n_outputs >= _GROUP_OUTPUTS:
            for p in range(a, b):
                x, j = data[p], ind[p]
                for k in range(n_outputs):
                    Z[r, k] += x * W[j, k]
            continue
        for k in range(0, grouped, 4):
            s0 = s1 = s2 = s3 = 0.0
            for p in range(a, b):
                x, j = data[p], ind[p]
                s0 += x * W[j, k]
                s1 += x * W[j, k + 1]
                s2 += x * W[j, k + 2]
                s3 += x * W[j, k + 3]
            Z[r, k] += s0
            Z[r, k + 1] += s1
            Z[r, k + 2] += s2
            Z[r, k + 3] += s3
        for k in range(grouped, n_outputs):
            s0 = 0.0
            for p in range(a, b):
                s0 += data[p] * W[ind[p], k]
            Z[r, k] += s0


@kernel
def _transposed_sparse(data, ind, ptr, start, stop, U, out):
    """Add X'U to out for the rows from start to stop; U begins at row start."""
    n_outputs = out.shape[1]
    flat = out.ravel()
    grouped = 0 if n_outputs >= _GROUP_OUTPUTS else n_outputs - n_outputs % 4
    for i in range(start, stop):
        r = i - start
        a, b = ptr[i], ptr[i + 1]
        if n_outputs == 1:
            s0 = U[r, 0]
            if s0 != 0.0:
                for p in range(a, b):
                    flat[ind[p]] += data[p] * s0
            continue
        if n_outputs >= _GROUP_OUTPUTS:
            live = False
            for k in range(n_outputs):
                live = live or U[r, k] != 0.0
            if live:
                for p in range(a, b):
                    x, j = data[p], ind[p]
                    for k in range(n_outputs):
                        out[j, k] += x * U[r, k]
            continue
        for k in range(0, grouped, 4):
            s0, s1, s2, s3 = U[r, k], U[r, k + 1], U[r, k + 2], U[r, k + 3]
            if s0 != 0.0 or s1 != 0.0 or s2 != 0.0 or s3 != 0.0:
                for p in range(a, b):
                    x, j = data[p], ind[p]
                    out[j, k] += x * s0
                    out[j, k + 1] += x * s1
                    out[j, k + 2] += x * s2
                    out[j, k + 3] += x * s3
        for k in range(grouped, n_outputs):
            s0 = U[r, k]
            if s0 != 0.0:
                for p in range(a, b):
                    out[ind[p], k] += data[p] * s0


@kernel
def _hess_sparse(data, ind, ptr, D, V, shift, live, Z, out, total):
    """Add X'U to out and 1'U to total, U = D * (XV + shift), by batches of rows.

    Z holds one batch; live says which rows have a D other than zero.
    """
    n_rows, n_outputs = D.shape
    if n_outputs == 1:  # both passes over a row while it is in the first cache
        v, flat = V.ravel(), out.ravel()
        for i in range(n_rows):
            if D[i, 0] != 0.0:
                s = shift[0]
                for p in range(ptr[i], ptr[i + 1]):
                    s += data[p] * v[ind[p]]
                s *= D[i, 0]
                total[0] += s
                for p in range(ptr[i], ptr[i + 1]):
                    flat[ind[p]] += data[p] * s
        return
    batch = Z.shape[0]
    for start in range(0, n_rows, batch):
        stop = min(n_rows, start + batch)
        for i in range(start, stop):
            live[i] = 0
            for k in range(n_outputs):
                Z[i - start, k] = shift[k]
                if D[i, k] != 0.0:
                    live[i] = 1
        _product_sparse(data, ind, ptr, start, stop, live, V, Z)
        for i in range(start, stop):
            for k in range(n_outputs):
                Z[i - start, k] *= D[i, k]
                total[k] += Z[i - start, k]
        _transposed_sparse(data, ind, ptr, start, stop, Z, out)


@kernel
def _gram_sparse(data, ind, ptr, d, out):
    """Add to out half of the diagonal and one of each pair of X' diag(d) X."""
    for i in range(d.shape[0]):
        if d[i] != 0.0:
            for p in range(ptr[i], ptr[i + 1]):
                x, j = d[i] * data[p], ind[p]
                for q in range(ptr[i], p):
                    out[j, ind[q]] += x * data[q]
                out[j, j] += 0.5 * x * data[p]


def _expect(array: np.ndarray, length: int) -> None:
    if len(array) != length:  # compiled loops would read beyond the end
        raise ValueError(f"an array of {len(array)} rows, where {length} are needed")


def product(rows: Rows, W: np.ndarray) -> np.ndarray:
    """``X W``: `W` (n_features, n_outputs), result (n_rows, n_outputs)."""
    n_rows = rows.shape[0]
    _expect(W, rows.shape[1])
    out = np.zeros((n_rows, W.shape[1]))
    if isinstance(rows, CsrRows):
        live = np.ones(n_rows, np.uint8)
        _product_sparse(*rows[:3], 0, n_rows, live, read_only(W), out)
        return out
    for part, chunk in row_chunks(rows):
        np.matmul(chunk, W, out=out[part])
    return out


def transposed_product(
    rows: Rows, U: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """``X' U``: `U` (n_rows, n_outputs), result (n_features, n_outputs).

    It is added to `out` where that is given. Sparse rows of zero `U` are not read.
    """
    n_rows, n_features = rows.shape
    _expect(U, n_rows)
    if out is None:
        out = np.zeros((n_features, U.shape[1]))
    if isinstance(rows, CsrRows):
        U = np.require(U, np.float64, ["C", "W"])
        _transposed_sparse(*rows[:3], 0, n_rows, U, out)
        return out
    for part, chunk in row_chunks(rows):
        out += chunk.T @ U[part]
    return out


def hess_product(
    rows: Rows,
    D: np.ndarray,
    V: np.ndarray,
    shift: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """``X' U`` and ``1' U`` for ``U = D * (X V + shift)``, without storing `U`.

    Parameters
    ----------
    rows : ndarray or CsrRows of shape (n_rows, n_features)
        The data X.
    D : ndarray of shape (n_rows, n_outputs)
        Curvatures; rows in which it is zero are passed over.
    V : ndarray of shape (n_features, n_outputs)
        Directions.
    shift : ndarray of shape (n_outputs,), optional
        Added to every row of X V: the part of an intercept.
    out : ndarray of shape (n_features, n_outputs), optional
        The first result is added to it.

    Returns
    -------
    ndarray of shape (n_features, n_outputs), ndarray of shape (n_outputs,)
    """
    (n_rows, n_features), n_outputs = rows.shape, V.shape[1]
    _expect(D, n_rows)
    _expect(V, n_features)
    total = np.zeros(n_outputs)
    shift = read_only(np.zeros(n_outputs) if shift is None else shift)
    if out is None:
        out = np.zeros((n_features, n_outputs))
    if isinstance(rows, CsrRows):
        # Batches keep rows in cache; where V and out do not fit in there, two
        # separate passes over all rows, each with one of them, are faster.
        small = 16 * n_features * n_outputs <= _TABLE_BYTES
        Z = np.empty((max(1, min(_BATCH, n_rows) if small else n_rows), n_outputs))
        live = np.empty(n_rows, np.uint8)
        D, V = read_only(D), read_only(V)
        _hess_sparse(*rows[:3], D, V, shift, live, Z, out, total)
    elif n_outputs <= _DENSE_OUTPUTS and rows.flags.c_contiguous:
        out_t = np.zeros((n_outputs, n_features))
        _hess(rows, read_only(D), read_only(V.T), shift, out_t, total)
        out += out_t.T
    else:
        for part, chunk in row_chunks(rows):
            U = chunk @ V
            U += shift
            U *= D[part]
            total += np.ones(len(U)) @ U
            out += chunk.T @ U
    return out, total


def gram(rows: Rows, d: np.ndarray) -> np.ndarray:
    """``X' diag(d) X``, (n_features, n_features), for `d` (n_rows,) >= 0."""
    _expect(d, rows.shape[0])
    out = np.zeros((rows.shape[1], rows.shape[1]))
    if isinstance(rows, CsrRows):
        _gram_sparse(*rows[:3], read_only(d), out)
        return out + out.T
    for part, chunk in row_chunks(rows, least=_BATCH):
        live = d[part] != 0.0
        scaled = chunk[live] * np.sqrt(d[part][live])[:, np.newaxis]
        out += scaled.T @ scaled
    return out


def _squared(rows: Any) -> Any:
    if not isinstance(rows, CsrRows):
        return rows * rows
    return rows._replace(data=read_only(np.square(rows.data, dtype=np.float64)))


def weighted_squares(rows: Rows, D: np.ndarray) -> np.ndarray:
    """Diagonals of ``X' diag(D[:, k]) X``, (n_features, n_outputs)."""
    out = np.zeros((rows.shape[1], D.shape[1]))
    for part, chunk in row_chunks(rows):
        transposed_product(_squared(chunk), D[part], out)
    return out


def row_norms_squared(rows: Rows) -> np.ndarray:
    """Squared lengths of the rows, (n_rows,)."""
    out = np.empty(rows.shape[0])
    ones = np.ones((rows.shape[1], 1))
    for part, chunk in row_chunks(rows):
        out[part] = product(_squared(chunk), ones)[:, 0]
    return out
