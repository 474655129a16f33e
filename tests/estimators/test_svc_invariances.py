"""What must not change a model: order, units, threads, neighbours, the start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

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


@pytest.mark.parametrize("kernel", KERNELS)
def test_order_of_rows(kernel, decisions, global_random_seed):
    order = np.random.default_rng(global_random_seed).permutation(120)
    base = decisions(_model(kernel=kernel))
    assert_allclose(decisions(_model(kernel=kernel), order=order), base, **SAME)


@pytest.mark.parametrize("kernel", KERNELS)
def test_order_of_features(kernel, decisions):
    base = decisions(_model(kernel=kernel))
    changed = decisions(_model(kernel=kernel), lambda Z: Z[:, [2, 0, 3, 1]])
    assert_allclose(changed, base, **SAME)
    gamma = np.array([0.1, 0.2, 0.0, 1.0])
    base = decisions(_model(gamma=gamma))
    order = [2, 0, 3, 1]
    changed = decisions(_model(gamma=gamma[order]), lambda Z: Z[:, order])
    assert_allclose(changed, base, **SAME)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_flipped_labels_flip_decisions(kernel, loss, blobs):
    X, y = blobs()
    model = _model(kernel=kernel, loss=loss)
    base = model.fit(X, y).decision_function(X)
    flipped = clone(model).fit(X, 1 - y)
    assert_allclose(flipped.decision_function(X), -base, **SAME)
    assert flipped.objective_ == pytest.approx(model.objective_, rel=1e-8)


def test_gamma_from_data(decisions):
    assert_allclose(decisions(_model(gamma="auto")), decisions(_model(gamma=0.25)))
    # "scale" by the variance, not the deviation: units do not matter
    base = decisions(_model(gamma="scale"))
    for size in (0.1, 10.0, 1e4):
        changed = decisions(_model(gamma="scale"), lambda Z, s=size: s * Z)
        assert_allclose(changed, base, **SAME)


@pytest.mark.parametrize("power", [-8, -2, 3, 10])
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_units_of_the_data_against_gamma_or_C(kernel, power, decisions):
    # by a power of two, so that nothing is rounded
    size = 2.0**power
    base = decisions(_model(kernel=kernel))
    parameters = {
        "linear": {"C": size**-2},
        "laplacian": {"gamma": 0.3 / size},
        "exponential": {"gamma": 0.3 / size},
    }.get(kernel, {"gamma": 0.3 / size**2})
    # a tolerance on decisions does not change with the units
    changed = decisions(_model(kernel=kernel, **parameters), lambda Z: size * Z)
    assert_allclose(changed, base, **SAME)


@pytest.mark.parametrize("shift", [1.0, 1e3, 2e4])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential", "linear"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_shift_of_the_data(kernel, shift, dtype, decisions):
    if kernel == "linear" and shift > 1:
        pytest.skip("the norm of w is not the same in float64 arithmetic")
    rounded = decisions(_model(kernel=kernel), lambda Z: dtype(Z + shift) - shift)
    changed = decisions(_model(kernel=kernel), lambda Z: dtype(Z + shift))
    # 1e-12 of a distance at 2e4, magnified by the condition of the kernel matrix
    assert_allclose(changed, rounded, rtol=0, atol=1e-4 if shift > 1e3 else 1e-5)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_one_row_alone_is_the_row_in_a_batch(kernel, n_classes, storage, blobs):
    X, y = blobs(n=600, n_classes=n_classes)
    model = _model(kernel=kernel, tol=1e-3).fit(storage(X), y)
    model.set_params(decision_function_shape="ovo")
    batch = model.decision_function(storage(X))
    # rows of the training set too: their distance to themselves is 0
    for rows in (
        slice(0, 1),
        slice(77, 78),
        slice(599, 600),
        slice(5, 8),
        slice(0, 300),
    ):
        alone = model.decision_function(storage(X)[rows])
        assert_allclose(alone, batch[rows], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_threads_and_jobs_do_not_change_a_bit(n_classes, blobs):
    X, y = blobs(n=2500, n_classes=n_classes)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            for n_jobs in (None, 1, 2, -1):
                model = SVC(gamma=0.3, n_jobs=n_jobs, cache_size=20).fit(X, y)
                results.append((model.dual_coef_, model.decision_function(X)))
    for dual_coef, decision in results[1:]:
        assert_array_equal(dual_coef, results[0][0])
        assert_array_equal(decision, results[0][1])


def test_the_seed_decides_the_bits(blobs):
    X, y = blobs(n=6000)
    fits = [SVC(random_state=s).fit(X, y) for s in (None, 0, 0, 1)]
    for other in fits[1:3]:
        assert_array_equal(other.dual_coef_, fits[0].dual_coef_)
    assert fits[3].objective_ == pytest.approx(fits[0].objective_, rel=1e-5)
    for state in (np.random.RandomState(3), np.random.default_rng(3)):
        assert SVC(random_state=state).fit(X[:200], y[:200]).converged_


def test_the_global_generator_is_not_touched(blobs):
    X, y = blobs(n=200)
    before = np.random.get_state()  # noqa: NPY002
    SVC(calibration=3).fit(X, y).predict_proba(X)
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_saves_steps_and_changes_nothing(n_classes, loss, blobs):
    X, y = blobs(n=400, n_classes=n_classes)
    model = SVC(C=10.0, gamma=0.3, loss=loss, warm_start=True, tol=1e-6).fit(X, y)
    cold_steps = model.n_iter_.sum()
    model.fit(X, y)
    assert model.n_iter_.sum() <= len(model.n_iter_)  # nothing to do
    for C in (20.0, 1.0, 0.1):
        warm = model.set_params(C=C).fit(X, y)
        cold = SVC(C=C, gamma=0.3, loss=loss, tol=1e-6).fit(X, y)
        assert warm.converged_
        assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)
        assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
    assert cold_steps > len(model.n_iter_)
    # other rows, other classes: begins anew
    for rows, labels in ((X[:-1], y[:-1]), (X, np.where(y == 1, 5, y)), (X, y[::-1])):
        assert model.fit(rows, labels).converged_
    other = SVC(C=0.1, gamma=0.3, loss=loss, tol=1e-6).fit(X, y[::-1])
    assert_allclose(model.objective_, other.objective_, rtol=1e-6)
