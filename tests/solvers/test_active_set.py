"""The active-set solver, forced beyond memory on small data, against plain SMO.

A policy of small sizes makes levels, near sets and working sets happen with some
hundreds of rows, where the whole float64 matrix can check the result.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from widemargin.gram import Kernel, prepare
from widemargin.result import Status
from widemargin.solvers.working_sets import Policy

GAMMA = 0.5

CASES = [
    ("hinge", 1.0),
    ("hinge", 100.0),
    ("weighted hinge", 1.0),
    ("squared hinge", 1.0),
    ("squared hinge", 100.0),
    ("one class", 1.0),
    ("linear term", 10.0),
]


@pytest.mark.parametrize("storage", ["dense", "sparse", "stored", "function"])
@pytest.mark.parametrize(("name", "C"), CASES)
def test_levels_reach_the_optimum(
    active, name, C, storage, make_problem, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem(name, global_random_seed, n=700, C=C)
    X = problem.X
    if storage == "stored":
        rows, options = prepare(problem.K, Kernel("precomputed")), {}
    elif storage == "function":

        def function(left, right):
            return np.exp(-GAMMA * cdist(left, right, "sqeuclidean"))

        rows, options = prepare(X, Kernel(function)), {}
    else:
        X = sparse.csr_array(X) if storage == "sparse" else X
        rows = active.samples(X)
        options = {"exact": lambda: active.samples(X, np.float64)}
    tol = 1e-3
    result = active.solve(problem, rows, tol=tol, **options)
    assert result.status is Status.CONVERGED
    assert result.extra["beyond_memory"] == 1
    # float32 entries may blur v by a quarter of tol, rounding included a little more
    check_solution(problem, result, tol, noise=0.4 * tol if options else 1e-9)
    check_optimum(problem, result, active.reference(problem), noise=1e-5)
    assert len(result.trace) >= 2
    assert result.trace[-1].measure == pytest.approx(result.measure, rel=1e-9)


@pytest.mark.parametrize(("name", "C"), CASES)
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_in_memory(
    active, name, C, lazy, tol, make_problem, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem(name, global_random_seed, n=400, C=C)
    X = problem.X
    exact = active.samples(X, np.float64)
    result = active.solve(
        problem, active.samples(X), exact=lambda: exact, tol=tol, policy=Policy(),
        lazy=lazy,
    )  # fmt: skip
    assert result.status is Status.CONVERGED
    assert result.extra["beyond_memory"] == 0
    noise = 0.4 * tol if tol == 1e-3 else 1e-10 * (1 + C)
    check_solution(problem, result, tol, noise=noise)
    check_optimum(problem, result, active.reference(problem), noise=1e-5)


@pytest.mark.parametrize(("name", "C"), CASES)
def test_a_tight_tolerance_beyond_memory(
    active, name, C, make_problem, checks, global_random_seed
):
    check_solution, check_optimum = checks
    problem = make_problem(name, global_random_seed, n=500, C=C)
    X = problem.X
    calls = []

    def exact():
        calls.append(1)
        return active.samples(X, np.float64)

    result = active.solve(problem, active.samples(X), exact=exact, tol=1e-8)
    assert result.status is Status.CONVERGED
    assert calls
    check_solution(problem, result, 1e-8, noise=1e-10 * (1 + C))
    check_optimum(problem, result, active.reference(problem), noise=1e-7)


@pytest.mark.parametrize(("name", "C"), CASES)
def test_float32_alone_is_honest(
    active, name, C, make_problem, checks, global_random_seed
):
    # Without exact rows the gap is that of the entries given; it may be missed, but
    # what is said of it must be near the truth: errors of 1e-6, independent.
    check_solution, _ = checks
    problem = make_problem(name, global_random_seed, n=400, C=C)
    X = problem.X
    result = active.solve(problem, active.samples(X), tol=1e-3)
    noise = 1e-6 * (1 + np.linalg.norm(result.x))
    check_solution(problem, result, 1e-3, noise=noise)


@pytest.mark.parametrize(("name", "C"), CASES)
def test_shrinking_does_not_change_the_optimum(
    active, name, C, make_problem, global_random_seed
):
    problem = make_problem(name, global_random_seed, n=700, C=C)
    X = problem.X
    results = [
        active.solve(
            problem, active.samples(X, np.float64), tol=1e-6, shrinking=shrinking
        )
        for shrinking in (True, False)
    ]
    assert [r.status for r in results] == [Status.CONVERGED] * 2
    # gaps of 1e-6, moves of at most sum |b|
    size = 1e-6 * (np.abs(results[0].x).sum() + 1)
    assert abs(results[0].objective - results[1].objective) <= size


def test_any_seed_same_answer_and_same_seed_same_bits(
    active, make_problem, global_random_seed
):
    problem = make_problem("hinge", global_random_seed, n=700, C=10.0)
    X = problem.X
    rows = active.samples(X, np.float64)
    results = [active.solve(problem, rows, seed=seed, tol=1e-6) for seed in (0, 0, 1)]
    assert_array_equal(results[0].x, results[1].x)
    size = 1e-6 * np.abs(results[0].x).sum()
    assert abs(results[0].objective - results[2].objective) <= size


def test_threads_do_not_change_a_bit(active, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed, n=2500)
    X = problem.X
    rows = active.samples(X)
    one, two = (active.solve(problem, rows, n_threads=k) for k in (1, 2))
    assert_array_equal(one.x, two.x)
    assert one.n_iter == two.n_iter


def test_start_points(active, make_problem, checks, global_random_seed):
    check_solution, _ = checks
    problem = make_problem("hinge", global_random_seed, n=700, C=10.0)
    X = problem.X
    rows = active.samples(X, np.float64)
    cold = active.solve(problem, rows)
    given = cold.x.copy()
    again = active.solve(problem, rows, start=given)
    assert again.status is Status.CONVERGED
    assert again.n_iter == 0
    assert_array_equal(again.x, cold.x)
    assert_array_equal(given, cold.x)
    half = active.solve(problem, rows, start=0.5 * cold.x)
    assert half.status is Status.CONVERGED
    check_solution(problem, half, 1e-3, noise=1e-9)


def test_entries_are_counted(active, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed, n=1000)
    X = problem.X
    result = active.solve(problem, active.samples(X, np.float64))
    n_support = np.count_nonzero(result.x)
    # each row against each support vector at least once; less than ten whole matrices
    assert 1000 * n_support <= result.extra["entries"] <= 10 * 1000**2
    in_memory = active.solve(problem, active.samples(X, np.float64), policy=Policy())
    assert in_memory.extra["entries"] == 1000 * 1000 // 2
