"""Evaluated points in a JSON file, so that an interrupted search can go on."""

import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import hash as content_hash

from widemargin.model_selection.evaluate import Data, Outcome
from widemargin.model_selection.optimizers import Point
from widemargin.model_selection.space import Space

FORMAT = "widemargin search 1"
# Settings of an estimator that do not change what it learns.
WITHOUT_EFFECT = {"n_jobs", "verbose", "cache_size"}
# A file is written at most this often, and at the end.
EVERY_SECONDS = 1.0


def as_text(value: Any) -> str:
    """A value as text that is the same in another process."""
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {content_hash(value)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(as_text(v) for v in value)}]"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def identity(
    estimator: Any, space: Space, data: Data, settings: dict[str, Any]
) -> dict[str, str]:
    """What must be equal for evaluated points to be used again."""
    found = {"estimator": as_text(estimator)}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if name.split("__")[-1] not in WITHOUT_EFFECT and name not in space.dimensions:
            found[f"estimator's {name}"] = as_text(value)
    found |= {f"space of {name}": text for name, text in space.describe().items()}
    found |= {name: as_text(value) for name, value in settings.items()}
    found |= {
        "X": content_hash(data.X),
        "y": content_hash(np.asarray(data.y)),
        "sample_weight": content_hash(data.weights),
    }
    return found


def _differences(there: dict[str, str], here: dict[str, str]) -> str:
    parts = []
    for name in [*here, *(key for key in there if key not in here)]:
        old, new = there.get(name), here.get(name)
        if old == new:
            continue
        if name in ("X", "y", "sample_weight"):
            parts.append(f"{name} is not the same data")
        else:
            parts.append(
                f"{name} is {old or 'absent'} there and {new or 'absent'} here"
            )
    return "; ".join(parts)


def _plain(value: Any) -> Any:
    """For strict JSON: what is not finite becomes None."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def _outcome(record: dict[str, Any]) -> Outcome:
    numbers = dict(record)
    numbers.pop("point")
    for name, missing in (("value", np.inf), ("score", np.nan)):
        if numbers[name] is None:
            numbers[name] = missing
    numbers["folds"] = [np.nan if v is None else v for v in numbers["folds"]]
    return Outcome(**numbers)


class Checkpoint:
    """The file and what is in it; with ``path=None`` nothing is written.

    Parameters
    ----------
    path : path-like or None
        The file.
    identity : dict of str to str
        See `identity`.

    Raises
    ------
    ValueError
        The file is another search's, or no checkpoint at all.
    FileNotFoundError
        Its folder does not exist.
    """

    def __init__(self, path: Any, identity: dict[str, str]) -> None:
        self.path = None if path is None else Path(path)
        self.identity = identity
        self.known: dict[tuple[float, ...], Outcome] = {}
        self._written = time.perf_counter()
        if self.path is None:
            return
        if self.path.is_file():
            self._read(self.path)
        elif not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint: the folder {str(self.path.parent)!r} does not exist"
            )

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            right = content["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            right = False
        if not right:
            raise ValueError(f"{str(path)!r} is not a checkpoint of MarginSearchCV")
        differing = _differences(content["search"], self.identity)
        if differing:
            raise ValueError(
                f"checkpoint {str(path)!r} belongs to another search: {differing}. "
                "Name another file, or delete this one"
            )
        for record in content["points"]:
            self.known[tuple(record["point"])] = _outcome(record)

    def get(self, point: Point) -> Outcome | None:
        """The outcome of a point, if it is known."""
        return self.known.get(tuple(point.tolist()))

    def put(self, point: Point, outcome: Outcome) -> None:
        """Keep an outcome; the file follows at most once a second."""
        self.known[tuple(point.tolist())] = outcome
        if time.perf_counter() - self._written > EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Replace the file in one step, so that it is whole at any time."""
        if self.path is None:
            return
        content = {
            "format": FORMAT,
            "search": self.identity,
            "points": [
                {"point": list(point)}
                | {name: _plain(value) for name, value in outcome.as_dict().items()}
                for point, outcome in list(self.known.items())
            ],
        }
        handle, name = tempfile.mkstemp(".tmp", self.path.name, self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=0)
            os.replace(name, self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self._written = time.perf_counter()
