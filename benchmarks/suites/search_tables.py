"""Tables of the suite `search` from its records, one for each split and search."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.competitors.searches import GRID
from benchmarks.report import Table, at_least, at_most, number
from benchmarks.suites.search_cases import (
    ARD,
    ARD_ERROR,
    ARD_SECONDS,
    EIGHT,
    GROUPS,
    ISOTROPIC_ERROR,
    MAX_LOSS,
    MIN_RATIO,
    PER_FEATURE,
)

Records = list[dict[str, Any]]


class Row(NamedTuple):
    """One search on one set, over its splits."""

    case: str
    search: str
    size: str
    errors: np.ndarray
    loss: float  # points above the grid on the same splits
    n_support: float
    n_fits: float
    cpu: np.ndarray
    grid_cpu: float  # of the grid on the same splits
    edge: int

    @property
    def ratio(self) -> float:
        return self.grid_cpu / self.cpu.mean()


def tables(records: Records) -> list[Table]:
    """The pooled figures first, then a table for each group."""
    rows = {group: _rows(records, group) for group in GROUPS}
    found = [_pooled(rows[EIGHT])]
    for group in GROUPS:
        found.append(_ard(rows[group]) if group == ARD else _group(group, rows[group]))
    return found


def _rows(records: Records, group: str) -> list[Row]:
    mine = [r for r in records if r["group"] == group]
    found = []
    for case in dict.fromkeys(r["case"] for r in mine):
        here = [r for r in mine if r["case"] == case]
        grid = {r["split"]: r for r in here if r["search"] == GRID}
        for search in dict.fromkeys(r["search"] for r in here):
            runs = [r for r in here if r["search"] == search]
            pairs = [(r, grid[r["split"]]) for r in runs if r["split"] in grid]
            found.append(_row(case, search, runs, pairs))
    return found


def _row(case: str, search: str, runs: Records, pairs: list) -> Row:
    def mean(values: Any) -> float:
        values = list(values)
        return float(np.mean(values)) if values else np.nan

    return Row(
        case, search, f"{runs[0]['n_train']} x {runs[0]['n_features']}",
        np.array([r["test_error"] for r in runs]),
        mean(r["test_error"] - g["test_error"] for r, g in pairs),
        mean(r["n_support"] for r in runs), mean(r["n_fits"] for r in runs),
        np.array([r["cpu_seconds"] for r in runs]),
        mean(g["cpu_seconds"] for _, g in pairs), sum(r["edge"] for r in runs),
    )  # fmt: skip


def _error(errors: np.ndarray) -> str:
    spread = f" ± {errors.std(ddof=1):.2f}" if len(errors) > 1 else ""
    return f"{errors.mean():.2f}{spread}"


def _signed(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+.2f}"


def _group(title: str, rows: list[Row]) -> Table:
    table = Table(
        title,
        ["set", "train", "search", "splits", "test error %", "to grid", "SVs", "fits",
         "CPU s", "grid/own CPU", "edge"],
    )  # fmt: skip
    for row in rows:
        first = row.search == GRID
        table.add(
            row.case, row.size, row.search, str(len(row.errors)), _error(row.errors),
            "" if first else _signed(row.loss), f"{row.n_support:.0f}",
            f"{row.n_fits:.0f}", number(row.cpu.mean()),
            "" if first else number(row.ratio, 3), str(row.edge),
        )  # fmt: skip
    return table


def _pooled(rows: list[Row]) -> Table:
    """Means over sets; every set counts the same, whatever its number of splits."""
    n_sets = len({row.case for row in rows})
    table = Table(
        f"Mean over {'the' if n_sets == 8 else f'{n_sets} of the'} eight sets",
        ["search", "test error %", "grid's, same splits", "to grid", "target",
         "worst set", "fits", "CPU s", "grid/own CPU", "target", "least of a set",
         "edge", "target"],
    )  # fmt: skip
    for search in dict.fromkeys(row.search for row in rows):
        mine = [row for row in rows if row.search == search]
        first = search == GRID
        error = float(np.mean([row.errors.mean() for row in mine]))
        loss = float(np.mean([row.loss for row in mine]))
        cpu = float(np.mean([row.cpu.mean() for row in mine]))
        ratio = float(np.mean([row.grid_cpu for row in mine])) / cpu
        worst = max(mine, key=lambda row: row.loss)
        least = min(mine, key=lambda row: row.ratio)
        edge, n_splits = (
            sum(row.edge for row in mine), sum(len(row.errors) for row in mine)
        )  # fmt: skip
        table.add(
            search, f"{error:.2f}", f"{error - loss:.2f}",
            "" if first else _signed(loss), "" if first else at_most(MAX_LOSS, loss),
            "" if first else f"{worst.case} {worst.loss:+.2f}",
            f"{np.mean([row.n_fits for row in mine]):.0f}", number(cpu),
            "" if first else number(ratio, 3),
            "" if first else at_least(MIN_RATIO, ratio),
            "" if first else f"{least.case} {number(least.ratio, 3)}",
            f"{edge} of {n_splits}", "" if first else at_most(0, edge),
        )  # fmt: skip
    return table


def _ard(rows: list[Row]) -> Table:
    table = Table(
        ARD,
        ["search", "splits", "test error %", "least", "most", "target", "SVs", "fits",
         "CPU s", "most", "target", "grid/own CPU", "edge"],
    )  # fmt: skip
    for row in rows:
        scaled = row.search.endswith(PER_FEATURE)
        error, most = float(row.errors.mean()), float(row.cpu.max())
        target = (
            f"< {at_most(ARD_ERROR, error)}"
            if scaled
            else f"> {at_least(ISOTROPIC_ERROR, error)}"
        )
        table.add(
            row.search, str(len(row.errors)), _error(row.errors),
            f"{row.errors.min():.1f}", f"{row.errors.max():.1f}", target,
            f"{row.n_support:.0f}", f"{row.n_fits:.0f}", number(row.cpu.mean()),
            number(most), f"< {at_most(ARD_SECONDS, most)}" if scaled else "-",
            "" if row.search == GRID else number(row.ratio, 3), str(row.edge),
        )  # fmt: skip
    return table
