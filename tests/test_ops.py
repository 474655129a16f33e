"""Products and column statistics against NumPy, for every kind of storage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin import column_stats as column_stats_module
from widemargin import ops
from widemargin import rows as rows_module
from widemargin._testing import check_kernel_matches_py_func
from widemargin.column_stats import column_stats
from widemargin.rows import CsrRows, as_rows, read_only, row_slice

N_ROWS, N_FEATURES = 37, 13
CLOSE = {"rtol": 1e-12, "atol": 1e-12}  # other order of summation


def _csr(dense, index):
    matrix = sparse.csr_array(dense)
    matrix.indices = matrix.indices.astype(index)
    matrix.indptr = matrix.indptr.astype(index)
    return matrix


def _frozen(matrix):
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


STORAGES = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "columns of a larger array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "csr": lambda X: _csr(X, np.int32),
    "csr int64": lambda X: _csr(X, np.int64),
    "csr read-only": lambda X: _frozen(_csr(X, np.int32)),
    "csr float32": lambda X: _csr(X.astype(np.float32), np.int32),
    "csr matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
}


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X *= rng.random(X.shape) < 0.4
    X[5] = 0.0
    X[:, 3] = 0.0
    X[:, 4] = np.abs(X[:, 4]) + 1.0
    return np.float64(np.float32(X)), rng


@pytest.mark.parametrize("storage", STORAGES)
def test_products(data, storage, monkeypatch):
    X, rng = data
    monkeypatch.setattr(rows_module, "_CHUNK_BYTES", 0)  # chunks of 16 rows
    monkeypatch.setattr(ops, "_BATCH", 8)
    rows = as_rows(STORAGES[storage](X))
    assert rows.shape == X.shape
    assert_allclose(ops.row_norms_squared(rows), np.sum(X * X, axis=1), **CLOSE)
    for n_outputs in (1, 2, 3, 5, 7):  # every path of the kernels
        W = rng.normal(size=(N_FEATURES, n_outputs))
        U = rng.normal(size=(N_ROWS, n_outputs))
        D = rng.random(U.shape) * (rng.random((N_ROWS, 1)) < 0.6)
        shift = rng.normal(size=n_outputs)
        work = D * (X @ W + shift)
        out, total = ops.hess_product(rows, D, W, shift)
        assert_allclose(ops.product(rows, W), X @ W, **CLOSE)
        assert_allclose(ops.transposed_product(rows, U), X.T @ U, **CLOSE)
        assert_allclose(ops.transposed_product(rows, D), X.T @ D, **CLOSE)
        assert_allclose(out, X.T @ work, **CLOSE)
        assert_allclose(total, work.sum(axis=0), **CLOSE)
        assert_allclose(ops.weighted_squares(rows, D), (X * X).T @ D, **CLOSE)
        assert_allclose(ops.gram(rows, D[:, 0]), X.T @ (D[:, :1] * X), **CLOSE)
        added = ops.hess_product(rows, D, W, out=np.ones_like(W))[0]
        assert_allclose(added, 1.0 + X.T @ (D * (X @ W)), **CLOSE)
        added = ops.transposed_product(rows, read_only(U), np.ones_like(W))
        assert_allclose(added, 1.0 + X.T @ U, **CLOSE)


def test_large_tables_take_two_passes(data, monkeypatch):
    X, rng = data
    V, D = rng.normal(size=(N_FEATURES, 3)), rng.random((N_ROWS, 3))
    monkeypatch.setattr(ops, "_TABLE_BYTES", 0)
    out, _ = ops.hess_product(as_rows(sparse.csr_array(X)), D, V)
    assert_allclose(out, X.T @ (D * (X @ V)), **CLOSE)


@pytest.mark.parametrize("storage", STORAGES)
def test_column_stats_with_weights_are_those_of_repeated_rows(data, storage):
    X, rng = data
    rows = as_rows(STORAGES[storage](X))
    weight = rng.integers(0, 3, N_ROWS)
    for given, repeated in ((None, X), (weight, np.repeat(X, weight, axis=0))):
        stats = column_stats(rows, given)
        assert_allclose(stats.mean, repeated.mean(axis=0), **CLOSE)
        assert_allclose(stats.variance, repeated.var(axis=0), **CLOSE)
        assert_array_equal(stats.minimum, repeated.min(axis=0))
        assert_array_equal(stats.maximum, repeated.max(axis=0))


@pytest.mark.parametrize("to_rows", [np.asarray, sparse.csr_array])
def test_variance_does_not_cancel(to_rows):
    x = 1e9 + np.arange(4.0)[:, np.newaxis]
    assert_allclose(column_stats(as_rows(to_rows(x))).variance, [1.25], rtol=1e-12)


def test_data_is_viewed_not_copied(data):
    X, _ = data
    for dense in (X, np.asfortranarray(X), X.astype(np.float32)):
        assert np.shares_memory(as_rows(dense), dense)
    for index in (np.int32, np.int64):
        matrix = _csr(X, index)
        rows = as_rows(matrix)
        assert np.shares_memory(rows.data, matrix.data)
        assert np.shares_memory(rows.ind, matrix.indices)
        assert rows.ind.dtype == np.dtype(index).name.replace("int", "uint")
        part = row_slice(rows, 10, 20)
        assert np.shares_memory(part.data, matrix.data)
        assert_array_equal(ops.product(part, np.eye(N_FEATURES)), X[10:20])


def test_unsorted_and_repeated_entries_are_summed_in_a_copy():
    # the row (0, 3, 5) with 3 = 1 + 2 stored twice, out of order
    data, indices = np.array([1.0, 5.0, 2.0]), np.array([1, 2, 1], np.int32)
    matrix = sparse.csr_array((data, indices, np.array([0, 3], np.int32)), shape=(1, 3))
    rows = as_rows(matrix)
    assert_array_equal(matrix.data, [1.0, 5.0, 2.0])
    assert_array_equal(matrix.indices, [1, 2, 1])
    assert_array_equal(ops.row_norms_squared(rows), [34.0])
    assert_array_equal(ops.gram(rows, np.ones(1)), np.outer([0, 3, 5], [0, 3, 5]))


def test_other_types_become_float64(data):
    X, _ = data
    for made in (X.astype(np.int64), X.astype(">f8"), X.astype(np.float16), X > 0):
        assert as_rows(made).dtype == np.float64
    assert as_rows(sparse.csr_array(X > 0)).data.dtype == np.float64


@pytest.mark.parametrize("to_rows", [np.asarray, sparse.csr_array])
def test_wrong_shapes_never_reach_a_kernel(data, to_rows):
    rows, wrong = as_rows(to_rows(data[0])), np.zeros((N_FEATURES - 1, 1))
    for call in (
        lambda: ops.product(rows, wrong),
        lambda: ops.transposed_product(rows, wrong),
        lambda: ops.hess_product(rows, wrong, np.zeros((N_FEATURES, 1))),
        lambda: ops.hess_product(rows, np.zeros((N_ROWS, 1)), wrong),
        lambda: ops.gram(rows, wrong[:, 0]),
    ):
        with pytest.raises(ValueError, match="12 rows"):
            call()


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1)])
@pytest.mark.parametrize("to_rows", [np.asarray, sparse.csr_array])
def test_empty_shapes(shape, to_rows):
    rows = as_rows(to_rows(np.zeros(shape)))
    V, D = np.ones((shape[1], 2)), np.ones((shape[0], 2))
    assert ops.product(rows, V).shape == (shape[0], 2)
    assert ops.transposed_product(rows, D).shape == (shape[1], 2)
    assert ops.hess_product(rows, D, V)[0].shape == (shape[1], 2)
    assert ops.gram(rows, D[:, 0]).shape == (shape[1], shape[1])
    assert ops.row_norms_squared(rows).shape == (shape[0],)


@pytest.mark.parametrize("n_outputs", [1, 2, 5, 7])
def test_kernels_match_python(data, n_outputs):
    X, rng = data
    X = X[:10]
    rows = as_rows(sparse.csr_array(X))
    assert isinstance(rows, CsrRows)
    csr, n = rows[:3], len(X)
    V, D = rng.normal(size=(N_FEATURES, n_outputs)), rng.random((n, n_outputs))
    D[2:4] = 0.0
    shift, live = rng.normal(size=n_outputs), np.ones(n, np.uint8)
    live[1] = 0
    Z, out, total = np.zeros((n, n_outputs)), np.zeros_like(V), np.zeros(n_outputs)
    batch = np.zeros((4, n_outputs))
    check = check_kernel_matches_py_func
    fixed = read_only(D), read_only(V), read_only(shift)
    check(ops._product_sparse, *csr, 0, n, live, fixed[1], Z)
    check(ops._transposed_sparse, *csr, 0, n, D, out)
    check(ops._hess_sparse, *csr, *fixed, live, batch, out, total)
    transposed = fixed[0], read_only(V.T), fixed[2]
    check(ops._hess, read_only(X), *transposed, np.zeros_like(V.T), total)
    check(ops._gram_sparse, *csr, read_only(D[:, 0]), np.zeros((N_FEATURES,) * 2))
    columns = np.zeros((4, N_FEATURES))
    columns[2], columns[3] = np.inf, -np.inf
    stats = column_stats_module._column_stats_sparse
    check(stats, *csr, read_only(D[:, 0]), *map(np.array, columns))


def test_one_signature_per_storage(data):
    X, rng = data
    sizes = []
    for n_outputs in (1, 3):
        W = rng.normal(size=(N_FEATURES, n_outputs))
        for given in (W, read_only(W), np.asfortranarray(W)):
            for storage in ("csr", "csr read-only", "csr matrix"):
                rows = as_rows(STORAGES[storage](X))
                Z = ops.product(rows, given)
                for work in (Z, read_only(Z), np.asfortranarray(Z)):
                    ops.transposed_product(rows, work)
                    ops.hess_product(rows, work**2, given)
                kernels = ops._product_sparse, ops._transposed_sparse, ops._hess_sparse
                if hasattr(kernels[0], "signatures"):  # not where the JIT is disabled
                    sizes.append([len(kernel.signatures) for kernel in kernels])
    assert all(size == sizes[0] for size in sizes)
