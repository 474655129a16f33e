"""Memory of a fit over its data, against what `cache_size` promises."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

from benchmarks.datasets import Dataset
from benchmarks.datasets.generated import clusters, gaussians
from benchmarks.processes import compile_all, fit_alone
from benchmarks.report import Report, Table, at_most, say, seconds
from benchmarks.suites import Options

# What a fit may take beside `cache_size` and the data, MB.
ALLOWANCE = 200

NOTES = [
    "Every fit in a fresh process. 'over data' is the largest resident size during the "
    "fit less the size just before it: samples, Python and 'library' (what a first fit "
    "of 200 rows loads, Numba and compiled kernels) are not in it.",
    f"At most cache_size + {ALLOWANCE} MB. MB are 2^20 bytes; gamma=1/d, one thread.",
]


@dataclass(frozen=True)
class Case:
    """One fit."""

    title: str
    load: Callable[[], Dataset]
    C: float
    cache_size: float
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.title}, C={self.C:g}, cache_size={self.cache_size:g}"


def _cases() -> list[Case]:
    found = []
    for n, limits in ((20_000, (1024.0, 50.0)), (50_000, (1024.0, 50.0))):
        for cache_size in limits:
            found.append(
                Case(
                    f"make_classification {n}x20",
                    partial(clusters, n, 20),
                    1.0,
                    cache_size,
                    quick=n == 20_000,
                )
            )
    # nearly all support vectors free: the largest working sets
    found.append(
        Case("Gaussians 20000x20", partial(gaussians, 20_000, 20), 100.0, 1024.0)
    )
    # a matrix in memory
    found.append(
        Case("make_classification 5000x50", partial(clusters, 5_000, 50), 1.0, 1024.0)
    )
    return found


def run(options: Options) -> Report:
    """Fit and look."""
    report = Report("Memory of a fit", list(NOTES))
    table = Table(
        "Peak resident size, MB",
        ["case", "C", "cache_size", "data", "library", "over data", "at most", "wall"],
    )  # fmt: skip
    report.tables.append(table)
    compile_all()
    for case in _cases():
        if not options.wants(case.name, case.quick):
            continue
        say(f"  {case.name}")
        data = case.load()
        try:
            found = fit_alone(
                data, case.C, 1 / data.X.shape[1], cache_size=case.cache_size
            )
        except RuntimeError as error:
            report.fail(f"{case.name} failed: {error}")
            continue
        table.add(
            case.title, f"{case.C:g}", f"{case.cache_size:g}", f"{found.data:.1f}",
            f"{found.library:.0f}", f"{found.over_data:.0f}",
            at_most(case.cache_size + ALLOWANCE, found.over_data), seconds(found.wall),
        )  # fmt: skip
        report.records.append({"case": case.name, **asdict(found)})
    return report
