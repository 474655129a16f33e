"""Generators: shapes, seeds, and the property each one promises."""

import numpy as np
import pytest

from widemargin import datasets

GENERATORS = [
    datasets.make_gaussians,
    datasets.make_checkerboard,
    datasets.make_curves,
    datasets.make_rings,
    datasets.make_crossed_rings,
    datasets.make_twonorm,
    datasets.make_ringnorm,
    datasets.make_waveform,
]


@pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)
def test_seeded_and_well_formed(make, global_random_seed):
    before = np.random.get_state()[1].copy()  # noqa: NPY002  it must stay untouched
    X, y = make(150, random_state=global_random_seed)
    again, y_again = make(150, random_state=global_random_seed)
    other, _ = make(150, random_state=global_random_seed + 1)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, other)
    assert X.shape[0] == len(y) == 150
    assert np.isfinite(X).all()
    assert set(np.unique(y)) == {0, 1}
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_checkerboard_colours_follow_from_two_columns(global_random_seed):
    X, y = datasets.make_checkerboard(
        300, cells=4, n_noise_features=8, random_state=global_random_seed
    )
    assert X.shape == (300, 10)
    np.testing.assert_array_equal(y, (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2)
    assert X.min() >= 0 and X.max() <= 4


def test_unbalanced_share(global_random_seed):
    _, y = datasets.make_gaussians(200, share=0.1, random_state=global_random_seed)
    assert y.sum() == 20


def test_rings_do_not_touch_without_noise(global_random_seed):
    X, y = datasets.make_rings(100, noise=0.0, random_state=global_random_seed)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0 + y, rtol=1e-12)


def test_twonorm_bayes_rule_errs_as_published(global_random_seed):
    # The best rule is the sign of the sum; its error is Phi(-2) = 2.28 %.
    X, y = datasets.make_twonorm(20_000, random_state=global_random_seed)
    error = np.mean((X.sum(axis=1) > 0) != y)
    assert abs(error - 0.0228) < 4 * np.sqrt(0.0228 / 20_000)


def test_waveform_means(global_random_seed):
    # Class 1 mixes the waves at 11 and 7: its mean at column 15 (the third wave's
    # peak) is half of the first wave there, 6 - 4 = 2, over 2.
    X, y = datasets.make_waveform(20_000, random_state=global_random_seed)
    assert abs(X[y == 1, 14].mean() - 1.0) < 0.1
    assert abs(X[:, 0].mean()) < 0.1
