"""Problems of the `svc` suite, with the least ratios that they are to reach."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from benchmarks.competitors import PEERS, SKLEARN, SKLEARNEX
from benchmarks.datasets import Dataset, files
from benchmarks.datasets.generated import clusters, gaussians


@dataclass(frozen=True)
class Case:
    """One problem: data, C, gamma."""

    name: str
    load: Callable[[], Dataset]
    C: float
    gamma: float
    rounds: int = 5
    quick: bool = False
    # peer -> peer's CPU seconds / ours, one thread, at least
    targets: Mapping[str, float] = field(default_factory=dict)
    # short fits are repeated until one sample takes this many seconds
    sample_seconds: float = 0.0
    peers: tuple[str, ...] = PEERS


def _targets(sklearn: float, sklearnex: float | None = None) -> dict[str, float]:
    targets = {SKLEARN: sklearn}
    if sklearnex is not None:
        targets[SKLEARNEX] = sklearnex
    return targets


GENERATORS = {"make_classification": clusters, "Gaussians": gaussians}


def _generated() -> list[Case]:
    cases = []
    for title, generate in GENERATORS.items():
        for C, rounds, targets in (
            (1.0, 5, _targets(8, 4.5)),
            (100.0, 3, _targets(4, 5)),
        ):
            cases.append(
                Case(
                    f"{title} 20000x20",
                    partial(generate, 20_000, 20),
                    C,
                    1 / 20,
                    rounds,
                    targets=targets,
                )
            )
        for C in (1.0, 100.0):
            cases.append(
                Case(
                    f"{title} 5000x50",
                    partial(generate, 5_000, 50),
                    C,
                    1 / 50,
                    quick=C == 1.0,
                    targets=_targets(5, 5),
                )
            )
    return cases


def _public() -> list[Case]:
    cases = [
        Case(
            "ijcnn1.val 14990x22",
            files.ijcnn1,
            C,
            1.0,
            quick=C == 100.0,
            targets=_targets(3, 8),
        )
        for C in (1.0, 100.0, 1e4)
    ]
    cases += [
        Case(
            "letter 15000x16, 26 classes",
            files.letter,
            C,
            1.0,
            rounds=3,
            targets=_targets(4),
        )
        for C in (1.0, 100.0)
    ]
    cases += [
        Case("usps 7291x256, 10 classes", files.usps, 1.0, 1 / 128),
        Case("digits 1797x64, 10 classes", files.digits, 1.0, 0.05, quick=True),
        Case("a9a 16000x123, CSR", files.a9a, 1.0, 4 / 123),
        Case("a9a 16000x123, dense", files.a9a_dense, 1.0, 4 / 123),
        Case("shuttle 58000x9", files.shuttle, 1.0, 1 / 9),
        Case("shuttle 58000x9", files.shuttle, 100.0, 1 / 9),
    ]
    return cases


def _small() -> list[Case]:
    return [
        Case(
            f"make_classification {n}x10",
            partial(clusters, n, 10),
            C,
            1 / 10,
            rounds=15,
            quick=True,
            targets=_targets(2),
            sample_seconds=0.03,
        )
        for n in (100, 200, 500)
        for C in (1.0, 100.0)
    ]


def cases() -> list[Case]:
    """All cases, those of many rows first."""
    return [*_generated(), *_public(), *_small()]


def large_cases() -> list[Case]:
    """100,000 rows: ours alone in a fresh process, unless the peers are asked for."""
    return [
        Case(
            f"{title} 100000x20", partial(generate, 100_000, 20), 1.0, 1 / 20, rounds=1
        )
        for title, generate in GENERATORS.items()
    ]
