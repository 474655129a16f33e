"""Where the margin runs: one picture of a kernel SVC and its support vectors.

What to see: the line of decision 0 and the two margins at -1 and +1. Only ringed
points matter for the result; those between the margins are at the bound C and pay for
it. The title says how far from the optimum the fit may be.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import SVC


def main(path: str) -> None:
    """Fit, draw, and write the picture to `path`."""
    X, y = make_moons(200, noise=0.25, random_state=0)
    model = SVC(C=10.0, gamma=1.0).fit(X, y)

    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(
        np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 300)
    )
    decision = model.decision_function(np.c_[across.ravel(), up.ravel()])
    decision = decision.reshape(across.shape)

    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    axes.contourf(
        across, up, decision, levels=[-np.inf, -1, 0, 1, np.inf],
        colors=["#9ecae1", "#deebf7", "#fee6ce", "#fdae6b"],
    )  # fmt: skip
    lines = axes.contour(
        across, up, decision, levels=[-1, 0, 1], colors="#333333",
        linestyles=["--", "-", "--"], linewidths=1.2,
    )  # fmt: skip
    axes.clabel(lines, fmt={-1: "-1", 0: "0", 1: "+1"}, fontsize=8)
    for label, colour, marker in ((0, "#08519c", "o"), (1, "#a63603", "s")):
        axes.scatter(*X[y == label].T, c=colour, marker=marker, s=18, label=str(label))
    axes.scatter(
        *X[model.support_].T, s=70, facecolors="none", edgecolors="#333333",
        linewidths=0.8, label="support vectors",
    )  # fmt: skip
    axes.set_title(
        f"{len(model.support_)} support vectors of {len(X)} points; objective within "
        f"{model.dual_gap_:.1e} of the optimum",
        fontsize=10,
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(loc="lower left", fontsize=8, framealpha=0.9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "svc_margin.png")
