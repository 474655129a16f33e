"""Tables: padded Markdown, which reads well in a terminal too, and JSON beside it."""

import json
import math
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.environment import Environment
from benchmarks.measure import Entrant, Spread


def say(message: str) -> None:
    """Progress, on standard error so that tables can be piped."""
    print(message, file=sys.stderr, flush=True)


def seconds(value: float) -> str:
    """A time with its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def times(ratios: Spread | None) -> str:
    """Median and range of a ratio."""
    if ratios is None:
        return "-"
    return f"{ratios.median:.3g} ({ratios.low:.3g}-{ratios.high:.3g})"


def number(value: float | None, digits: int = 2) -> str:
    """A short number; a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}g}"


def at_least(target: float | None, reached: float | None) -> str:
    """The target and whether it is reached."""
    if target is None or reached is None:
        return "-"
    return f"{target:g} {'ok' if reached >= target else 'MISSED'}"


def at_most(limit: float | None, reached: float | None) -> str:
    """The limit and whether it is kept."""
    if limit is None or reached is None:
        return "-"
    return f"{limit:g} {'ok' if reached <= limit else 'MISSED'}"


@dataclass
class Table:
    """Rows of text under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """One more row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(list(cells))

    def text(self) -> str:
        """Markdown, columns padded to one width."""
        grid = [self.columns, *self.rows]
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.columns))]
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in grid]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return f"### {self.title}\n\n" + "\n".join(lines)


@dataclass
class Report:
    """What one suite found."""

    title: str
    notes: list[str]
    tables: list[Table] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # what was skipped or went wrong
    n_failed: int = 0

    def skip(self, message: str) -> None:
        """Something is not there: said at once and in the report."""
        say(message)
        if message not in self.words:
            self.words.append(message)

    def fail(self, message: str) -> None:
        """Something that ought to work does not."""
        self.n_failed += 1
        self.skip(message)

    def text(self, environment: Environment) -> str:
        """The whole report as Markdown."""
        parts = [f"## {self.title}", "\n".join(f"- {x}" for x in environment.lines())]
        parts += [table.text() for table in self.tables if table.rows]
        remarks = [f"- {note}" for note in self.notes]
        remarks += [f"- **{word}**" for word in self.words]
        parts.append("\n".join(remarks))
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, name: str, environment: Environment) -> None:
        """NAME.md and NAME.json."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(self.text(environment), encoding="utf-8")
        content = {
            "suite": name,
            "environment": asdict(environment),
            "skipped": self.words,
            "records": self.records,
        }
        (folder / f"{name}.json").write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )


def raw(entrants: list[Entrant]) -> list[dict[str, Any]]:
    """All rounds of all entrants, for the JSON file."""
    return [
        {
            "name": entrant.name,
            "threads": entrant.n_threads,
            "cpu_seconds": [timing.cpu for timing in entrant.timings],
            "wall_seconds": [timing.wall for timing in entrant.timings],
        }
        for entrant in entrants
    ]
