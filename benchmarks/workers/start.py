"""``package | svc | fit``: how long an import or a first fit takes in this process."""

import json
import sys
import time
from typing import Any


def _clock() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(begun: tuple[float, float]) -> dict[str, Any]:
    now = _clock()
    return {"cpu": now[0] - begun[0], "wall": now[1] - begun[1]}


def package() -> dict[str, Any]:
    """Import the package after its three pillars."""
    import numpy  # noqa: F401
    import scipy  # noqa: F401
    import sklearn  # noqa: F401

    begun = _clock()
    import widemargin  # noqa: F401

    return _since(begun)


def svc() -> dict[str, Any]:
    """Import the estimator after what scikit-learn's own loads."""
    import numpy  # noqa: F401
    import sklearn.svm  # noqa: F401

    begun = _clock()
    from widemargin import SVC  # noqa: F401

    return _since(begun)


def fit() -> dict[str, Any]:
    """Fit twice, watching for compilations."""
    import numpy as np
    from numba.core import event

    from widemargin import SVC
    from widemargin.progress import listening

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    y = X[:, 0] + rng.normal(size=200) > 0
    messages: list[str] = []
    answer = {}
    for name in ("first", "second"):
        with event.install_recorder("numba:compile") as recorder:
            with listening(messages.append):
                begun = _clock()
                SVC().fit(X, y)
                answer[name] = _since(begun)
        starts = [e for _, e in recorder.buffer if e.is_start]
        answer[name]["compiled"] = len(starts)
        answer[name]["announced"] = any("compiling" in m for m in messages)
    return answer


if __name__ == "__main__":
    print(json.dumps({"package": package, "svc": svc, "fit": fit}[sys.argv[1]]()))
