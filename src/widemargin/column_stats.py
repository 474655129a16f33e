"""Weighted statistics of the columns of dense or CSR rows."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin.rows import CsrRows, Rows, read_only, row_chunks


class ColumnStats(NamedTuple):
    """Statistics of the columns, each of shape (n_features,)."""

    mean: np.ndarray
    variance: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray


@kernel
def _column_stats_sparse(data, ind, ptr, weight, mean, variance, low, high):
    """Weighted statistics of columns; low and high start at inf and -inf."""
    seen, stored = np.zeros_like(mean), np.zeros(mean.shape[0], np.int64)
    total, n_live = 0.0, 0
    for i in range(weight.shape[0]):
        if weight[i] > 0.0:
            total += weight[i]
            n_live += 1
            for p in range(ptr[i], ptr[i + 1]):
                x, j = data[p], ind[p]
                mean[j] += weight[i] * x
                seen[j] += weight[i]
                stored[j] += 1
                low[j] = min(low[j], x)
                high[j] = max(high[j], x)
    for j in range(mean.shape[0]):
        mean[j] /= total
        if stored[j] < n_live:  # zeros that are not stored
            low[j], high[j] = min(low[j], 0.0), max(high[j], 0.0)
            variance[j] = (total - seen[j]) * mean[j] ** 2
    for i in range(weight.shape[0]):
        if weight[i] > 0.0:
            for p in range(ptr[i], ptr[i + 1]):
                variance[ind[p]] += weight[i] * (data[p] - mean[ind[p]]) ** 2
    for j in range(mean.shape[0]):
        variance[j] /= total


def column_stats(rows: Rows, weight: np.ndarray | None = None) -> ColumnStats:
    """Weighted mean, variance (divided by the sum of weights), minimum and maximum.

    A row of weight k counts as k rows, a row of weight 0 as none; some weight must be
    positive. The variance takes a second pass, so that it does not cancel.
    """
    n_rows, n_features = rows.shape
    weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
    mean, variance = np.zeros(n_features), np.zeros(n_features)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    stats = ColumnStats(mean, variance, low, high)
    if isinstance(rows, CsrRows):
        _column_stats_sparse(*rows[:3], read_only(weight), *stats)
        return stats
    total = weight.sum()
    for part, chunk in row_chunks(rows):
        mean += weight[part] @ chunk
        live = chunk[weight[part] > 0.0]
        np.minimum(low, live.min(axis=0, initial=np.inf), out=low)
        np.maximum(high, live.max(axis=0, initial=-np.inf), out=high)
    mean /= total
    for part, chunk in row_chunks(rows):
        variance += weight[part] @ np.square(chunk - mean)
    variance /= total
    return stats
