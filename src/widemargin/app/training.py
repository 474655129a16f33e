"""The main job: from a table to a fitted, examined and certified model."""

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.app import words
from widemargin.app.errors import AppError
from widemargin.app.labels import Labels, find_labels, target_column
from widemargin.app.learners import LEARNERS, Learner
from widemargin.app.models import Model
from widemargin.app.preparing import (
    as_columns,
    feature_matrix,
    is_dense,
    make_pipeline,
    plan_features,
)
from widemargin.app.tables import Table

# Above this a kernel learner's time is foretold and a decision asked for.
KERNEL_ROWS = 50_000
# Subsets the time is foretold from.
_TRIAL_ROWS = (2_000, 6_000)

Say = Callable[[str], None]


@dataclass
class Request:
    """What a user asks `fit` for."""

    learner: Learner
    settings: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    drop: list[str] = field(default_factory=list)
    holdout: float = 0.25
    sample: int | None = None
    seed: int = 0
    jobs: int | None = None


def fit_table(table: Table, request: Request, say: Say) -> Model:
    """Learn from a table: hold-out first, then the model on all rows."""
    column = target_column(table, request.target)
    labels = find_labels(table, column)
    notes = _unlabelled(table, column.name, labels)
    if table.features is not None and is_dense(table):
        table = as_columns(table)
    plan = plan_features(table, column.name, request.drop)
    labels, sampled = _sampled(labels, request)
    table = table.take(labels.rows)
    counts = {name: int(table.column(name).missing().sum()) for name in plan.names}
    plan.missing = {name: count for name, count in counts.items() if count}
    X, y = feature_matrix(plan, table), labels.values
    if request.holdout:
        _check_holdout(y, labels, request)
    settings = _class_weights(request.settings, labels)

    def pipeline() -> Any:
        learner = request.learner.make(settings, jobs=request.jobs, seed=request.seed)
        return make_pipeline(plan, table, learner)

    warming = _warmed(pipeline, X, y)
    if request.learner.kernel and len(y) > KERNEL_ROWS and request.sample is None:
        _ask_for_sample(pipeline, X, y, labels, say)
    held, split_seconds = None, 0.0
    if request.holdout:
        say(f"fitting on {1 - request.holdout:.0%} of the rows")
        start = time.perf_counter()
        held = _hold_out(pipeline(), X, y, labels, request)
        split_seconds = time.perf_counter() - start
    say("fitting on all rows" if held else "fitting")
    start = time.perf_counter()
    final = _fitted(pipeline(), X, y)
    fit_seconds = time.perf_counter() - start
    facts = {
        "learner": request.learner.name,
        "settings": _plain(final[-1].get_params(deep=False)),
        "chosen": _plain(request.settings),
        "source": table.source,
        "read_as": table.how,
        "notes": notes + plan.notes,
        "rows": len(y),
        "sampled_from": sampled,
        "features": int(final[-1].n_features_in_),
        "class_counts": labels.counts,
        "holdout": held,
        "certificate": certificate_of(final[-1]),
        "start_seconds": warming,
        "fit_seconds": fit_seconds,
        "holdout_seconds": split_seconds,
        "seed": request.seed,
    }
    return Model(
        pipeline=final,
        plan=plan,
        target=labels.name,
        classes=labels.classes,
        spellings=labels.spellings,
        facts=facts,
    )


def _unlabelled(table: Table, name: str, labels: Labels) -> list[str]:
    lost = table.n_rows - len(labels.rows)
    if not lost:
        return []
    gone = np.setdiff1d(np.arange(table.n_rows), labels.rows)
    return [
        f"{words.plural(lost, 'row')} without a value of '{name}' left out "
        f"(first: {table.where(gone[0])})"
    ]


def _sampled(labels: Labels, request: Request) -> tuple[Labels, int | None]:
    total = len(labels.rows)
    if request.sample is None or request.sample >= total:
        return labels, None
    if request.sample < 2 * len(labels.classes):
        raise AppError(
            f"--sample {request.sample} is too few for {len(labels.classes)} classes; "
            f"take {2 * len(labels.classes)} or more"
        )
    chosen = stratified_rows(labels.values, request.sample, request.seed)
    values = labels.values[chosen]
    counts = np.unique(values, return_counts=True)[1].tolist()
    taken = Labels(
        labels.name,
        labels.rows[chosen],
        values,
        labels.classes,
        labels.spellings,
        counts,
    )
    return taken, total


def stratified_rows(y: npt.NDArray[Any], size: int, seed: int) -> npt.NDArray[np.intp]:
    """`size` rows (about), classes in proportion but at least two rows of each."""
    rng = np.random.default_rng(seed)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    share = np.maximum(2, np.round(counts * (size / len(y)))).astype(int)
    rows = [
        rng.choice(np.flatnonzero(codes == code), min(k, n), replace=False)
        for code, (k, n) in enumerate(zip(share, counts, strict=True))
    ]
    return np.sort(np.concatenate(rows)).astype(np.intp)


def _class_weights(settings: dict[str, Any], labels: Labels) -> dict[str, Any]:
    """``--set class_weight={"yes": 2}`` names classes as the file spells them."""
    given = settings.get("class_weight")
    if not isinstance(given, dict):
        return settings
    known = dict(zip(labels.spellings, labels.classes, strict=True))
    known |= {str(value): value for value in labels.classes}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise AppError(
            f"--set class_weight: there is no class '{unknown[0]}'; "
            f"there are {', '.join(labels.spellings)}"
        )
    return {**settings, "class_weight": {known[k]: v for k, v in given.items()}}


def _fitted(pipeline: Any, X: Any, y: npt.NDArray[Any]) -> Any:
    try:
        return pipeline.fit(X, y)
    except (ValueError, TypeError) as error:
        # The checks of a learner's parameters; its own words name the value.
        if type(error) not in (ValueError, TypeError):
            raise
        raise AppError(str(error).splitlines()[0]) from error


def _warmed(pipeline: Callable[[], Any], X: Any, y: npt.NDArray[Any]) -> float:
    """Load or compile what the fits run on, so that their times are their own."""
    start = time.perf_counter()
    rows = stratified_rows(y, 60, seed=0)
    # What is wrong here will be said by the real fits, if it is wrong there.
    with warnings.catch_warnings(), suppress(AppError):
        warnings.simplefilter("ignore")
        _fitted(pipeline(), X[rows], y[rows]).predict(X[rows])
    return time.perf_counter() - start


def _ask_for_sample(
    pipeline: Callable[[], Any],
    X: Any,
    y: npt.NDArray[Any],
    labels: Labels,
    say: Say,
) -> None:
    say("more than 50,000 rows: measuring how long a fit would take")
    took: list[float] = []
    # The largest first, untimed: beyond memory other code may have to be compiled.
    for size in (_TRIAL_ROWS[-1], *_TRIAL_ROWS):
        rows = stratified_rows(y, size, seed=0)
        trial = pipeline()
        start = time.perf_counter()
        trial.fit(X[rows], y[rows])
        took.append(time.perf_counter() - start)
    growth = np.log(took[2] / took[1]) / np.log(_TRIAL_ROWS[1] / _TRIAL_ROWS[0])
    # Kernel machines need between n and n^3 steps of work; small subsets are too
    # noisy to be believed outside of what is usual.
    growth = float(np.clip(growth, 1.5, 2.5))
    total = took[2] * (len(y) / _TRIAL_ROWS[1]) ** growth
    linear = [name for name, learner in LEARNERS.items() if not learner.kernel]
    other = f", or learn a linear model with --learner {linear[0]}" if linear else ""
    raise AppError(
        f"{len(y):,} rows: one fit of a kernel model would take about "
        f"{words.seconds(total)} (foretold from {_TRIAL_ROWS[0]:,} and "
        f"{_TRIAL_ROWS[1]:,} rows); take part of them with --sample 20000{other}, or "
        f"say --sample {len(y)} to go on with all"
    )


def _check_holdout(y: npt.NDArray[Any], labels: Labels, request: Request) -> None:
    n_held = int(np.ceil(request.holdout * len(y)))
    if n_held < len(labels.classes):
        least = len(labels.classes) / len(y)
        enough = np.ceil(100 * least) / 100
        raise AppError(
            f"--holdout {request.holdout:g} of {words.plural(len(y), 'row')} is "
            f"{words.plural(n_held, 'row')}, fewer than the {len(labels.classes)} "
            f"classes; "
            + (
                f"hold out {enough:.2f} or more, or nothing with --holdout 0"
                if enough <= 0.5
                else "there are too few rows; hold out nothing with --holdout 0"
            )
        )


def _hold_out(
    pipeline: Any, X: Any, y: npt.NDArray[Any], labels: Labels, request: Request
) -> dict[str, Any]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(y)),
        test_size=request.holdout,
        stratify=y,
        random_state=request.seed,
    )
    _fitted(pipeline, X[train], y[train])
    predicted = pipeline.predict(X[test])
    scores = score(y[test], predicted, labels.classes)
    values, counts = np.unique(y[train], return_counts=True)
    commonest = values[np.argmax(counts)]
    return {
        **scores,
        "fraction": request.holdout,
        "train_rows": len(train),
        "baseline": float(np.mean(y[test] == commonest)),
        "baseline_class": labels.spell(np.array([commonest]))[0],
        "certificate": certificate_of(pipeline[-1]),
    }


def score(
    y: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: list[Any]
) -> dict[str, Any]:
    """Accuracy with its interval, balanced accuracy, and the confusion matrix."""
    from sklearn.metrics import confusion_matrix

    right, total = int(np.sum(y == predicted)), len(y)
    low, high = words.wilson(right, total)
    confusion = confusion_matrix(y, predicted, labels=np.array(classes))
    present = confusion.sum(axis=1) > 0
    recall = np.diag(confusion)[present] / confusion.sum(axis=1)[present]
    return {
        "rows": total,
        "right": right,
        "accuracy": right / total,
        "accuracy_low": low,
        "accuracy_high": high,
        "balanced_accuracy": float(recall.mean()),
        "confusion": confusion.tolist(),
    }


def certificate_of(learner: Any) -> dict[str, Any]:
    """What a fitted learner publishes about its optimality, as plain numbers."""
    gaps = np.atleast_1d(learner.dual_gap_)
    return {
        "dual_gap": float(np.max(gaps)),
        "kkt_gap": float(np.max(learner.kkt_gap_)),
        "converged": bool(learner.converged_),
        "tol": float(learner.tol),
        "pairs": len(gaps),
        "n_iter": int(np.sum(learner.n_iter_)),
        "solver": str(learner.solver_),
        "support_vectors": int(np.sum(learner.n_support_)),
        "objective": np.atleast_1d(learner.objective_).tolist(),
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Settings that JSON can hold."""
    return {
        name: value
        if isinstance(value, str | int | float | bool | list | dict | type(None))
        else str(value)
        for name, value in values.items()
    }
