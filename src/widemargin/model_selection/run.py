"""The loop of a search: ask, evaluate side by side, tell, until something ends it."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin._threads import one_blas_thread, run_each
from widemargin.estimators._base import DataScaleWarning
from widemargin.model_selection.checkpoint import Checkpoint
from widemargin.model_selection.evaluate import Evaluator, Outcome
from widemargin.model_selection.optimizers import Optimizer, Point
from widemargin.model_selection.space import Params, Space
from widemargin.progress import notify

# Seconds between two lines of progress.
REPORT_SECONDS = 1.0


@dataclass
class Record:
    """One setting in the order of the search."""

    point: Point
    params: Params
    outcome: Outcome
    batch: int


@contextmanager
def _hushed() -> Iterator[None]:
    """The search judges such settings itself; the refit warns about the one kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataScaleWarning)
        yield


class Run:
    """State of one search.

    Parameters
    ----------
    optimizer, evaluator, space, checkpoint
        The parts.
    max_time : float or None
        Seconds after which no further fit begins.
    n_jobs : int
        Settings tried side by side, in threads.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        evaluator: Evaluator,
        space: Space,
        checkpoint: Checkpoint,
        max_time: float | None,
        n_jobs: int,
    ) -> None:
        self.optimizer, self.evaluator, self.space = optimizer, evaluator, space
        self.checkpoint, self.max_time, self.n_jobs = checkpoint, max_time, n_jobs
        self.records: list[Record] = []
        self.reasons: dict[str, float] = {}
        self.interrupted = False
        self._began = time.perf_counter()
        self._reported = self._began
        # settings that rounding makes equal are tried once
        self._settings: dict[str, Outcome] = {}

    def _late(self) -> bool:
        spent = time.perf_counter() - self._began
        return self.max_time is not None and spent >= self.max_time

    def go(self) -> None:
        """Search to the end; Ctrl-C ends it early if anything has been tried."""
        batch = 0
        try:
            # Results do not depend on the number of threads, and on small matrices a
            # second BLAS thread costs more than it gives.
            with _hushed(), one_blas_thread():
                while not self.reasons:
                    points = self.optimizer.ask()
                    if points:
                        self._evaluate(points, batch)
                    batch += 1
                    self.reasons |= self.optimizer.stop()
        finally:
            self.checkpoint.write()

    def _evaluate(self, points: list[Point], batch: int) -> None:
        outcomes: list[Outcome | None] = [None] * len(points)
        params = [self.space.decode(point) for point in points]
        keys = [repr([np.asarray(v).tolist() for v in p.values()]) for p in params]
        fresh: list[int] = []
        for k, (point, key) in enumerate(zip(points, keys, strict=True)):
            outcomes[k] = self._settings.get(key) or self.checkpoint.get(point)
            if outcomes[k] is None and key not in [keys[j] for j in fresh]:
                fresh.append(k)

        def work(k: int) -> None:
            if self._late() and (self.records or k != fresh[0]):
                return
            outcomes[k] = outcome = self.evaluator(params[k])
            self.checkpoint.put(points[k], outcome)

        try:
            run_each(work, fresh, self.n_jobs)
        except KeyboardInterrupt:
            self.interrupted = True
            self.reasons["interrupted"] = len(self.records)
        self._record(points, params, keys, outcomes, batch)

    def _record(self, points, params, keys, outcomes, batch) -> None:
        for k, key in enumerate(keys):
            known = self._settings.get(key)
            outcome = outcomes[k]
            if outcome is None:
                outcome = known  # a setting that is twice in the batch
            if outcome is None:
                continue
            if known is not None:
                outcome = Outcome(**(known.as_dict() | {"n_fits": 0, "seconds": 0.0}))
            else:
                self._settings[key] = outcome
            outcomes[k] = outcome
            self.records.append(Record(points[k], params[k], outcome, batch))
        if self.interrupted:
            self.reasons["interrupted"] = len(self.records)
            return
        if any(outcome is None for outcome in outcomes):
            self.reasons["max_time"] = float(self.max_time or 0.0)
            return
        gradients = None
        if self.optimizer.needs_gradient:
            gradients = [
                np.array(o.gradient or [np.nan] * len(points[0])) for o in outcomes
            ]
        self.optimizer.tell(points, [o.told for o in outcomes], gradients)
        self._report()

    def _report(self) -> None:
        now = time.perf_counter()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        best = self.best()
        if best is not None:
            setting = ", ".join(
                f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in self.records[best].params.items()
                if np.ndim(value) == 0
            )
            notify(
                f"MarginSearchCV: {len(self.records)} of at most "
                f"{self.optimizer.budget} settings, best score "
                f"{self.records[best].outcome.score:.6g} with {setting}, "
                f"{now - self._began:.1f} s"
            )

    def best(self) -> int | None:
        """Number of the best setting; of equal ones that with the least C, then first.

        None if all failed.
        """
        good = [k for k, r in enumerate(self.records) if r.outcome.status != "failed"]
        if not good:
            return None
        C = [name for name in self.space.dimensions if name.split("__")[-1] == "C"]

        def key(k: int) -> tuple[float, float, int]:
            record = self.records[k]
            size = record.params[C[0]] if C else 0.0
            return record.outcome.told, size, k

        return min(good, key=key)

    def failure(self) -> Exception:
        """Why all settings failed: the most frequent reason, of the type it has."""
        reasons = [r.outcome.error for r in self.records]
        counts = {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}
        first, *others = sorted(counts, key=lambda reason: -counts[reason])
        more = f" (and {len(others)} other reasons)" if others else ""
        kind = TypeError if first.startswith("TypeError") else ValueError
        return kind(f"all {len(reasons)} settings failed: {first}{more}")
