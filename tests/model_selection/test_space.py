"""Spaces: maps between the cube and parameters, and what is refused."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.model_selection import Integer, Linear, Log
from widemargin.model_selection.space import Space, Values

KNOWN = ["C", "gamma", "degree", "svc__C", "kernel"]


def test_log_is_even_in_orders_of_magnitude():
    log = Log(0.01, 100)
    assert_allclose([log.decode(u) for u in (0, 0.25, 0.5, 1)], [0.01, 0.1, 1, 100])
    assert_allclose(log.encode(10), 0.75)
    assert log.encode(1e9) == 1 and log.encode(1e-9) == 0


def test_ends_are_exact():
    for dimension in (Log(2.0**-15, 2.0**3), Linear(-0.1, 0.7), Integer(-3, 8)):
        assert dimension.decode(0.0) == dimension.low
        assert dimension.decode(1.0) == dimension.high


def test_every_whole_number_has_an_equal_part():
    values = [Integer(2, 5).decode(u) for u in np.linspace(0, 1, 4001)[:-1]]
    assert np.bincount(values).tolist() == [0, 0, 1000, 1000, 1000, 1000]
    assert all(type(v) is int for v in values)
    assert [Integer(2, 5).decode(Integer(2, 5).encode(v)) for v in range(2, 6)] == [
        *range(2, 6)
    ]


def test_values_come_back():
    values = Values(["rbf", "poly", 3, np.arange(2)])
    assert [values.decode(values.encode(v)) for v in ("rbf", "poly", 3)] == [
        *("rbf", "poly", 3)
    ]
    assert values.decode(1.0) is values.values[3]


def test_space_there_and_back(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    space = Space(
        {"C": (0.1, 10), "gamma": Log(1e-3, 1, per_feature=True), "degree": (1, 9)},
        KNOWN, "SVC",
    )  # fmt: skip
    space.resolve(3)
    assert space.n_parameters == 5
    assert space.coordinates("gamma").tolist() == [1, 2, 3]
    point = rng.uniform(size=5)
    params = space.decode(point)
    assert params["gamma"].shape == (3,)
    assert type(params["C"]) is float
    assert_allclose(space.encode(params), point)
    # one number for all features, and the middle for what is not given
    assert_allclose(
        space.encode({"gamma": 1.0, "C": 0.1}), [0, 1, 1, 1, 0.5], atol=1e-12
    )


def test_equal_spaces_are_equal():
    assert Log(1, 2) == Log(1, 2)
    assert len({Log(1, 2), Log(1, 2), Log(1, 3), Linear(1, 2)}) == 3
    assert repr(Log(1, 2)) == "Log(low=1.0, high=2.0, per_feature=False)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Log(10, 1),
            "Log: low must be below high, got low=10 > high=1: bounds reversed",
        ),
        (
            lambda: Integer(3, 3),
            "Integer: low must be below high, got 3 for both; to fix a parameter, set "
            "it on the estimator",
        ),
        (lambda: Log(0, 1), "Log: low must be > 0, got 0; use Linear"),
        (lambda: Linear(0, np.inf), "Linear: high must be finite, got inf"),
        (lambda: Integer(1, 2.5), "Integer: high must be a whole number, got 2.5"),
        (lambda: Log("a", 1), "Log: low must be a number, got 'a'"),
        (lambda: Linear(True, 2), "Linear: low must be a number, got True"),
        (
            lambda: Space({}, KNOWN, "SVC"),
            "space is empty: name at least one parameter to search",
        ),
        (
            lambda: Space([("C", 1)], KNOWN, "SVC"),
            "space must be a dict from parameter name to Log, Linear, Integer, a pair "
            "or a list, got list",
        ),
        (
            lambda: Space({"gama": (1, 2)}, KNOWN, "SVC"),
            "space names 'gama', which is not a parameter of SVC; did you mean "
            "'gamma'?",
        ),
        (
            lambda: Space({"C": (1, 2)}, ["svc__C", "svc"], "Pipeline"),
            "space names 'C', which is not a parameter of Pipeline; did you mean "
            "'svc__C'?",
        ),
        (
            lambda: Space({"C": (-1, 2)}, KNOWN, "SVC"),
            "space['C']: a pair must be two positive numbers (low, high), got (-1, 2); "
            "use Linear(low, high) for others and a list for values",
        ),
        (
            lambda: Space({"C": (2, 1)}, KNOWN, "SVC"),
            "space['C']: Log: low must be below high, got low=2 > high=1: bounds "
            "reversed",
        ),
        (
            lambda: Space({"C": []}, KNOWN, "SVC"),
            "space['C']: the list of values is empty",
        ),
        (
            lambda: Space({"C": 3}, KNOWN, "SVC"),
            "space['C'] must be Log, Linear, Integer, a pair (low, high) of positive "
            "numbers or a list of values, got 3",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        make()
