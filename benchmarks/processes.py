"""Measurements that need a process of their own: memory, imports, first fits."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset

# The repository, from where a worker finds this package
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class FitAlone:
    """A fit in a fresh process; memory in MB (2^20 bytes)."""

    cpu: float
    wall: float
    n_support: int
    kkt_gap: float
    dual_gap: float
    converged: bool
    data: float  # the samples themselves
    library: float  # what a first tiny fit loads: Numba, compiled kernels
    over_data: float  # peak resident size above samples and library


def worker(
    name: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run ``benchmarks.workers.NAME`` in a new process and read its JSON answer."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.workers.{name}", *arguments],
        cwd=ROOT, env={**os.environ, **(environment or {})},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"exit code {done.returncode}: {lines[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def compile_all() -> None:
    """Leave all compiled kernels on disk: a compiler's memory is not a fit's.

    In a process of its own, for this one may have loaded older sources.
    """
    worker("compile")


def fit_alone(
    data: Dataset, C: float, gamma: float, *, n_threads: int = 1,
    cache_size: float | None = None,
) -> FitAlone:  # fmt: skip
    """Fit ours in a fresh process; the samples come from a file.

    Making them there would leave a peak of memory of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip("Xy", data, strict=True):
            np.save(Path(folder) / f"{name}.npy", array)
        settings = {"C": C, "gamma": gamma}
        if cache_size is not None:
            settings["cache_size"] = cache_size
        answer = worker("fit", folder, str(n_threads), json.dumps(settings))
    return FitAlone(**answer)
