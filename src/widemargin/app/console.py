"""What every command shares: standard output and error, warnings, the one error line.

Results go to standard output, progress and warnings to standard error. Rich writes
pairs of a key and a text in colour; it honours NO_COLOR and writes plain text where
there is no terminal.
"""

import functools
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec

import typer

from widemargin.app.errors import AppError, UsageError

P = ParamSpec("P")

FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def out(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def out_text(text: str) -> None:
    """A long text, in pieces: an unbuffered stream may lose the end of a long write."""
    for start in range(0, len(text), 8192):
        sys.stdout.write(text[start : start + 8192])


def out_json(value: Any) -> None:
    out_text(json.dumps(_finite(value), indent=2, ensure_ascii=False) + "\n")


def _finite(value: Any) -> Any:
    """JSON has no nan or infinity; null says that there is no number."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


def pairs(rows: Sequence[tuple[str, str]], title: str = "") -> None:
    """A title, and texts beside their keys, wrapped to the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if title:
        console.print(Text(title, style="bold"))
    margin = max((len(key) for key, _ in rows), default=0) + 2
    for key, text in rows:
        # Not a rich table: it would fill every line with blanks up to the width.
        lines = textwrap.wrap(
            text,
            max(20, console.width - margin - 1),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for i, line in enumerate(lines or [""]):
            head = (key if i == 0 else "").ljust(margin)
            console.print(Text.assemble((head, "cyan"), line))


def note(text: str) -> None:
    """A remark on standard error."""
    print(text, file=sys.stderr, flush=True)


def silent(text: str) -> None:
    """In place of `note` with ``--quiet``."""


def teller(quiet: bool) -> Callable[[str], None]:
    return silent if quiet else note


@contextmanager
def library_messages(say: Callable[[str], None]) -> Iterator[None]:
    """Messages of the library (such as "compiling") go to `say`."""
    from widemargin.progress import listening

    with listening(say):
        yield


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Each warning of a library as one line, and once."""
    seen: set[str] = set()

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen:
            seen.add(text)
            note(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.showwarning = show
        yield


def command(function: Callable[P, None]) -> Callable[P, None]:
    """A command whose failures are one line and an exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _short_warnings():
                function(*args, **kwargs)
            sys.stdout.flush()
        except AppError as error:
            note(f"error: {error}")
            code = USAGE if isinstance(error, UsageError) else FAILED
            raise typer.Exit(code) from None
        except KeyboardInterrupt:
            note("error: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output (head, less) has seen enough. Python would
            # complain once more when it closes the stream at exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except MemoryError:
            note("error: there is not enough memory for this; try --sample")
            raise typer.Exit(FAILED) from None
        except typer.Exit:
            raise
        except Exception as error:
            if os.environ.get("WIDEMARGIN_TRACEBACK"):
                raise
            text = " ".join(str(error).split()) or "no further words"
            note(
                f"error: unexpected {type(error).__name__}: {text} "
                "(set WIDEMARGIN_TRACEBACK=1 to see where, and please report it)"
            )
            raise typer.Exit(FAILED) from None

    return run
