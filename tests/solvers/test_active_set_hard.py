"""The active-set solver where it is tight: memory, order, rare classes, limits."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from widemargin._threads import n_blas_threads
from widemargin.gram import Kernel, prepare
from widemargin.result import Status
from widemargin.solvers.active_set import solve_active_set
from widemargin.solvers.working_sets import Policy, Workspace

SMALL = Policy(
    in_memory=100, base_level=100, working_set=64, working_set_max=300, float32_rows=80
)
GAMMA = 0.5


@pytest.mark.parametrize("cache_size", [1e-9, 1.0])
@pytest.mark.parametrize(("name", "C"), [("hinge", 1.0), ("hinge", 1e3)])
def test_a_small_byte_budget(
    active, name, C, cache_size, make_problem, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem(name, global_random_seed, n=1000, C=C)
    X = problem.X
    rows, workspace = active.samples(X), Workspace()
    result = active.solve(
        problem, rows, exact=lambda: active.samples(X, np.float64), policy=Policy(),
        cache_size=cache_size, workspace=workspace,
    )  # fmt: skip
    assert result.status is Status.CONVERGED
    assert result.extra["beyond_memory"] == 1
    check_solution(problem, result, 1e-3, noise=4e-4)
    check_optimum(problem, result, active.reference(problem), noise=1e-5)
    # the floor of 1 MB is for 16 bits an entry; float32 and float64 may follow
    assert workspace.square(0, np.uint8).base.nbytes <= 4.01 * 2**20


@pytest.mark.parametrize("policy", [SMALL, Policy()])
def test_shifts_too_large_for_float32(
    active, policy, make_problem, checks, global_random_seed
):
    check_solution, _ = checks
    problem = make_problem("squared hinge", global_random_seed, n=300)
    X = problem.X
    problem.shift[::3] = 1e9  # a row of weight 1e-9
    exact = active.samples(X, np.float64)
    result = active.solve(
        problem, active.samples(X), exact=lambda: exact, policy=policy, max_iter=100_000
    )
    assert result.status is Status.CONVERGED
    check_solution(problem, result, 1e-3, noise=1e-9)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_few_of_one_class(active, C, checks, make_problem):
    check_solution, check_optimum = checks
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.full(3000, -1.0)
    y[rng.permutation(3000)[:10]] = 1.0
    X[y > 0] += 1.0
    problem = make_problem("hinge", 0, n=2)
    problem.K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    problem.target, problem.shift = y, np.zeros(3000)
    problem.lower, problem.upper = np.minimum(y * C, 0), np.maximum(y * C, 0)
    result = active.solve(
        problem, active.samples(X), exact=lambda: active.samples(X, np.float64)
    )
    assert result.status is Status.CONVERGED
    check_solution(problem, result, 1e-3, noise=4e-4)
    check_optimum(problem, result, active.reference(problem), noise=1e-5)


@pytest.mark.parametrize("order", ["sorted labels", "sorted rows", "duplicates"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_orders_that_mislead_a_subset(
    active, order, C, make_problem, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem("hinge", global_random_seed, n=800, C=C)
    X = problem.X
    if order == "duplicates":  # ten copies of each row, labels drawn anew
        index = np.repeat(np.arange(80), 10)
        rng = np.random.default_rng(global_random_seed)
        labels = rng.permutation(problem.target)
    else:
        key = problem.target if order == "sorted labels" else X[:, 0]
        index = np.argsort(key, kind="stable")
        labels = problem.target[index]
    X, problem.K = X[index], problem.K[np.ix_(index, index)]
    problem.target = labels
    problem.lower, problem.upper = np.minimum(labels * C, 0), np.maximum(labels * C, 0)
    result = active.solve(
        problem, active.samples(X), exact=lambda: active.samples(X, np.float64)
    )
    assert result.status is Status.CONVERGED
    check_solution(problem, result, 1e-3, noise=4e-4)
    check_optimum(problem, result, active.reference(problem), noise=1e-5)


@pytest.mark.parametrize("policy", [SMALL, Policy()])
@pytest.mark.parametrize("limit", [0, 1, 10, 100, 2000])
def test_max_iter_leaves_a_feasible_point(
    active, policy, limit, make_problem, checks, global_random_seed
):
    check_solution, _ = checks
    problem = make_problem("hinge", global_random_seed, n=700, C=100.0)
    X = problem.X
    rows = active.samples(X, np.float64)
    result = active.solve(problem, rows, tol=1e-9, max_iter=limit, policy=policy)
    assert result.status is Status.MAX_ITER
    assert result.n_iter <= limit
    assert result.measure > 1e-9
    check_solution(problem, result, result.measure, noise=1e-9)


@pytest.mark.parametrize("policy", [SMALL, Policy()])
def test_a_callback_stops_it(active, policy, make_problem, checks, global_random_seed):
    check_solution, _ = checks
    problem = make_problem("hinge", global_random_seed, n=700, C=1e6)
    X = problem.X
    rows = active.samples(X, np.float64)
    points = []

    def callback(point):
        points.append(point)
        return len(points) == 3

    result = active.solve(problem, rows, tol=1e-12, policy=policy, callback=callback)
    assert result.status is Status.STOPPED
    assert len(points) <= 4
    steps = [point.n_iter for point in points]
    assert steps == sorted(steps)
    check_solution(problem, result, result.measure, noise=1e-4)


@pytest.mark.timeout(100)
@pytest.mark.parametrize("policy", [SMALL, Policy()])
def test_an_indefinite_matrix_ends(active, policy, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed, n=400)
    X = problem.X
    problem.K = np.tanh(2 * X @ X.T - 1)
    rows = prepare(problem.K, Kernel("precomputed"))
    result = active.solve(
        problem, rows, policy=policy, normalised=False, max_iter=200_000
    )
    assert np.all(np.isfinite(result.x))
    assert np.all((result.x >= problem.lower) & (result.x <= problem.upper))
    assert abs(result.x.sum()) <= 1e-9 * np.abs(result.x).sum()
    assert result.objective < 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("policy", [SMALL, Policy()])
def test_not_a_number_fails(active, policy, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed, n=300)
    X = problem.X
    X[5] = np.nan
    for dtype in (np.float32, np.float64):
        rows = active.samples(X, dtype)
        result = active.solve(problem, rows, policy=policy, max_iter=100_000)
        assert result.status is Status.FAILED


def test_blas_keeps_its_threads(make_problem):
    before = n_blas_threads()
    problem = make_problem("hinge", 0, n=200)
    X, y = problem.X, problem.target
    inside = []

    def function(left, right):
        inside.append(n_blas_threads())
        raise RuntimeError("stop")

    rows = prepare(X, Kernel(function))
    with pytest.raises(RuntimeError, match="stop"):
        solve_active_set(rows, y, np.minimum(y, 0), np.maximum(y, 0))
    assert inside
    assert n_blas_threads() == before
