"""Numbers in words: percentages, intervals, seconds, and what a certificate means."""

import math
from typing import Any


def percent(share: float) -> str:
    """``86.1%``, with as many digits as small shares need."""
    value = 100 * share
    if value == 0 or value >= 1:
        return f"{value:.1f}%"
    if value < 1e-4:
        return "less than 0.0001%"
    return f"{value:.{1 - math.floor(math.log10(value))}f}%"


def seconds(value: float) -> str:
    if value < 0.095:
        return f"{value:.2f} s"
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    if value < 7200:
        return f"{value / 60:.0f} minutes"
    if value < 172_800:
        return f"{value / 3600:.0f} hours"
    return f"{value / 86_400:,.0f} days"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """``1 row``, ``2,345 rows``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share."""
    from scipy.stats import binomtest

    interval = binomtest(right, total).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def certificate(facts: dict[str, Any]) -> list[str]:
    """The certificate of a fit, as sentences."""
    gap, kkt, tol = facts["dual_gap"], facts["kkt_gap"], facts["tol"]
    worst = f", the worst of {facts['pairs']} pairs of classes" * (facts["pairs"] > 1)
    if math.isfinite(gap):
        first = (
            f"the objective is within {percent(max(gap, 0.0))} of the optimum, proven "
            f"(duality gap {gap:.1e}{worst})"
        )
    else:
        first = "no bound on the distance from the optimum is known"
    if facts["converged"]:
        second = f"converged: KKT gap {kkt:.1e}, at most {tol:g} was asked"
    else:
        second = (
            f"not converged: KKT gap {kkt:.1e}, {tol:g} was asked; "
            "try a smaller C, a larger max_iter or a larger tol"
        )
    return [first, second]


def speed(mine: float, other: float) -> str:
    """How two durations compare: ``1.9 times as fast``."""
    if other > 1.05 * mine:
        return f"{other / mine:.1f} times as fast as"
    if mine > 1.05 * other:
        return f"{mine / other:.1f} times slower than"
    return "as fast as"
