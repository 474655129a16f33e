"""SMO on problems that break careless solvers: it ends, and says how."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.result import Status
from widemargin.solvers.smo import solve_smo

TIGHT = 1e-9


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("name", ["hinge", "squared hinge", "linear kernel"])
def test_small_and_large_C(
    smo_solve, name, C, make_problem, reference_solution, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem(name, global_random_seed, n=30, C=C)
    result = smo_solve(problem, tol=1e-6, max_iter=2_000_000)
    if result.status is Status.CONVERGED:
        check_solution(problem, result, 1e-6)
    else:  # a matrix of rank 3 at C = 1e6 may need more steps
        assert (name, C) == ("linear kernel", 1e6)
    if C < 1e6:  # beyond, the reference fails
        check_optimum(problem, result, reference_solution(problem), noise=1e-7)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("loss", ["hinge", "squared hinge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_indefinite_matrices_end(
    smo_solve, loss, dtype, make_problem, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    problem = make_problem(loss, global_random_seed)
    X = rng.normal(size=(40, 3))
    problem.K = np.tanh(2.0 * X @ X.T - 1.0).astype(dtype)
    assert np.linalg.eigvalsh(problem.K).min() < -0.1
    result = smo_solve(problem, tol=1e-3, max_iter=100_000)
    assert np.all(np.isfinite(result.x))
    assert np.all((result.x >= problem.lower) & (result.x <= problem.upper))
    if loss == "hinge":  # bounded below: a pair with negative curvature hits a bound
        assert result.status is Status.CONVERGED
        assert problem.gap(result.x) <= 1e-3 * 1.01
        assert result.objective < 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("where", ["K", "off the diagonal", "target", "inf"])
def test_not_a_number_fails(where, dtype, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed)
    K = problem.K.astype(dtype)
    match where:
        case "K":
            K[:] = np.nan
        case "off the diagonal":
            K[~np.eye(40, dtype=bool)] = np.nan
        case "target":
            problem.target = problem.target.copy()
            problem.target[7] = np.nan
        case "inf":
            K[:] = np.inf
    with np.errstate(all="ignore"):
        result = solve_smo(K, *problem.arrays, max_iter=100_000)
    assert result.status is Status.FAILED


@pytest.mark.parametrize(
    ("size", "dtype"), [(1e30, np.float32), (1e30, np.float64), (1e300, np.float64)]
)
def test_huge_targets(size, dtype, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed)
    K = problem.K.astype(dtype)
    target = size * problem.target
    result = solve_smo(K, target, problem.lower, problem.upper, max_iter=100_000)
    # the linear term alone decides: the smaller class at its bound
    fewer = min((problem.target > 0).sum(), (problem.target < 0).sum())
    assert result.objective == pytest.approx(-2 * size * fewer, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_scaled_up_and_down(dtype, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed)
    for size in (1e-8, 1e8) if dtype == np.float64 else (1e8,):
        bound = np.sign(problem.target) / size
        result = solve_smo(
            problem.K.astype(dtype) * dtype(size),
            problem.target,
            np.minimum(bound, 0),
            np.maximum(bound, 0),
        )
        assert result.status is Status.CONVERGED
        base = solve_smo(problem.K, *problem.arrays)
        # both are within tol of the optimum, times half the sum of moves (<= 40)
        assert result.objective * size == pytest.approx(base.objective, abs=0.02)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(np.float32, size) for size in (1e-300, 1e-38, 1e6, 1e12, 1e30)]
    + [(np.float64, size) for size in (1e-300, 1e6, 1e12, 1e39, 1e300)],
)
def test_shifts_of_any_size(size, dtype, make_problem, global_random_seed):
    # a row of weight 1e-12 has a shift of 1e12
    problem = make_problem("squared hinge", global_random_seed)
    problem.shift = problem.shift.copy()
    problem.shift[::3] = size
    K = problem.K.astype(dtype)
    result = solve_smo(K, *problem.arrays, shift=problem.shift, max_iter=100_000)
    assert np.all(np.isfinite(result.x)) and np.isfinite(result.objective)
    if size <= (1e6 if dtype == np.float32 else 1e12):
        assert result.status is Status.CONVERGED
        assert problem.gap(result.x) <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duplicates_with_opposite_labels(dtype):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    y = np.tile([1.0, -1.0], 10)
    for C in (1.0, 1e6):
        lower, upper = np.minimum(y * C, 0), np.maximum(y * C, 0)
        result = solve_smo(K, y, lower, upper, tol=1e-3)
        assert result.status is Status.CONVERGED
        # f = 0 is the best function: every row of a twin pair is at its bound
        assert_allclose(result.x, y * C)
        assert result.objective == pytest.approx(-20 * C, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_rows_equal(value, dtype):
    K = np.full((9, 9), value, dtype)
    y = np.array([1.0] * 6 + [-1.0] * 3)
    result = solve_smo(K, y, np.minimum(y, 0), np.maximum(y, 0))
    assert result.status is Status.CONVERGED
    # sum b = 0 leaves f = 0: the three of the smaller class at their bound
    assert result.objective == pytest.approx(-6.0, abs=1e-6)
    assert_array_equal(result.x[6:], -1.0)
    assert result.x[:6].sum() == pytest.approx(3.0)


def test_nothing_can_move():
    K = np.eye(3)
    fixed = np.array([1.0, -2.0, 1.0])
    result = solve_smo(K, np.ones(3), fixed, fixed, start=fixed)
    assert result.status is Status.CONVERGED
    assert result.n_iter == 0
    one_sided = solve_smo(K, np.ones(3), np.zeros(3), np.ones(3))
    assert one_sided.status is Status.CONVERGED  # all at 0, nothing may go down
    single = solve_smo(np.eye(1), np.ones(1), np.zeros(1), np.ones(1))
    assert single.status is Status.CONVERGED


def test_one_row_of_a_class(smo_solve, reference_solution, make_problem, checks):
    check_solution, check_optimum = checks
    problem = make_problem("hinge", 0, n=50, C=5.0)
    problem.target = np.where(np.arange(50) == 33, 1.0, -1.0)
    problem.lower = np.minimum(5 * problem.target, 0)
    problem.upper = np.maximum(5 * problem.target, 0)
    result = smo_solve(problem, tol=TIGHT)
    check_solution(problem, result, TIGHT)
    check_optimum(problem, result, reference_solution(problem))


@pytest.mark.parametrize("n", [511, 512, 513, 1100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_512(smo_solve, n, dtype, make_problem, checks, global_random_seed):
    check_solution, _ = checks
    problem = make_problem("weighted hinge", global_random_seed, n=n)
    problem.K = problem.K.astype(dtype)
    result = smo_solve(problem, tol=1e-3)
    assert result.status is Status.CONVERGED
    check_solution(problem, result, 1e-3)
