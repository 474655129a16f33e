"""Progress and messages: the package never prints, whoever wants to listen does.

A solver reports through the ``callback`` it is given; one-off notes, such as
"compiling", go to the listeners of this module. The program subscribes and
writes them to standard error; an estimator with ``verbose > 0`` does the same
for the length of its fit.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Protocol

from widemargin.result import TracePoint

Listener = Callable[[str], None]

_listeners: list[Listener] = []


class Callback(Protocol):
    """What a solver calls between iterations; returning True asks it to stop."""

    def __call__(self, point: TracePoint) -> bool | None: ...


def notify(message: str) -> None:
    """Tell all listeners; without a listener the message is dropped."""
    for listener in list(_listeners):
        listener(message)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send messages to `listener` inside the ``with`` block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def to_stderr(message: str) -> None:
    """The plain listener: one line on standard error."""
    print(message, file=sys.stderr, flush=True)


class Reporter:
    """A solver callback that tells the listeners at most once every `every` s."""

    def __init__(self, name: str, every: float = 1.0) -> None:
        self.name = name
        self.every = every
        self._next = time.perf_counter() + every

    def __call__(self, point: TracePoint) -> bool:
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + self.every
            parts = [f"{self.name}: {point.n_iter} iterations"]
            for label, value in (
                ("objective", point.objective),
                ("measure", point.measure),
            ):
                if isfinite(value):  # some solvers know them only now and then
                    parts.append(f"{label} {value:.6g}")
            notify(", ".join([*parts, f"{point.seconds:.1f} s"]))
        return False
