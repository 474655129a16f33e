"""``widemargin demo``: what the library does, on data that everybody has.

Each act is a function that prints; a later act joins the list at the end.
"""

import time
from typing import Any

import numpy as np

from widemargin.app import console, words
from widemargin.app.training import certificate_of

_GRID = {
    "learner__C": [0.1, 1.0, 10.0, 100.0],
    "learner__gamma": [0.001, 0.003, 0.01, 0.03, 0.1],
}
_FOLDS = 5
_REFITS = 30


def breast_cancer() -> None:
    """Act one: the same search with two solvers, and a certificate with ours."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC as PeerSVC

    from widemargin import SVC

    X, y = load_breast_cancer(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=y, random_state=0
    )
    pairs = len(_GRID["learner__C"]) * len(_GRID["learner__gamma"])
    console.out(f"Breast cancer: {len(y)} tumours, {X.shape[1]} measurements of each.")
    console.out(
        f"The same grid search ({pairs} pairs of C and gamma, {_FOLDS} folds) with the "
        "solver of"
    )
    console.out(f"each library, on {len(train)} of them; the others are the test:")
    console.out()

    def search(learner: Any) -> tuple[Any, float]:
        steps = [("scale", StandardScaler()), ("learner", learner)]
        start = time.perf_counter()
        found = GridSearchCV(Pipeline(steps), _GRID, cv=_FOLDS).fit(X[train], y[train])
        return found, time.perf_counter() - start

    search(SVC())  # compiles, once ever
    ours, our_time = search(SVC())
    peer, peer_time = search(PeerSVC())
    mine, theirs = _one_fit(ours, peer, X[train], y[train])
    console.out(f"{'':16}{'C':<6}{'gamma':<8}{'test right':<14}{'search':<9}last fit")
    for name, found, took, fit in (
        ("widemargin", ours, our_time, mine),
        ("scikit-learn", peer, peer_time, theirs),
    ):
        best = found.best_params_
        right = f"{np.sum(found.predict(X[test]) == y[test])} of {len(test)}"
        console.out(
            f"  {name:<14}{best['learner__C']:<6g}{best['learner__gamma']:<8g}"
            f"{right:<14}{words.seconds(took):<9}{1000 * fit:.2f} ms"
        )
    console.out()
    same = ours.best_params_ == peer.best_params_
    agree = bool(np.array_equal(ours.predict(X), peer.predict(X)))
    console.out(
        f"{'The same' if same else 'Another'} choice, "
        f"{'the same' if agree else 'nearly the same'} predictions; one fit of "
        "widemargin is"
    )
    console.out(f"{words.speed(mine, theirs)} one of scikit-learn. (A search on so few")
    console.out("rows is mostly copying, scaling and scoring.)")
    low, high = words.wilson(int(np.sum(ours.predict(X[test]) == y[test])), len(test))
    console.out(
        f"Of new tumours {words.percent(low)} to {words.percent(high)} would be right "
        "(95% interval)."
    )
    console.out()
    console.out("What only widemargin adds is a certificate with the fit:")
    for sentence in words.certificate(certificate_of(ours.best_estimator_[-1])):
        console.out(f"  {sentence}")


def _one_fit(ours: Any, peer: Any, X: Any, y: Any) -> tuple[float, float]:
    """Median seconds of the chosen learners' fits, one after the other."""
    scaled = ours.best_estimator_[:-1].transform(X)
    learners = [found.best_estimator_[-1] for found in (ours, peer)]
    took: list[list[float]] = [[], []]
    for _ in range(_REFITS):
        for learner, times in zip(learners, took, strict=True):
            start = time.perf_counter()
            learner.fit(scaled, y)
            times.append(time.perf_counter() - start)
    return float(np.median(took[0])), float(np.median(took[1]))


def chess_board() -> None:
    """Act two: one scale for each feature, found by leave-one-out without refitting."""
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC
    from widemargin.datasets import make_checkerboard
    from widemargin.model_selection import Log, MarginSearchCV

    n, useless = 600, 8
    X, y = make_checkerboard(n, n_noise_features=useless, random_state=0)
    new, labels = make_checkerboard(5000, n_noise_features=useless, random_state=1)
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    console.out(
        f"A 4 x 4 chess board: {n} points, the colour of their square is to be learned"
    )
    console.out(f"from 2 coordinates, among {useless} columns that say nothing.")
    console.out()
    console.out(f"{'':26}{'settings':<10}{'right on 5,000 new':<20}seconds")
    searches = {
        "one gamma": {"C": Log(2**-5, 2**15), "gamma": Log(2**-15, 2**3)},
        "a gamma for each column": {
            "C": Log(2**-5, 2**15),
            "gamma": Log(2**-15, 2**6, per_feature=True),
        },
    }
    for name, space in searches.items():
        start = time.perf_counter()
        found = MarginSearchCV(SVC(), space, random_state=0).fit(X, y)
        took = time.perf_counter() - start
        right = words.percent(float(np.mean(found.predict(new) == labels)))
        tried = len(found.cv_results_["params"])
        console.out(f"  {name:<24}{tried:<10}{right:<20}{words.seconds(took)}")
    scales = found.best_params_["gamma"]
    first, second = np.argsort(-scales)[:2]
    rest = np.delete(scales, [first, second]).max()
    console.out()
    console.out(
        "Each setting took one fit: its leave-one-out error comes from the fit itself."
    )
    console.out(
        f"The columns that matter: {min(first, second) + 1} and "
        f"{max(first, second) + 1}, with scales {scales[first]:.2g} and "
        f"{scales[second]:.2g}; the largest"
    )
    console.out(f"of the others is {rest:.2g}.")


ACTS = [breast_cancer, chess_board]


def run() -> None:
    """Play all acts."""
    for number, act in enumerate(ACTS):
        if number:
            console.out()
        act()
