"""Kernel functions, tile by tile.

A tile is a block of ``K[rows, cols]`` small enough to stay in cache. It is filled
by one BLAS product (dense rows), by a scatter-and-add loop (CSR rows) or by a
difference loop (L1 distance), turned into kernel values in place, and either
stored (`*_block`) or multiplied by weights and forgotten (`*_product`): computing
an entry again is cheaper than the first touch of fresh memory.

For the Gaussian kernel the exponent comes straight out of the product. With
``Z = X sqrt(2 gamma log2 e)`` and ``s_i = |Z_i|^2 / 2`` the rows are stored as
``[Z_i, -s_i, 1]`` and met by ``[Z_j, 1, -s_j]``, so that the product is
``log2 K_ij``. `gram.py` prepares the rows; everything here takes arrays.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin._jit import kernel

# Codes of the closed set of kernel functions that tiles know.
LINEAR, POLY, RBF, SIGMOID, LAPLACIAN, EXPONENTIAL = range(6)

TILE_ROWS = 256
TILE_COLS = 512

# 2^f on [-1/2, 1/2]: Taylor terms ln(2)^k / k!; the last float32 ones are the
# minimax values, relative error 6e-8.
_C64 = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(13))


def _reinterpret(_context, bits):
    """Reinterpret an int32 as float32, an int64 as float64."""
    small = bits == types.int32
    result = types.float32 if small else types.float64

    def codegen(_ctx, builder, _sig, args):
        llvm_type = ir.FloatType() if small else ir.DoubleType()
        return builder.bitcast(args[0], llvm_type)

    return result(bits), codegen


_bits_to_float: Any = intrinsic(_reinterpret)


def exp2(x):
    """``2**x``, x clipped to [-126, 0] (float32) or [-1022, 0] (float64).

    Rounding may leave a distance a little negative; its kernel value is 1.

    Compiled, it is a polynomial that vectorises; this body is for uncompiled runs.
    """
    low = -126.0 if isinstance(x, np.float32) else -1022.0
    return type(x)(2.0 ** min(max(x, low), 0.0))


@overload(exp2, inline="always", jit_options={"error_model": "numpy"})
def _exp2_compiled(x):
    if x == types.float32:

        def single(x):
            x = min(max(x, np.float32(-126.0)), np.float32(0.0))
            k = np.int32(x - np.float32(0.5))
            f = x - np.float32(k)
            p = np.float32(0.000154057)
            p = p * f + np.float32(0.00133986096)
            p = p * f + np.float32(0.00961870886)
            p = p * f + np.float32(0.0555032879)
            p = p * f + np.float32(0.240226462)
            p = p * f + np.float32(0.693147182)
            p = p * f + np.float32(1.0)
            return p * _bits_to_float(np.int32((k + np.int32(127)) << np.int32(23)))

        return single

    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 = _C64

    def double(x):
        x = min(max(x, -1022.0), 0.0)
        k = np.int64(x - 0.5)
        f = x - np.float64(k)
        p = c12 * f + c11
        p = p * f + c10
        p = p * f + c9
        p = p * f + c8
        p = p * f + c7
        p = p * f + c6
        p = p * f + c5
        p = p * f + c4
        p = p * f + c3
        p = p * f + c2
        p = p * f + c1
        p = p * f + c0
        return p * _bits_to_float(np.int64((k + np.int64(1023)) << np.int64(52)))

    return double


@kernel(reduce=True)
def transform(tile, code, coef0, degree):
    """Turn products (or negative log2 distances) into kernel values, in place."""
    for i in range(tile.shape[0]):
        row = tile[i]
        if code == RBF:
            for j in range(row.shape[0]):
                row[j] = exp2(row[j])
        elif code == EXPONENTIAL:
            # below coef0 the distance is rounding: the root would make much of it
            zero = row.dtype.type(0.0)
            for j in range(row.shape[0]):
                distance = -row[j] if -row[j] > coef0 else zero
                row[j] = exp2(-math.sqrt(distance))
        elif code == LAPLACIAN:
            for j in range(row.shape[0]):
                row[j] = exp2(-row[j])
        elif code == SIGMOID:
            for j in range(row.shape[0]):
                row[j] = math.tanh(row[j] + coef0)
        elif code == POLY:
            whole = int(degree)
            if whole == degree and whole <= 16:
                for j in range(row.shape[0]):
                    base = row[j] + coef0
                    value = base * 0 + 1
                    for _ in range(whole):
                        value *= base
                    row[j] = value
            else:
                for j in range(row.shape[0]):
                    row[j] = (row[j] + coef0) ** degree


@kernel(reduce=True)
def _weigh_row(row, weights, code, coef0, degree):
    """``sum_j weights_j k(row_j)`` of one unfinished tile row; uses `row` up."""
    total = row.dtype.type(0.0)
    if code == RBF:  # not stored: one pass
        for j in range(row.shape[0]):
            total += weights[j] * exp2(row[j])
    else:
        for j in range(row.shape[0]):
            total += weights[j] * row[j]
    return total


@kernel(reduce=True)
def _pack_right(right, start, stop, code, out):
    """Rows start..stop as the right factor: the last two columns change places."""
    d = right.shape[1]
    for j in range(stop - start):
        source = right[start + j]
        for k in range(d):
            out[j, k] = source[k]
        if code == RBF or code == EXPONENTIAL:
            out[j, d - 2] = source[d - 1]
            out[j, d - 1] = source[d - 2]


@kernel(reduce=True)
def _fill_l1(left, right, tile):
    """``tile_ij = sum_k |left_ik - right_jk|``."""
    right_t = right.T.copy()
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0
        for k in range(left.shape[1]):
            value = left[i, k]
            column = right_t[k]
            for j in range(row.shape[0]):
                row[j] += abs(value - column[j])


@kernel(reduce=True)
def _fill_dense(left, right, code, tile):
    """What `transform` turns into kernel values: products, or L1 distances."""
    if code == LAPLACIAN:
        _fill_l1(left, right, tile)
    else:
        np.dot(left, right.T, tile)


@kernel(reduce=True)
def dense_product(left, right, weights, code, coef0, degree, out):
    """``out_i += sum_j k(left_i, right_j) weights_j``, sums over tiles in float64.

    left (n, d), right (m, d) prepared rows; weights (m,) in their dtype; out (n,)
    float64.
    """
    n, d = left.shape
    m = right.shape[0]
    buffer = np.empty(TILE_ROWS * TILE_COLS, left.dtype)
    packed = np.empty(TILE_COLS * d, left.dtype)
    for j0 in range(0, m, TILE_COLS):
        j1 = min(m, j0 + TILE_COLS)
        width = j1 - j0
        w = weights[j0:j1]
        right_tile = packed[: width * d].reshape(width, d)
        _pack_right(right, j0, j1, code, right_tile)
        for i0 in range(0, n, TILE_ROWS):
            i1 = min(n, i0 + TILE_ROWS)
            tile = buffer[: (i1 - i0) * width].reshape(i1 - i0, width)
            _fill_dense(left[i0:i1], right_tile, code, tile)
            if code != RBF and code != LINEAR:
                transform(tile, code, coef0, degree)
            for i in range(i1 - i0):
                out[i0 + i] += _weigh_row(tile[i], w, code, coef0, degree)


@kernel(reduce=True)
def dense_block(left, right, code, coef0, degree, out):
    """``out_ij = k(left_i, right_j)``; out (n, m) in the dtype of the rows."""
    n, d = left.shape
    m = right.shape[0]
    buffer = np.empty(TILE_ROWS * TILE_COLS, left.dtype)
    packed = np.empty(TILE_COLS * d, left.dtype)
    for j0 in range(0, m, TILE_COLS):
        j1 = min(m, j0 + TILE_COLS)
        width = j1 - j0
        right_tile = packed[: width * d].reshape(width, d)
        _pack_right(right, j0, j1, code, right_tile)
        for i0 in range(0, n, TILE_ROWS):
            i1 = min(n, i0 + TILE_ROWS)
            tile = buffer[: (i1 - i0) * width].reshape(i1 - i0, width)
            _fill_dense(left[i0:i1], right_tile, code, tile)
            transform(tile, code, coef0, degree)
            for i in range(i1 - i0):
                target = out[i0 + i, j0:j1]
                source = tile[i]
                for j in range(width):
                    target[j] = source[j]


@kernel(reduce=True)
def _store_mirrored(tile, i0, j0, scale, half, out):
    """Write a tile and its transpose; 16 x 16 patches keep the strided side cached."""
    rows, cols = tile.shape
    for i in range(rows):
        source = tile[i]
        target = out[i0 + i, j0 : j0 + cols]
        for j in range(cols):
            target[j] = source[j] * scale + half
    if i0 == j0:
        return
    for j2 in range(0, cols, 16):
        for i2 in range(0, rows, 16):
            for j in range(j2, min(cols, j2 + 16)):
                target = out[j0 + j, i0 + i2 : i0 + min(rows, i2 + 16)]
                for i in range(target.shape[0]):
                    target[i] = tile[i2 + i, j] * scale + half


@kernel(reduce=True)
def dense_square(rows, code, coef0, degree, scale, half, start, stop, out):
    """``out_ij = k(rows_i, rows_j) scale + half``, each pair of tiles computed once.

    `scale` and `half` are 1 and 0, or 65535 and 1/2 where `out` is uint16. Only the
    tiles of columns start..stop (start a multiple of the tile's side) on and above
    the diagonal are computed, and mirrored: such parts do not overlap.
    """
    n, d = rows.shape
    side = TILE_ROWS
    buffer = np.empty(side * side, rows.dtype)
    packed = np.empty(side * d, rows.dtype)
    for j0 in range(start, stop, side):
        j1 = min(n, j0 + side)
        width = j1 - j0
        right_tile = packed[: width * d].reshape(width, d)
        _pack_right(rows, j0, j1, code, right_tile)
        for i0 in range(0, j1, side):
            i1 = min(n, i0 + side)
            tile = buffer[: (i1 - i0) * width].reshape(i1 - i0, width)
            _fill_dense(rows[i0:i1], right_tile, code, tile)
            transform(tile, code, coef0, degree)
            _store_mirrored(tile, i0, j0, scale, half, out)


@kernel(reduce=True)
def dense_row(left, right_t, code, coef0, degree, out):
    """``out_j = k(left, right_j)`` for one row, four features a pass.

    left (d,); right_t (d, m) the transposed right factor, see `pack_transposed`;
    out (m,). For solvers that need few rows; many rows are cheaper in tiles.
    """
    d = left.shape[0]
    m = right_t.shape[1]
    for start in range(0, m, TILE_COLS):
        row = out[start : start + TILE_COLS]
        row[:] = 0
        stop = start + row.shape[0]
        k = 0
        if code == LAPLACIAN:
            for k in range(d):
                value = left[k]
                column = right_t[k, start:stop]
                for j in range(row.shape[0]):
                    row[j] += abs(value - column[j])
        else:
            while k + 4 <= d:
                v0, v1, v2, v3 = left[k], left[k + 1], left[k + 2], left[k + 3]
                c0 = right_t[k, start:stop]
                c1 = right_t[k + 1, start:stop]
                c2 = right_t[k + 2, start:stop]
                c3 = right_t[k + 3, start:stop]
                for j in range(row.shape[0]):
                    row[j] += v0 * c0[j] + v1 * c1[j] + v2 * c2[j] + v3 * c3[j]
                k += 4
            while k < d:
                value = left[k]
                column = right_t[k, start:stop]
                for j in range(row.shape[0]):
                    row[j] += value * column[j]
                k += 1
        transform(row.reshape(1, row.shape[0]), code, coef0, degree)


@kernel(reduce=True)
def pack_transposed(right, code, out):
    """Rows as the transposed right factor of `dense_row`; out (d, m)."""
    d = right.shape[1]
    for j in range(right.shape[0]):
        source = right[j]
        for k in range(d):
            out[k, j] = source[k]
        if code == RBF or code == EXPONENTIAL:
            out[d - 2, j] = source[d - 1]
            out[d - 1, j] = source[d - 2]


@kernel(reduce=True)
def _fill_sparse(data, ind, ptr, norms, i0, i1, work, right_norms, code, tile):
    """Products (or distances) of CSR rows i0..i1 with the dense columns of `work`.

    work (n_features, width): the transposed right rows; only the features of the
    left rows are read. ind uint32/uint64 view, ptr uint64 view.
    """
    width = tile.shape[1]
    for i in range(i0, i1):
        row = tile[i - i0]
        if code == RBF or code == EXPONENTIAL:
            own = norms[i]
            for j in range(width):
                row[j] = -own - right_norms[j]
        elif code == LAPLACIAN:
            for j in range(width):
                row[j] = right_norms[j]
        else:
            for j in range(width):
                row[j] = 0
        for k in range(ptr[i], ptr[i + 1]):
            value = data[k]
            column = work[ind[k]]
            if code == LAPLACIAN:
                for j in range(width):
                    row[j] += abs(value - column[j]) - abs(column[j])
            else:
                for j in range(width):
                    row[j] += value * column[j]


@kernel(reduce=True)
def _scatter(data, ind, ptr, norms, j0, j1, work, right_norms, clear):
    for j in range(j0, j1):
        right_norms[j - j0] = norms[j]
        for k in range(ptr[j], ptr[j + 1]):
            work[ind[k], j - j0] = data[k] * (1 - clear)


@kernel(reduce=True)
def sparse_product(
    data, ind, ptr, norms, data2, ind2, ptr2, norms2,
    weights, code, coef0, degree, work, out,
):  # fmt: skip
    """CSR twin of `dense_product`; work (n_features, width) zeros, left zero."""
    n = norms.shape[0]
    m = norms2.shape[0]
    step = work.shape[1]
    buffer = np.empty(TILE_ROWS * step, data.dtype)
    right_norms = np.empty(step, data.dtype)
    for j0 in range(0, m, step):
        j1 = min(m, j0 + step)
        width = j1 - j0
        w = weights[j0:j1]
        _scatter(data2, ind2, ptr2, norms2, j0, j1, work, right_norms, 0)
        for i0 in range(0, n, TILE_ROWS):
            i1 = min(n, i0 + TILE_ROWS)
            tile = buffer[: (i1 - i0) * width].reshape(i1 - i0, width)
            _fill_sparse(data, ind, ptr, norms, i0, i1, work, right_norms, code, tile)
            if code != RBF and code != LINEAR:
                transform(tile, code, coef0, degree)
            for i in range(i1 - i0):
                out[i0 + i] += _weigh_row(tile[i], w, code, coef0, degree)
        _scatter(data2, ind2, ptr2, norms2, j0, j1, work, right_norms, 1)


@kernel(reduce=True)
def sparse_block(
    data, ind, ptr, norms, data2, ind2, ptr2, norms2,
    code, coef0, degree, scale, half, work, out,
):  # fmt: skip
    """CSR twin of `dense_block`; `scale` and `half` as in `dense_square`."""
    n = norms.shape[0]
    m = norms2.shape[0]
    step = work.shape[1]
    buffer = np.empty(TILE_ROWS * step, data.dtype)
    right_norms = np.empty(step, data.dtype)
    for j0 in range(0, m, step):
        j1 = min(m, j0 + step)
        width = j1 - j0
        _scatter(data2, ind2, ptr2, norms2, j0, j1, work, right_norms, 0)
        for i0 in range(0, n, TILE_ROWS):
            i1 = min(n, i0 + TILE_ROWS)
            tile = buffer[: (i1 - i0) * width].reshape(i1 - i0, width)
            _fill_sparse(data, ind, ptr, norms, i0, i1, work, right_norms, code, tile)
            transform(tile, code, coef0, degree)
            for i in range(i1 - i0):
                target = out[i0 + i, j0:j1]
                source = tile[i]
                for j in range(width):
                    target[j] = source[j] * scale + half
        _scatter(data2, ind2, ptr2, norms2, j0, j1, work, right_norms, 1)


@kernel(reduce=True)
def stored_product(matrix, rows, cols, weights, out):
    """``out_i += sum_j matrix[rows_i, cols_j] weights_j`` on a stored matrix."""
    for i in range(rows.shape[0]):
        line = matrix[rows[i]]
        total = 0.0
        for j in range(cols.shape[0]):
            total += line[cols[j]] * weights[j]
        out[i] += total


@kernel(reduce=True)
def prefix_product(matrix, cols, weights, out):
    """``out_i += sum_j matrix[i, cols_j] weights_j`` by columns of a symmetric one."""
    n = out.shape[0]
    for start in range(0, n, 2048):
        part = out[start : start + 2048]
        for j in range(cols.shape[0]):
            line = matrix[cols[j], start : start + 2048]
            w = weights[j]
            for i in range(part.shape[0]):
                part[i] += line[i] * w
