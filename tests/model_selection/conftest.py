"""Data and stand-ins that the tests of the search share."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from widemargin import SVC

Data = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def rings(global_random_seed) -> Callable[..., Data]:
    """Two overlapping rings, standardised: no linear rule, a clear best gamma."""

    def make(n: int = 80, n_classes: int = 2, seed: int = 0) -> Data:
        rng = np.random.default_rng((global_random_seed, seed))
        y = np.arange(n) % n_classes
        angle = rng.uniform(0, 2 * np.pi, n)
        radius = 1.0 + y + 0.35 * rng.normal(size=n)
        X = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
        return X / X.std(axis=0), y

    return make


class CountingSVC(SVC):
    """Counts fits over all copies; ends with Ctrl-C or fails where told to."""

    counter = 0
    interrupt_at = -1
    lock = threading.Lock()

    def fit(self, X, y, sample_weight=None):
        with CountingSVC.lock:
            CountingSVC.counter += 1
            if CountingSVC.counter == CountingSVC.interrupt_at:
                raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.fixture
def counting_svc(monkeypatch) -> type[CountingSVC]:
    monkeypatch.setattr(CountingSVC, "counter", 0)
    monkeypatch.setattr(CountingSVC, "interrupt_at", -1)
    return CountingSVC
