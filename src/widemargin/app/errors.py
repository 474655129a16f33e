"""What a user can do wrong, said in one line.

Everything the program refuses raises `AppError`; `console.guard` turns it into
one line ``error: ...`` and exit code 1. The helpers here write the parts that
many messages share: the nearest names and short listings.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence


class AppError(Exception):
    """A mistake of the user or of a file; the text is the whole message."""


class UsageError(AppError):
    """A command written wrongly, whatever is in the files: exit code 2."""


# A reader calls this with a line number (0: the whole file) and what is wrong
# there. Reading for `fit` stops at the first problem, `check` collects them.
Report = Callable[[int, str], None]


def strict(source: str) -> Report:
    """A report that stops at the first problem, naming file and line."""

    def report(line: int, text: str) -> None:
        where = f"{source}, line {line}" if line else source
        raise AppError(f"{where}: {text}")

    return report


def quoted(names: Iterable[object], limit: int = 6) -> str:
    """``'a', 'b' and 3 more``: a listing that stays short."""
    items = [f"'{clip(str(name), 40)}'" for name in names]
    if len(items) > limit + 1:
        return f"{', '.join(items[:limit])} and {len(items) - limit} more"
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def numbered(numbers: Sequence[int], limit: int = 5) -> str:
    """``3, 8, 12 and 40 more`` for line numbers."""
    shown = ", ".join(str(number) for number in numbers[:limit])
    more = len(numbers) - limit
    return f"{shown} and {more:,} more" if more > 0 else shown


def clip(text: str, width: int = 60) -> str:
    """One line of at most `width` characters, for cells quoted in messages."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known names, or all of them when they are few."""
    names = [str(item) for item in known]
    folded = {item.casefold(): item for item in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    if near:
        found = [f"'{folded[item]}'" for item in near]
        return f"did you mean {' or '.join(found)}?"
    if not names:
        return "there are none"
    return f"there are {quoted(names, limit=8)}"
