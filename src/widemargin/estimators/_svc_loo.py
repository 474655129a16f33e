"""Leave-one-out for `SVC`: its pairs of classes as `solvers.loo.Solution`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from widemargin._threads import n_blas_threads, one_blas_thread
from widemargin.estimators._svc_fit import decide, unpack
from widemargin.estimators._training import Training
from widemargin.gram import centre_of, prepare
from widemargin.solvers.loo import Solution, span_margins


def solutions(svc: Any) -> Iterator[tuple[int, int, np.ndarray, Solution]]:
    """(i, j, rows of the pair, its solution) for each pair of classes."""
    training: Training = svc._training
    n_classes = len(svc.classes_)
    rows = prepare(
        training.X, training.kernel, np.float64, centre_of(training.X, training.kernel)
    )
    vectors = unpack((svc.support_, svc.dual_coef_), training.codes, n_classes)
    threads = n_blas_threads()
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            member = (training.codes == i) | (training.codes == j)
            index = np.flatnonzero(member & (training.C > 0))
            first = j if n_classes == 2 else i
            y = np.where(training.codes[index] == first, 1.0, -1.0)
            b = vectors[i, j][index]
            mine = rows.take(index)
            support = np.flatnonzero(b)
            with one_blas_thread():
                scores = mine.product(mine.take(support), b[support], threads)
            yield i, j, index, Solution(
                mine, y, b, scores, float(svc.intercept_[pair]), training.C[index],
                training.squared, training.tol,
            )  # fmt: skip
            pair += 1


def loo_pairs(svc: Any) -> np.ndarray:
    """Leave-one-out decisions of all training rows, (n_samples, n_pairs).

    Of pairs that a row has no part in, and of rows of weight 0, the plain decisions.
    """
    training: Training = svc._training
    n_classes = len(svc.classes_)
    n_pairs = n_classes * (n_classes - 1) // 2
    if n_classes == 2 and (training.C > 0).all():
        out = np.empty((len(training.codes), 1))
    else:
        out = decide(
            training.X, svc.support_vectors_, svc.support_, svc.n_support_,
            svc.dual_coef_, svc.intercept_, training.kernel,
        )  # fmt: skip
    assert out.shape[1] == n_pairs
    with one_blas_thread():  # small factors: a second thread costs more than it does
        for pair, (_, _, index, solution) in enumerate(solutions(svc)):
            out[index, pair] = solution.y * span_margins(solution)
    return out
