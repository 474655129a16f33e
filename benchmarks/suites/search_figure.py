"""Draws docs/images/search_cost.png from the table of the suite `search`.

    python -m benchmarks.suites.search_figure [JSON [PNG]]

Nearly level lines say that the error hardly depends on the search; how far they reach
to the left says what the search costs.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.competitors.searches import BFGS, GRID, SPAN
from benchmarks.suites.search_cases import EIGHT

ROOT = Path(__file__).parents[2]
# The searches that saw all splits: errors of others cannot be compared.
STYLES = {
    GRID: ("#555555", "s"),
    SPAN: ("#d7191c", "o"),
    BFGS: ("#fdae61", "D"),
}
# Names, in points above their marks, that would touch each other.
SHIFTS = {"banana": 2, "waveform": -10}


def main(source: Path, path: Path) -> None:
    """Mean CPU seconds and test error of every search on every set."""
    records = json.loads(source.read_text(encoding="utf-8"))["records"]
    mine = [record for record in records if record["group"] == EIGHT]
    figure, axes = plt.subplots(figsize=(7.4, 4.8), layout="constrained")
    for case in dict.fromkeys(record["case"] for record in mine):
        places = []
        for search in STYLES:
            runs = [r for r in mine if r["case"] == case and r["search"] == search]
            if not runs:
                continue
            cpu = np.mean([run["cpu_seconds"] for run in runs])
            places.append((cpu, np.mean([run["test_error"] for run in runs]), search))
        places.sort()
        axes.plot(*zip(*[p[:2] for p in places], strict=True), color="#bbbbbb", lw=1)
        for cpu, error, search in places:
            colour, marker = STYLES[search]
            axes.plot(cpu, error, marker, color=colour, ms=7)
        cpu, error, _ = places[-1]
        axes.annotate(
            case, (cpu, error), xytext=(8, SHIFTS.get(case, -3)),
            textcoords="offset points", fontsize=9,
        )  # fmt: skip
    for search in reversed(STYLES):
        colour, marker = STYLES[search]
        axes.plot([], [], marker, color=colour, ms=7, label=search)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 2.5)  # room for the names
    axes.set_ylim(bottom=0)
    axes.set_xlabel("CPU seconds of one search")
    axes.set_ylabel("test error, %")
    figure.legend(loc="outside upper center", ncols=len(STYLES), fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:3]]
    defaults = [
        ROOT / "benchmarks" / "results" / "search.json",
        ROOT / "docs" / "images" / "search_cost.png",
    ]
    main(*[*given, *defaults[len(given) :]])
