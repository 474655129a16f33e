r"""Row-block problems: all that a linear learner may ask of its data.

The problem, for all outputs k (ranks, classes, values of C) at once, is

.. math:: \min_W\; \tfrac12 \sum_{jk} p_j W_{jk}^2
    + \sum_{ik} \ell_{ik}(z_{ik}), \qquad Z = [X, s 1]\, W,

with a loss from `losses.py`. The column s, `intercept_scaling`, is never stored; W then
has one row more than X has features. p is the penalty, 0 for an intercept that is not
penalised.

A `Block` holds some of the rows, and everything of length n_samples: predictions,
curvature. `RowBlockProblem` only sums what blocks return, through one method,
`_sum`: blocks may as well live on other machines. Sums run in the order of the blocks,
so the number of threads does not change a bit of the result; the number of blocks
changes its rounding.

All methods take ``outputs``, the numbers of the outputs that are asked for, and then W
and the results have these columns only: outputs that have converged cost nothing.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

from widemargin._threads import n_blas_threads, one_blas_thread
from widemargin.blocks import Block, Outputs, pick
from widemargin.losses import Loss
from widemargin.rows import CsrRows, Rows, as_rows, row_slice

_BLOCK_WORK = 2**19  # sparse entries times outputs: about half a millisecond
_MAX_BLOCKS = 32


class RowBlockProblem:
    """What a Newton-type solver sees of its data: sums over blocks, and a penalty.

    Parameters
    ----------
    blocks : sequence of Block
        The rows.
    shape : tuple of int
        (n_coefficients, n_outputs), the shape of W.
    penalty : float
        p, on every row of W; 0 where the solver bounds W instead.
    penalise_intercept : bool
        False takes the penalty off the last row of W.
    n_threads : int
        Threads over blocks.

    Attributes
    ----------
    shape : tuple of int
        As given.
    penalty : ndarray of shape (n_coefficients, 1)
        p of each coefficient.
    point : ndarray of shape (n_coefficients, n_outputs)
        Where the problem is linearised; nan before.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        shape: tuple[int, int],
        *,
        penalty: float = 1.0,
        penalise_intercept: bool = True,
        n_threads: int = 1,
    ) -> None:
        self.blocks = list(blocks)
        self.shape = shape
        self.penalty = np.full((shape[0], 1), float(penalty))
        if not penalise_intercept:
            self.penalty[-1] = 0.0
        self.n_threads = max(1, min(n_threads, len(self.blocks)))
        self.point = np.full(shape, np.nan)
        self._free_intercept = not penalise_intercept
        # at the point: loss, its gradient, sums of -slope > 0 and of slope > 0
        self._loss = np.full(shape[1], np.nan)
        self._gradient = np.full(shape, np.nan)
        self._sums = np.full((2, shape[1]), np.nan)
        self._direction: Any = None  # S, its outputs, and its penalty along t
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        target: Any,
        loss: Loss,
        *,
        C: Any = 1.0,
        weight: np.ndarray | None = None,
        intercept_scaling: float | None = None,
        penalty: float = 1.0,
        penalise_intercept: bool = True,
        n_blocks: int | None = None,
        n_threads: int | None = None,
    ) -> "RowBlockProblem":
        """Cut data in memory into blocks.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            The data; see `widemargin.rows.as_rows`.
        target : array of shape (n_samples, n_outputs)
            +1, -1, 0 (the row takes no part in this output), or `losses.PROXIMAL`.
        loss : Loss
            The loss of every row.
        C : float or array of shape (n_outputs,)
            Cost of one unit of loss.
        weight : array of shape (n_samples,) or (n_samples, n_weights), optional
            Weights of the rows.
        intercept_scaling : float, optional
            Value of the appended column; None for no intercept.
        penalty : float
            p, on all coefficients.
        penalise_intercept : bool
            False leaves the intercept free.
        n_blocks : int, optional
            By default as many as pay, whatever the number of threads.
        n_threads : int, optional
            By default the limit of BLAS (threadpoolctl).

        Returns
        -------
        RowBlockProblem
        """
        rows, target = as_rows(X), np.asarray(target, dtype=np.int8)
        (n_samples, n_features), n_outputs = rows.shape, target.shape[1]
        if weight is None:
            weight = np.ones(n_samples)
        weight = np.asarray(weight, dtype=np.float64).reshape(n_samples, -1)
        C = np.broadcast_to(np.asarray(C, dtype=np.float64), n_outputs)
        cuts = _cuts(rows, n_outputs, n_blocks)
        blocks = []
        for start, stop in pairwise(cuts):
            part, y, c = row_slice(rows, start, stop), target[start:stop], weight
            blocks.append(Block(part, y, c[start:stop], loss, C, intercept_scaling))
        return cls(
            blocks,
            (n_features + (intercept_scaling is not None), n_outputs),
            penalty=penalty,
            penalise_intercept=penalise_intercept or intercept_scaling is None,
            n_threads=n_blas_threads() if n_threads is None else n_threads,
        )

    def value(self, W: np.ndarray, outputs: Outputs = None) -> np.ndarray:
        """Objective (n_outputs,) at W; nothing is remembered."""
        (loss,) = self._sum("value", W, outputs)
        return loss + self._penalty_of(W)

    def linearize(
        self, W: np.ndarray, outputs: Outputs = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Objective (n_outputs,) and gradient, of the shape of W; fixes the point."""
        loss, gradient, sums = self._sum("linearize", W, outputs)
        columns = slice(None) if outputs is None else outputs
        self.point[:, columns], self._gradient[:, columns] = W, gradient
        self._loss[columns], self._sums[:, columns] = loss, sums
        self._direction = None
        return loss + self._penalty_of(W), gradient + self.penalty * W

    def hess_vec(self, V: np.ndarray, outputs: Outputs = None) -> np.ndarray:
        """Hessian at the point times V, of the shape of V."""
        (product_,) = self._sum("hess_vec", V, outputs)
        return product_ + self.penalty * V

    def hess_diag(self, outputs: Outputs = None) -> np.ndarray:
        """Diagonals of the Hessians at the point, (n_coefficients, n_outputs)."""
        (diagonal,) = self._sum("hess_diag", outputs)
        return diagonal + self.penalty

    def hess_matrix(self, outputs: Outputs = None) -> np.ndarray:
        """Hessians at the point, (n_outputs, n_coefficients, n_coefficients)."""
        (H,) = self._sum("hess_matrix", outputs)
        diagonal = np.arange(self.shape[0])
        H[:, diagonal, diagonal] += self.penalty[:, 0]
        return H

    def value_along(self, S: np.ndarray, t: Any, outputs: Outputs = None) -> np.ndarray:
        """Objective (n_outputs,) at the point plus t S, t a number or one per output.

        The rows are read once for each new S; then a trial costs O(n_samples).
        """
        key = (S, np.arange(self.shape[1])[slice(None) if outputs is None else outputs])
        if self._direction is None or not all(
            map(np.array_equal, key, self._direction[:2])
        ):
            self._sum("set_direction", S)
            W = pick(self.point, outputs)
            slope = np.sum(self.penalty * W * S, axis=0)
            self._direction = (S.copy(), key[1], slope, self._penalty_of(S))
        *_, slope, square = self._direction
        (loss,) = self._sum("value_along", t, outputs)
        start = self._penalty_of(pick(self.point, outputs))
        return loss + start + t * slope + np.square(t) * square

    def dual_point(self, outputs: Outputs = None) -> tuple[np.ndarray, np.ndarray]:
        """Dual value (n_outputs,) and X' beta, beta from the slopes at the point.

        For a free intercept beta is made to sum to 0 by scaling down its heavier side,
        which keeps it within its bounds.
        """
        if not self._free_intercept:
            V = -pick(self._gradient, outputs)
            W = pick(self.point, outputs)
            return pick(self._loss, outputs) + np.sum(W * V, axis=0), V
        sums = pick(self._sums, outputs)
        light = sums.min(axis=0)
        scale = np.divide(light, sums, out=np.ones_like(sums), where=sums > light)
        value, V = self._sum("dual", scale, outputs)
        return value, V

    def lower_bound(self, outputs: Outputs = None) -> np.ndarray:
        """Lower bound (n_outputs,) of the optimum, for a penalty > 0 on the features.

        ``dual value - sum_j V_j^2 / (2 p_j)``. Without a free intercept that is the
        objective less ``sum_j gradient_j^2 / (2 p_j)``.
        """
        value, V = self.dual_point(outputs)
        covered = self.penalty[:, 0] > 0.0
        return value - np.sum(V[covered] ** 2 / (2.0 * self.penalty[covered]), axis=0)

    def _penalty_of(self, W: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(self.penalty * W * W, axis=0)

    def _sum(self, method: str, *args: Any) -> tuple[Any, ...]:
        """Call a method of every block and add up the results, in their order."""
        results = self._call(method, args)
        total = next(results)
        for part in results:
            for array, more in zip(total, part, strict=True):
                array += more
        return total

    def _call(self, method: str, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        calls = deque(getattr(block, method) for block in self.blocks)
        with one_blas_thread():
            if self.n_threads == 1:
                for call in calls:
                    yield call(*args)
                return
            running: deque[Future[tuple[Any, ...]]] = deque()
            try:
                while calls or running:
                    # one more than there are threads: bounds the memory of results
                    while calls and len(running) <= self.n_threads:
                        running.append(self._threads().submit(calls.popleft(), *args))
                    yield running.popleft().result()
            finally:
                for future in running:
                    future.cancel()
                wait(running)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pool[0] != os.getpid():  # a fork has no threads
            self._pool = os.getpid(), ThreadPoolExecutor(self.n_threads)
        return self._pool[1]


def _cuts(rows: Rows, n_outputs: int, n_blocks: int | None) -> np.ndarray:
    """Where blocks begin and end: even work, at least half a millisecond each.

    All partial sums together, n_features x n_outputs each, stay below a quarter of
    the data, so that adding them up costs little time and memory.
    """
    n_rows, n_features = rows.shape
    if isinstance(rows, CsrRows):
        ends = rows.ptr.astype(np.int64) + np.arange(n_rows + 1)
        work, size = len(rows.data), len(rows.data) * (rows.data.itemsize + 4)
    else:
        ends = np.arange(n_rows + 1)
        work, size = rows.size // 4, rows.nbytes
    if n_blocks is None:
        partial = 32 * n_features * n_outputs
        n_blocks = min(work * n_outputs // _BLOCK_WORK, size // max(partial, 1))
        n_blocks = min(n_blocks, _MAX_BLOCKS)
    edges = np.linspace(0, ends[-1], max(n_blocks, 1) + 1)
    return np.unique(np.searchsorted(ends, edges))
