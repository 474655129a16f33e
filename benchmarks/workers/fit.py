"""``FOLDER N_THREADS SETTINGS``: one fit of the samples there, and its memory."""

import json
import resource
import sys
from pathlib import Path

import numpy as np

from benchmarks.measure import timed
from benchmarks.threads import limited
from widemargin import SVC

MB = 2.0**20


def peak() -> float:
    """Largest resident size of this program so far, MB."""
    # Linux hands ru_maxrss of the parent on to the child; VmHWM begins anew.
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def resident() -> float:
    """Resident size now, MB; the peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak()
    return pages * resource.getpagesize() / MB


def main() -> None:
    """Read, fit, print."""
    folder, n_threads, settings = sys.argv[1:]
    X = np.load(Path(folder) / "X.npy")
    y = np.load(Path(folder) / "y.npy")
    with limited(int(n_threads)):
        before = resident()
        SVC(**json.loads(settings)).fit(X[:200], y[:200])
        ready = resident()
        model = SVC(**json.loads(settings))
        timing, _ = timed(lambda: model.fit(X, y))
    answer = {
        "cpu": timing.cpu,
        "wall": timing.wall,
        "n_support": len(model.support_),
        "kkt_gap": model.kkt_gap_,
        "dual_gap": model.dual_gap_,
        "converged": model.converged_,
        "data": (X.nbytes + y.nbytes) / MB,
        "library": ready - before,
        "over_data": peak() - ready,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
