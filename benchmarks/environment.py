"""What a table was measured with: versions, processor, threads, load.

No host name and no path: a reader needs neither, and results are published.
"""

import os
import platform
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

import benchmarks.threads  # noqa: F401  loads every BLAS that will take part

PACKAGES = (
    "widemargin",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "threadpoolctl",
)
# Share of one core that a loop got, over half a second of wall time.
_SPIN = """
import time
wall, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - wall < 0.5: pass
print((time.process_time() - cpu) / (time.perf_counter() - wall))
"""


def cpu_model() -> str:
    """Name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_cores(n: int) -> float:
    """Cores that are really there for `n` busy threads, measured by spinning.

    Where others work on the same machine this is below `n`, and the wall times of
    several threads then say nothing about the program.
    """
    command = [sys.executable, "-S", "-E", "-c", _SPIN]
    spinners = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(n)
    ]
    return sum(float(spinner.communicate()[0]) for spinner in spinners)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _blas() -> list[str]:
    """Library, version and the kernels it chose for this processor."""
    libraries = []
    for info in threadpool_info():
        if info["user_api"] == "blas":
            chosen = info.get("architecture") or "unknown"
            libraries.append(f"{info['internal_api']} {info['version']} ({chosen})")
    return sorted(set(libraries))


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


@dataclass(frozen=True)
class Environment:
    """The machine before and after a suite."""

    day: str
    system: str
    cpu: str
    cores: int
    blas: list[str]
    versions: dict[str, str]
    load: tuple[float, ...]
    free_cores: tuple[float, ...]

    @classmethod
    def now(cls) -> "Environment":
        """Look around."""
        cores = n_cores()
        return cls(
            date.today().isoformat(),
            f"{platform.system()} {platform.machine()}",
            cpu_model(),
            cores,
            _blas(),
            _versions(),
            (_load(),),
            (free_cores(min(2, cores)),),
        )

    def until_now(self) -> "Environment":
        """The same with load and free cores at the end beside those at the start."""
        return replace(
            self,
            load=(*self.load, _load()),
            free_cores=(*self.free_cores, free_cores(min(2, self.cores))),
        )

    def lines(self) -> list[str]:
        """For the head of a report."""
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        load = " -> ".join(f"{x:.1f}" for x in self.load)
        free = " -> ".join(f"{x:.2f}" for x in self.free_cores)
        return [
            f"{self.day}; {self.system}; {self.cpu}, {self.cores} cores; "
            f"load average {load}; cores free for 2 threads {free}",
            f"BLAS: {', '.join(self.blas)}",
            f"Versions: {versions}",
        ]
