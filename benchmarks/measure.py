"""Fair timing: contestants take turns, and the ratio is formed within a round.

The machine may be shared, so a single time says little. In each round every contestant
runs once, one right after the other; what slows one slows the next as well. CPU
seconds of the process (all its threads) are the main figure, wall seconds beside them.
"""

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.threads import limited


class Timing(NamedTuple):
    """Seconds of one call."""

    cpu: float
    wall: float


class Spread(NamedTuple):
    """Smallest, middle and largest value of several rounds."""

    low: float
    median: float
    high: float


@dataclass
class Entrant:
    """One contestant under one limit of threads."""

    name: str
    work: Callable[[], Any]
    n_threads: int = 1
    warm_up: Callable[[], Any] | None = None
    timings: list[Timing] = field(default_factory=list)
    result: Any = None  # of the last round

    @property
    def cpu(self) -> Spread:
        return spread([t.cpu for t in self.timings])

    @property
    def wall(self) -> Spread:
        return spread([t.wall for t in self.timings])


def spread(values: Sequence[float]) -> Spread:
    """Minimum, median and maximum."""
    return Spread(min(values), float(np.median(values)), max(values))


def ratio(peer: Entrant, own: Entrant, clock: str = "cpu") -> Spread:
    """How many times longer the peer took, round by round."""
    return spread(
        [
            getattr(p, clock) / getattr(o, clock)
            for p, o in zip(peer.timings, own.timings, strict=True)
        ]
    )


def timed(work: Callable[[], Any], calls: int = 1) -> tuple[Timing, Any]:
    """Seconds for each of `calls` calls, and what the last one returned."""
    gc.collect()  # nobody pays for what another left behind
    result = None
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        result = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Timing(cpu / calls, wall / calls), result


def _calls(work: Callable[[], Any], sample_seconds: float) -> int:
    """Calls that fill one sample, so that the clock's own grain does not matter."""
    fastest = math.inf
    for _ in range(3):
        fastest = min(fastest, timed(work)[0].wall)
        if fastest >= sample_seconds:
            return 1
    return math.ceil(sample_seconds / max(fastest, 1e-7))


def interleave(
    entrants: Sequence[Entrant], rounds: int, sample_seconds: float = 0.0
) -> None:
    """Run `rounds` rounds A B C, A B C, ... and fill in `timings` and `result`.

    Parameters
    ----------
    entrants : sequence of Entrant
        In the order of their turns.
    rounds : int
        Number of rounds, after the warm-up.
    sample_seconds : float
        If > 0, work is repeated until one sample takes about this long.
    """
    calls = []
    for entrant in entrants:
        with limited(entrant.n_threads):
            if sample_seconds > 0:  # warms up as well
                calls.append(_calls(entrant.work, sample_seconds))
            else:
                calls.append(1)
                if entrant.warm_up is not None:
                    entrant.warm_up()
    for _ in range(rounds):
        for entrant, n in zip(entrants, calls, strict=True):
            with limited(entrant.n_threads):
                timing, entrant.result = timed(entrant.work, n)
            entrant.timings.append(timing)
