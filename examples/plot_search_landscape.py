"""What a search walks over: the leave-one-out error for every C and gamma.

What to see: the background took 441 fits, the search at most 66. Dots are the settings
it tried, dark ones first; they gather in the valley, and the cross is the setting it
kept. Errors are whole rows, so that the valley is a terrace with many equal settings:
the search tells them apart by a little of the log-loss. The grey region is useless:
one class is predicted for all rows, or no support vector is free.
"""

import sys
from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.datasets import make_checkerboard
from widemargin.model_selection import MarginSearchCV

LEVELS = 21


def main(path: str) -> None:
    """Search, try every setting of a grid, and write the picture to `path`."""
    X, y = make_checkerboard(400, random_state=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    search = MarginSearchCV(SVC()).fit(X, y)

    # a grid is a search too, with the same box and the same estimate
    grid = MarginSearchCV(SVC(), search="grid", budget=LEVELS**2, refit=False).fit(X, y)
    results = grid.cv_results_
    error = np.where(results["status"] == "ok", -results["mean_test_score"], np.nan)
    C = np.unique(results["param_C"].astype(float))
    gamma = np.unique(results["param_gamma"].astype(float))
    places = {pair: k for k, pair in enumerate(product(C, gamma))}
    order = [
        places[pair]
        for pair in zip(results["param_C"], results["param_gamma"], strict=True)
    ]
    landscape = np.empty(LEVELS**2)
    landscape[order] = 100 * error

    figure, axes = plt.subplots(figsize=(7, 4.8), layout="constrained")
    axes.set_facecolor("#bbbbbb")
    mesh = axes.pcolormesh(
        np.log2(C), np.log2(gamma), landscape.reshape(LEVELS, LEVELS).T,
        cmap="YlGnBu_r", shading="nearest", vmax=50,
    )  # fmt: skip
    figure.colorbar(mesh, label="leave-one-out error, %", extend="max")
    tried = search.cv_results_
    axes.scatter(
        np.log2(tried["param_C"].astype(float)),
        np.log2(tried["param_gamma"].astype(float)),
        c=search.history_["batch"], cmap="inferno", s=26, edgecolors="white",
        linewidths=0.5, label=f"{len(tried['params'])} settings tried",
    )  # fmt: skip
    best = search.best_params_
    axes.plot(
        np.log2(best["C"]), np.log2(best["gamma"]), "x", color="#d7191c", ms=12, mew=3,
        label=f"kept: {-100 * search.best_score_:.1f} %",
    )  # fmt: skip
    axes.set_xlabel("log2 C")
    axes.set_ylabel("log2 gamma")
    axes.set_title(
        f"Checkerboard, {len(X)} rows: best of {LEVELS}x{LEVELS} settings "
        f"{np.nanmin(landscape):.1f} %",
        fontsize=10,
    )
    axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "search_landscape.png")
