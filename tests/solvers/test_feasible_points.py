"""Points brought back to ``sum b = total`` within bounds; levels and their rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.solvers.active_set import (
    RARE_FIRST,
    _levels,
    _restore_sum,
    _spread,
    repair,
)
from widemargin.solvers.working_sets import Policy


def _case(seed, n=30):
    """(b, lower, upper) with bounds on both sides of 0, some of them equal."""
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    lower[:3] = upper[:3] = 0.0
    b = rng.uniform(lower, upper)
    b[3:8], b[8:12], b[12:16] = lower[3:8], upper[8:12], 0.0
    return b, lower, upper


@pytest.mark.parametrize("total", [-25.0, -3.0, 0.0, 1e-9, 4.0, 25.0])
def test_the_sum_is_met_within_the_bounds(total, global_random_seed):
    b, lower, upper = _case(global_random_seed)
    total = float(np.clip(total, lower.sum(), upper.sum()))
    before = b.copy()
    repair(b, lower, upper, total)
    assert np.all((b >= lower) & (b <= upper))
    assert b.sum() == pytest.approx(total, abs=1e-12 * np.abs(b).sum())
    # all in one direction
    moves = b - before
    assert np.all(moves >= 0) or np.all(moves <= 0)
    # all that move end at 0 or at a bound, but for one
    moved = np.flatnonzero(moves)
    ends = (b[moved] == 0) | (b[moved] == lower[moved]) | (b[moved] == upper[moved])
    assert (~ends).sum() <= 1


def test_rows_go_to_zero_before_any_leaves_it(global_random_seed):
    b, lower, upper = _case(global_random_seed)
    positive = b[b > 0].sum()
    b_sum = b.sum()
    repair(b, lower, upper, b_sum - 0.5 * positive)
    signs = np.sign(_case(global_random_seed)[0])
    assert np.all(b * signs >= 0)  # none has crossed 0
    assert np.all(b[signs == 0] == 0)


def test_the_order_says_who_moves_first():
    b = np.array([1.0, 1.0, 1.0, 1.0])
    near = np.array([3.0, 1.0, 2.0, 0.0])
    _restore_sum(b, np.zeros(4), np.full(4, 2.0), 1.5, near)
    assert_array_equal(b, [1.0, 0.0, 0.5, 0.0])


def test_the_largest_are_repaired_first():
    b = np.array([0.1, -3.0, 2.0, 1.0])
    repair(b, np.full(4, -5.0), np.full(4, 5.0), 0.0)
    assert_allclose(b, [0.1, -3.0, 1.9, 1.0])


def test_nothing_moves_where_nothing_is_wrong(global_random_seed):
    b, lower, upper = _case(global_random_seed)
    before = b.copy()
    repair(b, lower, upper, float(b.sum()))
    assert_array_equal(b, before)


def test_infinite_bounds():
    b = np.zeros(3)
    free = np.full(3, np.inf)
    repair(b, -free, free, 2.0)
    assert b.sum() == pytest.approx(2.0) and np.all(np.isfinite(b))


def test_sizes_of_levels():
    policy = Policy(base_level=1500, level_ratio=4)
    assert _levels(5001, policy) == [5001]
    assert _levels(6000, policy) == [1500, 6000]
    assert _levels(100_000, policy) == [1562, 6250, 25_000, 100_000]


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.3, 0.1)])
def test_every_prefix_has_the_classes_in_proportion(shares, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    groups = np.sort(rng.choice(len(shares), 2000, p=shares)).astype(float)
    order = _spread(groups, rng)
    assert_array_equal(np.sort(order), np.arange(2000))
    for m in (31, 125, 500):
        for value in range(len(shares)):
            # but for the few of each that come first
            wanted = m * np.mean(groups == value)
            found = np.sum(groups[order[:m]] == value)
            assert abs(found - wanted) <= RARE_FIRST + len(shares)


def test_a_rare_class_comes_first(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    groups = np.full(5000, -1.0)
    groups[rng.permutation(5000)[:2]] = 1.0
    order = _spread(groups, rng)
    assert np.sum(groups[order[: 2 * RARE_FIRST]] == 1.0) == 2
