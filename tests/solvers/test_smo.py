"""SMO against an interior-point code; starts, limits, callbacks, invariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.result import Status
from widemargin.solvers.smo import kkt_gap, multiplier, solve_smo

TIGHT = 1e-9


@pytest.mark.interpreted
@pytest.mark.parametrize("tol", [1e-3, TIGHT])
def test_against_an_interior_point_code(
    smo_solve, problem, tol, reference_solution, checks
):
    check_solution, check_optimum = checks
    result = smo_solve(problem, tol=tol)
    assert result.status is Status.CONVERGED
    check_solution(problem, result, tol)
    reference = reference_solution(problem)
    check_optimum(problem, result, reference)
    if tol == TIGHT and problem.shift.min() > 0:  # strictly convex: one solution
        assert_allclose(result.x, reference, rtol=0, atol=1e-6)


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_float32_matrix(smo_solve, problem, tol, reference_solution, checks):
    check_solution, check_optimum = checks
    problem.K = problem.K.astype(np.float32)
    result = smo_solve(problem, tol=tol)
    # v comes from float64 sums of the given entries, so the gap is exact
    assert result.status is Status.CONVERGED
    check_solution(problem, result, tol)
    check_optimum(problem, result, reference_solution(problem), noise=1e-6)


def test_two_rows_in_closed_form():
    # f(x) = a(k(x, x1) - k(x, x2)): the step is 2 / (k11 + k22 - 2 k12), within C
    K = np.array([[1.0, 0.2], [0.2, 1.0]])
    y = np.array([1.0, -1.0])
    for C, a in ((10.0, 2 / 1.6), (0.5, 0.5)):
        result = solve_smo(K, y, np.minimum(y * C, 0), np.maximum(y * C, 0), tol=1e-12)
        assert_allclose(result.x, [a, -a], rtol=1e-14)
        assert result.intercept == pytest.approx(0.0, abs=1e-14)
        assert result.objective == pytest.approx(0.5 * a * a * 1.6 - 2 * a, rel=1e-14)
        assert result.n_iter == 1


def test_bounds_are_met_exactly(smo_solve, make_problem, global_random_seed):
    problem = make_problem("weighted hinge", global_random_seed, n=60, C=0.1)
    x = smo_solve(problem, tol=1e-6).x
    near_upper = np.abs(x - problem.upper) < 1e-9
    near_lower = np.abs(x - problem.lower) < 1e-9
    assert near_upper.sum() + near_lower.sum() > 30
    assert_array_equal(x[near_upper], problem.upper[near_upper])
    assert_array_equal(x[near_lower], problem.lower[near_lower])


def test_start_points(smo_solve, problem, checks):
    check_solution, _ = checks
    cold = smo_solve(problem, tol=1e-6)
    start = cold.x.copy()
    again = smo_solve(problem, tol=1e-6, start=start)
    assert again.n_iter == 0
    assert_array_equal(again.x, cold.x)
    assert_array_equal(start, cold.x)  # the caller's array is not moved
    other = smo_solve(problem, tol=1e-6, start=problem.feasible_start())
    check_solution(problem, other, 1e-6)
    assert_allclose(other.objective, cold.objective, rtol=1e-6, atol=1e-6)


def test_the_start_fixes_the_sum(make_problem, global_random_seed, checks):
    check_solution, _ = checks
    problem = make_problem("one class", global_random_seed)
    start = np.zeros(40)
    start[:5] = 1.0
    result = solve_smo(problem.K, *problem.arrays, start=start, tol=1e-6)
    problem.total = 5.0
    check_solution(problem, result, 1e-6)


def test_max_iter(smo_solve, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed, n=80, C=100.0)
    objectives = [0.0]
    for limit in (0, 1, 2, 7, 20):
        result = smo_solve(problem, tol=TIGHT, max_iter=limit)
        assert result.n_iter == limit
        assert result.status is Status.MAX_ITER
        assert result.measure == pytest.approx(problem.gap(result.x), abs=1e-10)
        objectives.append(result.objective)
    assert np.all(np.diff(objectives) <= 0)  # every step descends


def test_a_callback_stops_it(smo_solve, make_problem, global_random_seed):
    problem = make_problem("linear kernel", global_random_seed, n=300, C=1e5)
    points = []

    def callback(point):
        points.append(point)
        return len(points) == 2

    result = smo_solve(problem, tol=1e-12, max_iter=10**9, callback=callback)
    assert result.status is Status.STOPPED
    assert len(points) == 2
    assert points[1].n_iter > points[0].n_iter > 0
    assert result.n_iter >= points[1].n_iter
    assert np.all((result.x >= problem.lower) & (result.x <= problem.upper))


def test_scale_and_order_do_not_matter(smo_solve, make_problem, global_random_seed):
    problem = make_problem("hinge", global_random_seed)
    base = smo_solve(problem, tol=TIGHT)
    order = np.random.default_rng(global_random_seed).permutation(40)
    arrays = (a[order] for a in problem.arrays)
    permuted = solve_smo(problem.K[np.ix_(order, order)], *arrays, tol=TIGHT)
    assert_allclose(permuted.x, base.x[order], rtol=0, atol=1e-6)
    # b -> s b, K -> K / s, same target: the objective is multiplied by s
    scaled = solve_smo(
        problem.K / 7, problem.target, problem.lower * 7, problem.upper * 7, tol=TIGHT
    )
    assert_allclose(scaled.x, 7 * base.x, rtol=0, atol=1e-5)
    assert scaled.objective == pytest.approx(7 * base.objective, rel=1e-9)


def test_gap_and_multiplier_by_hand():
    v = np.array([3.0, 1.0, 2.0, -1.0])
    lower, upper = np.zeros(4), np.ones(4)
    b = np.array([1.0, 0.0, 0.5, 0.0])
    assert kkt_gap(v, b, lower, upper) == (2.0, 2.0)
    assert multiplier(v, b, lower, upper) == 2.0
    b = np.array([1.0, 0.0, 1.0, 0.0])
    assert kkt_gap(v, b, lower, upper) == (1.0, 2.0)
    assert multiplier(v, b, lower, upper) == 1.5
    assert multiplier(v, np.zeros(4), lower, upper) == 3.0
    assert multiplier(v, np.ones(4), lower, upper) == -1.0
    assert multiplier(v, np.zeros(4), lower, lower) == 0.0
