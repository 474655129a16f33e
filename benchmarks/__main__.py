"""``python -m benchmarks [SUITE ...] [--quick]``: measure, print, write tables."""

import argparse
import os
import sys
from pathlib import Path

# OpenBLAS reads these once, when it is loaded; they force a kernel that this CPU
# would not choose by itself. A measurement with them would describe no user's machine.
FORCED_BLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
RESULTS = Path(__file__).parent / "results"


def start_clean() -> None:
    """Start again without the variables above, once, for all sides alike."""
    found = [name for name in FORCED_BLAS if name in os.environ]
    if not found:
        return
    print(f"starting again without {', '.join(found)}", file=sys.stderr, flush=True)
    environment = {k: v for k, v in os.environ.items() if k not in FORCED_BLAS}
    os.execve(sys.executable, sys.orig_argv, environment)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    from benchmarks.suites import SUITES

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure widemargin against its peers, interleaved, in CPU seconds",
    )
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE",
        help=f"which of {', '.join(SUITES)}; all if none is named",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="small cases only, below two minutes"
    )
    parser.add_argument("--only", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="rounds of every case (default: its own)",
    )
    parser.add_argument(
        "--all-peers", action="store_true",
        help="fit the peers to 100,000 rows too; takes minutes",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="where SUITE.md and SUITE.json go; by default benchmarks/results for a "
        "full run, and nowhere for --quick, --only or --rounds",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"no suite {name!r}; there are {', '.join(SUITES)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds must be >= 1, got {options.rounds}")
    options.suites = options.suites or list(SUITES)
    full = not (options.quick or options.only or options.rounds)
    if options.output is None and full:
        options.output = RESULTS
    return options


def main() -> int:
    """Run the suites one after the other."""
    start_clean()
    options = parse()
    from benchmarks.environment import Environment
    from benchmarks.report import say
    from benchmarks.suites import SUITES, Options

    chosen = Options(options.quick, options.only, options.rounds, options.all_peers)
    failed = 0
    for name in options.suites:
        say(f"== {name}")
        before = Environment.now()
        report = SUITES[name]().run(chosen)
        environment = before.until_now()
        print(report.text(environment), flush=True)
        failed += report.n_failed
        if options.output is not None:
            report.write(options.output, name, environment)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; suites that were not finished left no table")
