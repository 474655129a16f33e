"""The optimisers against functions whose minimum is known."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.model_selection.bfgs import BFGS
from widemargin.model_selection.cmaes import CMAES
from widemargin.model_selection.grids import Grid, TwoLines, Zoom

TARGET = np.array([0.3, 0.62, 0.45, 0.8, 0.15])


def sphere(x):
    return float(((x - TARGET[: len(x)]) ** 2).sum())


def rosenbrock(x):
    z = 3.0 * x - 1.0  # minimum at z = 1, x = 2/3
    return float((100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum())


def gradient_of(f, x, h=1e-6):
    steps = h * np.eye(len(x))
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps])


def run(optimizer, f):
    points = []
    while not optimizer.stop():
        asked = optimizer.ask()
        assert asked
        points += asked
        gradients = [gradient_of(f, x) for x in asked]
        optimizer.tell(asked, [f(x) for x in asked], gradients)
    assert optimizer.ask() == []
    assert optimizer.n_evaluated == len(points) <= optimizer.budget
    assert all(((0 <= x) & (x <= 1)).all() for x in points)
    values = [f(x) for x in points]
    best, value = optimizer.best
    assert value == min(values)
    assert f(best) == value
    return points


def cmaes(d, budget, seed, **options):
    return CMAES(np.full(d, 0.5), budget, np.random.default_rng(seed), **options)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("active", [False, True])
def test_cmaes_finds_a_sphere(d, active, global_random_seed):
    optimizer = cmaes(
        d, 120 + 120 * d, global_random_seed, active=active, tolx=1e-4, tolfun=0.0
    )
    run(optimizer, sphere)
    assert_allclose(optimizer.best[0], TARGET[:d], atol=0.02)


def test_cmaes_follows_a_bent_valley(global_random_seed):
    optimizer = cmaes(2, 900, global_random_seed, tolx=1e-6, tolfun=1e-12)
    run(optimizer, rosenbrock)
    assert optimizer.best[1] < 1e-3
    assert "budget" not in optimizer.stop()


def test_cmaes_reaches_a_corner(global_random_seed):
    optimizer = cmaes(2, 300, global_random_seed, tolfun=0.0)
    run(optimizer, lambda x: float(x.sum()))
    assert_allclose(optimizer.best[0], 0.0, atol=0.02)


def test_cmaes_begins_at_the_start_and_ends_with_the_mean(global_random_seed):
    optimizer = cmaes(2, 30, global_random_seed)
    (first,) = optimizer.ask()
    assert_array_equal(first, [0.5, 0.5])
    points = run(optimizer, sphere)
    # 1 + k generations of 6 + 1
    assert (len(points) - 2) % 6 == 0
    assert optimizer.stop() == {"budget": 30}


def test_cmaes_waits_on_a_plateau():
    optimizer = cmaes(2, 500, 0)
    points = run(optimizer, lambda x: 1.0)
    assert optimizer.stop() == {"tolfun": 1e-4}
    assert len(points) == 1 + 10 * 6 + 1


def test_cmaes_takes_infinite_values(global_random_seed):
    optimizer = cmaes(2, 300, global_random_seed, tolfun=0.0)
    run(optimizer, lambda x: np.inf if x[0] > 0.45 else sphere(x))
    assert_allclose(optimizer.best[0], TARGET[:2], atol=0.03)


def test_cmaes_leaves_no_trace(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    before = np.random.get_state()  # noqa: NPY002
    first = run(cmaes(3, 100, 7), sphere)
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    np.random.seed(123)  # noqa: NPY002
    assert_array_equal(first, run(cmaes(3, 100, 7), sphere))
    np.random.set_state(before)  # noqa: NPY002
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("d", [1, 2, 4])
def test_bfgs_finds_a_sphere(d, global_random_seed):
    start = np.random.default_rng(global_random_seed).uniform(size=d)
    optimizer = BFGS(start, 60)
    points = run(optimizer, sphere)
    assert_allclose(optimizer.best[0], TARGET[:d], atol=1e-3)
    assert set(optimizer.stop()) <= {"gradient", "tolx"}
    assert len(points) < 25


def test_bfgs_follows_a_bent_valley():
    optimizer = BFGS(np.array([0.1, 0.7]), 300, tol=1e-7, tolx=1e-9)
    run(optimizer, rosenbrock)
    assert_allclose(optimizer.best[0], 2 / 3, atol=1e-3)


def test_bfgs_stays_on_a_bound(global_random_seed):
    start = np.random.default_rng(global_random_seed).uniform(size=2)
    optimizer = BFGS(start, 100)
    run(optimizer, lambda x: float(x[0] + (x[1] - 0.4) ** 2))
    assert_allclose(optimizer.best[0], [0.0, 0.4], atol=1e-3)


def test_bfgs_gives_up_where_it_cannot_begin():
    optimizer = BFGS(np.array([0.5]), 10)
    optimizer.tell(optimizer.ask(), [np.inf], [np.array([np.nan])])
    assert "start" in optimizer.stop()


def test_grid_has_every_combination():
    optimizer = Grid([None, 3], 14)
    points = run(optimizer, sphere)
    # 4 levels of the range times 3 values
    expected = {(a / 3, (b + 0.5) / 3) for a in range(4) for b in range(3)}
    found = {tuple(x) for x in points}
    assert_allclose(sorted(found), sorted(expected))
    assert optimizer.stop() == {"complete": 12}


def test_zoom_beats_its_first_grid_and_asks_nothing_twice():
    optimizer = Zoom([None, None], 66)
    points = run(optimizer, sphere)
    assert len({tuple(np.round(x, 9)) for x in points}) == len(points)
    assert_allclose(optimizer.best[0], TARGET[:2], atol=1 / 32)


def test_zoom_ends_when_the_box_is_small():
    optimizer = Zoom([None], 500)
    run(optimizer, sphere)
    assert "box" in optimizer.stop()
    assert_allclose(optimizer.best[0], TARGET[:1], atol=5e-3)


def test_zoom_of_lists_is_the_whole_grid():
    optimizer = Zoom([4, 3], 20)
    assert len(run(optimizer, sphere)) == 12
    assert optimizer.stop() == {"complete": 12}


def test_two_lines_find_the_crossing():
    # C gamma fixed at u + v = 0.7, best at u = 0.45 of that line; at the least gamma
    # the best C is u = 0.7
    def f(x):
        return float(10 * (x[0] + x[1] - 0.7) ** 2 + (x[0] - 0.45) ** 2 * x[1])

    optimizer = TwoLines((1.0, 1.0), (0, 1), 60)
    points = run(optimizer, f)
    last = np.array(points[-1])
    assert_allclose(last.sum(), 0.7, atol=0.02)
    turned = TwoLines((1.0, 1.0), (1, 0), 60)
    other = run(turned, lambda x: f(x[::-1]))
    assert_array_equal([x[::-1] for x in other], points)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Grid([None, 4], 7), "search='grid' needs at least 8"),
        (lambda: Zoom([None, None], 24), "search='zoom' begins with 25"),
        (lambda: TwoLines((1, 1), (0, 1), 9), "search='line' needs at least 10"),
        (lambda: cmaes(2, 7, 0), "search='cmaes' needs at least 8"),
    ],
)
def test_budget_too_small(make, message):
    with pytest.raises(ValueError, match=r"budget=\d+ is too small: " + message):
        make()
