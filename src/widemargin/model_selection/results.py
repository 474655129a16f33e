"""What a search publishes about its settings."""

from typing import Any

import numpy as np

from widemargin.model_selection.run import Record


def cv_results(records: list[Record], n_folds: int) -> dict[str, Any]:
    """Columns of all settings, as scikit-learn's searches have them."""
    names = list(records[0].params)
    results: dict[str, Any] = {"params": [dict(r.params) for r in records]}
    for name in names:
        column = np.empty(len(records), object)
        column[:] = [r.params[name] for r in records]
        results[f"param_{name}"] = column
    scores = np.array([r.outcome.score for r in records])
    if n_folds:
        folds = np.full((len(records), n_folds), np.nan)
        for row, record in zip(folds, records, strict=True):
            if record.outcome.status != "failed":
                row[:] = record.outcome.folds
        for k in range(n_folds):
            results[f"split{k}_test_score"] = folds[:, k]
        results["std_test_score"] = folds.std(axis=1)
    results["mean_test_score"] = scores
    results["rank_test_score"] = _ranks([r.outcome.told for r in records])
    results["fit_time"] = np.array([r.outcome.seconds for r in records])
    results["n_fits"] = np.array([r.outcome.n_fits for r in records])
    results["status"] = np.array([r.outcome.status for r in records])
    results["error"] = np.array([r.outcome.error for r in records])
    return results


def _ranks(values: list[float]) -> np.ndarray:
    """1 for the least value; equal values share a rank."""
    order = np.unique(np.array(values))
    return (np.searchsorted(order, values) + 1).astype(np.int32)


def history(records: list[Record], best_so_far: list[float]) -> dict[str, np.ndarray]:
    """The course of the search: one entry for each setting."""
    return {
        "batch": np.array([r.batch for r in records]),
        "score": np.array([r.outcome.score for r in records]),
        "best_score": np.array(best_so_far),
        "seconds": np.cumsum([r.outcome.seconds for r in records]),
    }


def best_scores(records: list[Record]) -> list[float]:
    """The score of the best setting up to each one."""
    best, score, found = np.inf, np.nan, []
    for record in records:
        if record.outcome.told < best:
            best, score = record.outcome.told, record.outcome.score
        found.append(score)
    return found
