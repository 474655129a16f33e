"""The primal side of the duality gap against brute force."""

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize_scalar

from widemargin._testing import check_kernel_matches_py_func
from widemargin.solvers import certificate
from widemargin.solvers.certificate import best_primal, relative_gap


def _case(seed, n, scale=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores = scale * (y + rng.normal(size=n))
    C = rng.uniform(0.1, 3.0, n)
    return scores, y, C


def _least_loss(z, y, C, squared):
    """min over b of sum C loss(1 - y (z + b)), independently of the package."""
    if squared:

        def slope(b):
            return -(C * y * np.maximum(1 - y * (z + b), 0)).sum()

        low, high = (1 - y * z).min(), (1 - y * z).max()
        reach = 3 + np.abs(z).max() + abs(low) + abs(high)
        b = brentq(slope, -reach, reach, xtol=1e-14)
        return 0.5 * (C * np.maximum(1 - y * (z + b), 0) ** 2).sum()
    # piecewise linear: the least value is at a breakpoint
    xi = np.maximum(1 - y * (z + (y - z)[:, None]), 0)
    return (xi @ C).min()


def _brute_force(scores, y, C, square, squared):
    def value(t):
        return 0.5 * t * t * square + _least_loss(t * scores, y, C, squared)

    found = minimize_scalar(
        value, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-12}
    )
    grid = np.linspace(0.0, 2.0, 201)
    return min(found.fun, min(value(t) for t in grid)), value


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("square", [0.1, 3.0, 30.0, 1e4])
@pytest.mark.parametrize("n", [2, 5, 60])
def test_against_brute_force(n, square, squared, global_random_seed):
    scores, y, C = _case(global_random_seed, n)
    least, value = _brute_force(scores, y, C, square, squared)
    for below in (1e-9, 1e-4, 0.1):
        dual = least - below * (1 + abs(least))
        found, t, b = best_primal(scores, y, C, square, 0.3, 0.1, squared, dual)
        # the value belongs to the point
        xi = np.maximum(1 - y * (t * scores + b), 0)
        loss = C @ (0.5 * xi**2 if squared else xi)
        assert found == pytest.approx(0.5 * t * t * square + loss, rel=1e-12)
        assert t >= 0
        # within a twentieth of the way to the dual, and the steps of both searches
        allowed = 0.05 * (found - dual) + 1e-6 * (1 + least)
        # the reference's own minimiser has an accuracy of 1e-8 or so
        assert least - 1e-7 * (1 + least) <= found <= least + allowed
    assert value(1.0) >= least


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("bias", [-1e6, 0.0, 1e6])
@pytest.mark.parametrize("gap", [0.0, 1e-3, 1e3])
def test_the_search_for_the_bias_starts_anywhere(
    bias, gap, squared, global_random_seed
):
    scores, y, C = _case(global_random_seed, 30)
    least, _ = _brute_force(scores, y, C, 5.0, squared)
    found, _, _ = best_primal(scores, y, C, 5.0, bias, gap, squared, least - 1e-3)
    # a bias of 1e6 is bisected to 1e-8 of it, which costs sum C times as much
    assert least - 1e-9 <= found <= least + 1e-4 + 0.02 * C.sum() * (abs(bias) > 0)


def test_the_hinge_joint_minimum_is_a_linear_program_without_the_square(
    global_random_seed,
):
    # square = 0: min over t in [0, 2] and b of the loss alone
    scores, y, C = _case(global_random_seed, 20)
    n = len(y)
    A = np.column_stack((-y * scores, -y, -np.eye(n)))
    limits = [(0, 2), (None, None), *[(0, None)] * n]
    program = linprog(np.r_[0, 0, C], A, -np.ones(n), bounds=limits)
    found, _, _ = best_primal(scores, y, C, 0.0, 0.0, 0.1, False, program.fun - 1e-9)
    assert found == pytest.approx(program.fun, rel=1e-6)


@pytest.mark.parametrize("squared", [False, True])
def test_degenerate_rows(squared):
    y = np.array([1.0, -1.0])
    zero, one = np.zeros(2), np.ones(2)
    # no function at all: b = 0 leaves a loss of 1 for each row, or 1/2
    value, _, _ = best_primal(zero, y, one, 0.0, 0.0, 0.0, squared, 0.0)
    assert value == pytest.approx(1.0 if squared else 2.0, rel=1e-6)
    # separable with room to spare: no loss, t as small as the margin allows
    value, t, _ = best_primal(10 * y, y, one * 1e6, 4.0, 0.0, 1e-3, squared, 0.0199)
    assert value == pytest.approx(0.02, rel=1e-2)
    assert t == pytest.approx(0.1, rel=1e-2)


@pytest.mark.parametrize(
    ("primal", "dual", "expected"),
    [
        (2.0, 1.0, 0.5),
        (0.0, 0.0, 0.0),
        (-1.0, -2.0, 0.5),
        (1.0, 1.0 + 1e-12, 0.0),
        (1.0, -1.0, 2.0),
    ],
)
def test_relative_gap(primal, dual, expected):
    assert relative_gap(primal, dual) == expected


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gap_of_what_is_not_finite_is_nan(bad):
    assert np.isnan(relative_gap(bad, 1.0))
    assert np.isnan(relative_gap(1.0, bad))


@pytest.mark.interpreted
@pytest.mark.parametrize("squared", [False, True])
def test_kernels_match_their_source(squared, global_random_seed):
    scores, y, C = _case(global_random_seed, 9)
    rows = scores, y, C
    check_kernel_matches_py_func(certificate._balance, *rows, 0.9, 0.2, squared)
    check_kernel_matches_py_func(certificate._best_bias, *rows, 0.9, -1.0, 1.0, squared)
    # the hinge's slope jumps: a bisection may end on either side of a breakpoint
    check_kernel_matches_py_func(
        certificate._best_primal, *rows, 4.0, 0.1, 0.5, squared, 0.0, rtol=1e-6
    )


@pytest.mark.interpreted
def test_balance_by_hand():
    scores, y, C = (
        np.array([2.0, -1.0, 0.5]),
        np.array([1.0, -1, 1]),
        np.array([1, 2, 3.0]),
    )
    # at t = 1, b = 0: xi = (0 as 1 - 2 < 0, 0, 1/2)
    assert certificate._balance(scores, y, C, 1.0, 0.0, False) == (3.0, 1.5, 1.5)
    assert certificate._balance(scores, y, C, 1.0, 0.0, True) == (1.5, 0.75, 0.375)
