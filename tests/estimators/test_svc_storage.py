"""How data are stored does not matter; they stay as they are; nothing is printed."""

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin import SVC

TIGHT = 1e-8
# At a KKT gap of 1e-8 two ways to the same problem agree in their decisions to about
# 1e-7, and to 1e-6 where the kernel matrix is badly conditioned.
SAME = {"rtol": 0, "atol": 1e-6}
KERNELS = ["rbf", "linear", "poly", "laplacian", "exponential"]
# The sigmoid kernel is indefinite: its problem has several solutions, and which one is
# found depends on the order of the rows.
ALL_KERNELS = [*KERNELS, "sigmoid"]


def _model(**parameters):
    return SVC(**{"gamma": 0.3, "coef0": 0.5, "tol": TIGHT, **parameters})


@pytest.mark.parametrize("storage", ["csr", "csc", "coo", "lil", "csr_matrix", "bsr"])
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_sparse_is_dense(kernel, storage, decisions):
    def thin(Z):
        return np.where(np.abs(Z) < 0.5, 0.0, Z)

    make = {
        "csr": sparse.csr_array,
        "csc": sparse.csc_array,
        "coo": sparse.coo_array,
        "lil": sparse.lil_array,
        "csr_matrix": sparse.csr_matrix,
        "bsr": sparse.bsr_array,
    }[storage]
    base = decisions(_model(kernel=kernel), thin)
    changed = decisions(_model(kernel=kernel), lambda Z: make(thin(Z)))
    assert_allclose(changed, base, **SAME)


def test_sparse_entries_in_disorder_and_repeated(blobs):
    X, y = blobs()
    base = _model().fit(X, y)
    tidy = sparse.csr_array(X)
    indices, data = tidy.indices.copy(), tidy.data.copy()
    for start, stop in zip(tidy.indptr[:-1], tidy.indptr[1:], strict=True):
        indices[start:stop] = indices[start:stop][::-1]
        data[start:stop] = data[start:stop][::-1]
    disordered = sparse.csr_array((data, indices, tidy.indptr), shape=X.shape)
    halves = sparse.coo_array(
        (np.tile(tidy.tocoo().data / 2, 2), np.tile(tidy.tocoo().coords, 2)), X.shape
    )
    repeated = sparse.csr_array(
        (halves.data[np.argsort(halves.coords[0], kind="stable")],
         halves.coords[1][np.argsort(halves.coords[0], kind="stable")],
         2 * tidy.indptr), shape=X.shape,
    )  # fmt: skip
    for rows in (disordered, halves, repeated):
        before = rows.copy()
        model = _model().fit(rows, y)
        assert_allclose(model.decision_function(X), base.decision_function(X), **SAME)
        assert_allclose(base.decision_function(rows), base.decision_function(X), **SAME)
        assert_array_equal(rows.data, before.data)  # the caller's array stays
        assert rows.nnz == before.nnz


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_other_storage_at_predict(kernel, blobs):
    X, y = blobs(n_classes=3)
    thin = sparse.csr_array(X)
    dense_model, sparse_model = (_model(kernel=kernel).fit(Z, y) for Z in (X, thin))
    base = dense_model.decision_function(X)
    for model in (dense_model, sparse_model):
        for rows in (X, thin):
            assert_allclose(model.decision_function(rows), base, **SAME)


def _read_only(Z):
    Z = Z.copy()
    Z.flags.writeable = False
    return Z


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda Z: np.repeat(np.repeat(Z, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda Z: Z[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda Z: Z.astype(">f8"),
    "list": lambda Z: Z.tolist(),
    "read-only": lambda Z: _read_only(Z),
    "object": lambda Z: Z.astype(object),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_in_memory(layout, blobs):
    X, y = blobs()
    change = LAYOUTS[layout]
    base = _model().fit(X, y)
    model = _model().fit(change(X), change(y[:, None])[:, 0] if layout != "list" else y)
    assert_array_equal(model.decision_function(X), base.decision_function(X))
    assert_array_equal(base.decision_function(change(X)), base.decision_function(X))


def test_float32_and_integers(blobs):
    X, y = blobs()
    single = X.astype(np.float32)
    base = _model().fit(single.astype(np.float64), y)
    model = _model().fit(single, y)
    assert_array_equal(model.decision_function(X), base.decision_function(X))
    near = _model().fit(X, y)  # the data differ by 1e-7
    assert_allclose(near.decision_function(X), base.decision_function(X), atol=1e-4)
    whole = np.rint(3 * X).astype(np.int8)
    base, model = (_model().fit(Z, y) for Z in (whole.astype(float), whole))
    assert_array_equal(model.decision_function(whole), base.decision_function(whole))


def test_pickle_and_memory_maps(blobs, tmp_path):
    X, y = blobs(n_classes=3)
    model = SVC(calibration=3).fit(X, y)
    expected = model.decision_function(X), model.predict_proba(X), model.predict(X)
    joblib.dump(model, tmp_path / "model")
    joblib.dump(X, tmp_path / "X")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    copies = [
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model", mmap_mode="r"),
        SVC(calibration=3).fit(mapped, y),
    ]
    for copy in copies:
        for rows in (X, mapped):
            found = (
                copy.decision_function(rows),
                copy.predict_proba(rows),
                copy.predict(rows),
            )
            for a, b in zip(found, expected, strict=True):
                assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("kernel", "storage"),
    [
        ("rbf", np.asarray),
        ("rbf", sparse.csr_array),
        ("linear", np.asarray),
        ("linear", sparse.csr_array),
        ("precomputed", np.asarray),
    ],
)
def test_the_callers_arrays_are_theirs(kernel, storage, blobs):
    X, y = blobs()
    if kernel == "precomputed":
        X = X @ X.T
    X, test = storage(X), storage(X.copy())
    weights = np.ones(len(y))
    gamma = np.full(4, 0.2) if kernel == "rbf" else "auto"
    copies = X.copy(), y.copy(), weights.copy()
    model = SVC(kernel=kernel, gamma=gamma).fit(X, y, weights)
    before = model.decision_function(test)
    for given, copy in zip((X, y, weights), copies, strict=True):
        if sparse.issparse(given):
            given, copy = given.data, copy.data
        assert_array_equal(given, copy)
    (X.data if sparse.issparse(X) else X)[...] = np.nan
    y[...] = 7
    weights[...] = np.nan
    assert_array_equal(model.decision_function(test), before)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library, blobs, require_package):
    frames = require_package(library)
    X, y = blobs()
    names = ["height", "width", "age", "mass"]
    words = np.array(["no", "yes"])[y]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    model = _model().fit(frame, frames.Series(words))
    base = _model().fit(X, words)
    assert_array_equal(model.decision_function(frame), base.decision_function(X))
    assert_array_equal(model.predict(frame), base.predict(X))
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, words)  # names of an earlier fit are forgotten
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("verbose", [0, 1])
def test_what_is_printed(verbose, blobs, capfd):
    X, y = blobs(n=300, n_classes=3)
    model = SVC(verbose=verbose, calibration=2).fit(X, y)
    model.predict(X)
    out, err = capfd.readouterr()
    assert out == ""
    if not verbose:
        assert err == ""
