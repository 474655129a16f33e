"""Compile everything once, for container images and before a fan-out."""

import numpy as np


def warm_up() -> None:
    """Compile all kernels now and keep them on disk.

    Without it each kernel is compiled when first used, about a second for the first
    fit ever. Call it when an image is built, or before many processes start at once.

    Examples
    --------
    >>> import widemargin
    >>> widemargin.warm_up()
    """
    from scipy import sparse

    from widemargin.estimators.svc import SVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, 0)
    three = y + (X[:, 1] > 0.5)
    for kernel in ("rbf", "linear", "laplacian"):
        for tol in (1e-3, 1e-8):
            for data in (X, sparse.csr_array(X)):
                SVC(kernel=kernel, tol=tol).fit(data, y).predict(data)
    SVC().fit(X, three).predict(X)
    SVC(kernel="precomputed").fit(X @ X.T, y).predict(X @ X.T)
    large = rng.normal(size=(7000, 3))
    labels = large[:, 0] + rng.normal(size=7000) > 0
    for data in (large, sparse.csr_array(large)):
        SVC().fit(data, labels)
