"""What is measured. One more suite is one more file here and its entry in `SUITES`.

A suite is a module with ``run(options) -> Report``. It is imported when it is run.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple


class Options(NamedTuple):
    """What the command line asked for."""

    quick: bool = False
    only: str | None = None
    rounds: int | None = None
    all_peers: bool = False

    def wants(self, name: str, quick: bool) -> bool:
        """Whether a case is to run."""
        if self.only is not None and self.only.lower() not in name.lower():
            return False
        return quick or not self.quick

    def rounds_of(self, default: int) -> int:
        """Rounds of a case."""
        if self.rounds is not None:
            return self.rounds
        return min(3, default) if self.quick else default


SUITES: dict[str, Callable[[], Any]] = {
    name: partial(import_module, f"benchmarks.suites.{name}")
    for name in ("svc", "predict", "kernel_block", "start", "memory", "search")
}
