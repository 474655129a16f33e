"""`warm_up` leaves nothing to compile, so that a container starts at once."""

import os
import subprocess
import sys
import textwrap

import pytest

WARM = """
    import widemargin
    widemargin.warm_up()
"""
USE = """
    import numpy as np
    from scipy import sparse
    from widemargin import SVC, _jit
    from widemargin.progress import listening

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) * (rng.random((90, 4)) < 0.7)
    y = np.arange(90) % 2
    read_only = X.copy()
    read_only.flags.writeable = False
    now = "nothing"

    def heard(message):
        if "compiling" in message:
            _jit._announced = False  # to hear of every one
            print(now)

    def use(label, model, X, y):
        global now
        now = label
        model.fit(X, y)
        for rows in (X, X[:1]):
            model.predict(rows)

    with listening(heard):
        for kernel in ("rbf", "linear", "poly", "sigmoid", "laplacian", "exponential"):
            for loss in ("hinge", "squared_hinge"):
                for labels in (y, np.arange(90) % 3):
                    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
                        model = SVC(kernel=kernel, loss=loss, gamma=0.1, coef0=1.0)
                        if (kernel, loss) != ("sigmoid", "squared_hinge"):
                            use(f"{kernel} {loss} {type(rows)}", model, rows, labels)
        for rows in (read_only, X.astype(np.float32), np.asfortranarray(X), X.tolist()):
            use(f"as {type(rows)}", SVC(), np.asarray(rows), y)
        use("calibration", SVC(calibration=3), X, y)
        use("loo", SVC(calibration="loo"), X, y)
        use("tight", SVC(tol=1e-8), X, y)
        use("jobs", SVC(n_jobs=2), X, np.arange(90) % 4)
        use("precomputed", SVC(kernel="precomputed"), X @ X.T, y)
        use("function", SVC(kernel=lambda a, b: a @ b.T), X, y)
        X = rng.normal(size=(6000, 4))
        y = (X[:, 0] + rng.normal(size=6000) > 0) * 1
        for loss in ("hinge", "squared_hinge"):
            for tol in (1e-3, 1e-6):
                for rows in (X, sparse.csr_array(X)):
                    use(f"large {loss} {tol}", SVC(loss=loss, tol=tol), rows, y)
        use("large linear", SVC(kernel="linear", C=0.01), X, y)
        use("large, small cache", SVC(cache_size=2), X, y)
"""


def _run(code, cache):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="no compiler"
)
def test_nothing_is_left_to_compile(tmp_path):
    assert _run(WARM, tmp_path) == []
    assert _run(USE, tmp_path) == []
