"""Compile everything once, for container images and before a fan-out."""

import warnings

import numpy as np


def warm_up() -> None:
    """Compile all kernels now and keep them on disk.

    Without it each kernel is compiled when first used, some seconds for the first
    fit ever. Call it when an image is built, or before many processes start at once.

    Examples
    --------
    >>> import widemargin
    >>> widemargin.warm_up()
    """
    from scipy import sparse
    from sklearn.exceptions import ConvergenceWarning

    from widemargin.estimators.svc import SVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))  # enough for float32
    y = np.where(X[:, 0] + rng.normal(size=600) > 0, 1, 0)
    three = y + (X[:, 1] > 0.5)
    for kernel in ("rbf", "linear", "laplacian"):
        for data in (X, sparse.csr_array(X)):
            for tol in (1e-3, 1e-8):
                SVC(kernel=kernel, tol=tol).fit(data, y).predict(data)
            SVC(kernel=kernel).fit(data, three).predict(data)
    SVC(kernel="precomputed").fit(X @ X.T, y).predict(X @ X.T)
    large = rng.normal(size=(6000, 3))
    labels = large[:, 0] + rng.normal(size=6000) > 0
    for data in (large, sparse.csr_array(large)):
        for kernel in ("rbf", "linear"):
            for tol in (1e-3, 1e-6):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    SVC(kernel=kernel, tol=tol, max_iter=2000).fit(data, labels)
