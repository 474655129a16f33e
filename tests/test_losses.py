"""Every loss against the conformance suite, and values computed by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin._testing import check_loss
from widemargin.losses import LOSSES, PROXIMAL, Hinge, SquaredHinge

TARGETS = {"squared_hinge": (-1, 0, 1, PROXIMAL), "hinge": (-1, 0, 1, PROXIMAL)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LOSSES)
def test_conformance(name, seed):
    check_loss(LOSSES[name](), targets=TARGETS[name], seed=seed)


@pytest.mark.parametrize("loss", [SquaredHinge(0.5, 3.0), Hinge(0.5, 3.0)])
def test_conformance_with_parameters(loss):
    check_loss(loss, targets=TARGETS[loss.name], seed=11)


@pytest.mark.parametrize(
    ("loss", "power", "slopes"),
    [
        # 2 C weight r t' for r = 1.5, 0 (kink), 3, -, 1.3, 0 (kink), and 1.4
        (SquaredHinge(0.6, 2.0), 2, [-12.0, 0.0, 24.0, 0.0, -20.8, 0.0, 22.4]),
        (Hinge(0.6, 2.0), 1, [-4.0, 0.0, 4.0, 0.0, -8.0, 0.0, 8.0]),
    ],
)
def test_by_hand(loss, power, slopes):
    z = np.array([[-0.5], [1.0], [2.0], [9.0], [-1.9], [0.6], [2.0]])
    target = np.array([[1], [1], [-1], [0], [PROXIMAL], [PROXIMAL], [PROXIMAL]])
    weight, C = np.full((7, 1), 2.0), np.array([2.0])
    residuals = np.array([1.5, 0.0, 3.0, 0.0, 1.3, 0.0, 1.4])
    costs = np.array([4.0, 4.0, 4.0, 0.0, 8.0, 8.0, 8.0])
    value, slope, curvature = loss.evaluate(z, target, weight, C)
    assert_allclose(value, [np.sum(costs * residuals**power)], rtol=1e-14)
    assert_allclose(slope[:, 0], slopes, rtol=1e-14)
    active = residuals > 0.0
    expected = 2.0 * costs * active if loss.smooth else np.zeros(7)
    assert_array_equal(curvature[:, 0], expected)


def test_hinge_dual_is_a_box():
    target, weight, C = np.array([[1, -1, PROXIMAL]]), np.ones((1, 1)), np.full(3, 2.0)
    dual = Hinge(0.1).dual_value
    beta = np.array([[2.0, -2.0, -2.0]])
    assert_allclose(dual(beta, target, weight, C), [2.0, 2.0, -0.2])
    for wrong in (1.1 * beta, -beta * [1, 1, 1.1]):
        assert_array_equal(dual(wrong, target, weight, C), -np.inf)
