"""Search spaces: parameters of an estimator as points of a unit cube.

Every optimiser here works in ``[0, 1]^d``. A `Dimension` says what a coordinate means;
a `Space` turns points into dicts for ``set_params`` and back.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

Params = dict[str, Any]


class Dimension(Protocol):
    """What one coordinate in [0, 1] means."""

    def decode(self, u: float) -> Any: ...
    def encode(self, value: Any) -> float: ...


def _number(kind: str, name: str, value: Any, whole: bool = False) -> float:
    right = isinstance(value, Integral if whole else Real)
    if not right or isinstance(value, bool):
        word = "a whole number" if whole else "a number"
        raise TypeError(f"{kind}: {name} must be {word}, got {value!r}")
    if not np.isfinite(value):
        raise ValueError(f"{kind}: {name} must be finite, got {value!r}")
    return int(value) if whole else float(value)


class _Range:
    """Bounds, their checks, and equality."""

    def __init__(self, low: float, high: float) -> None:
        kind = type(self).__name__
        whole = isinstance(self, Integer)
        self.low = _number(kind, "low", low, whole)
        self.high = _number(kind, "high", high, whole)
        if self.low > self.high:
            raise ValueError(
                f"{kind}: low must be below high, got low={low!r} > high={high!r}: "
                "bounds reversed"
            )
        if self.low == self.high:
            raise ValueError(
                f"{kind}: low must be below high, got {low!r} for both; to fix a "
                "parameter, set it on the estimator"
            )

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Log(_Range):
    """A positive number searched on a logarithmic scale.

    ``low (high / low)^u`` for u in [0, 1].

    Parameters
    ----------
    low : float
        Lower bound, > 0.
    high : float
        Upper bound, above `low`.
    per_feature : bool, default=False
        One number for each feature instead of one, as an array: for ``gamma`` of the
        Gaussian kernel.

    Raises
    ------
    ValueError
        Bounds that are reversed, equal, infinite or not positive.

    Examples
    --------
    >>> from widemargin.model_selection import Log
    >>> Log(0.01, 100).decode(0.5)
    1.0
    """

    def __init__(self, low: float, high: float, per_feature: bool = False) -> None:
        super().__init__(low, high)
        if self.low <= 0:
            raise ValueError(f"Log: low must be > 0, got {low!r}; use Linear")
        self.per_feature = bool(per_feature)

    def decode(self, u: float) -> float:
        """The value at coordinate u."""
        value = self.low * (self.high / self.low) ** float(u)
        return min(max(value, self.low), self.high)

    def encode(self, value: Any) -> float:
        """The coordinate of a value; outside the bounds the nearest end."""
        value = min(max(float(value), self.low), self.high)
        return float(np.log(value / self.low) / np.log(self.high / self.low))


class Linear(_Range):
    """A number searched on a linear scale: ``low + u (high - low)``.

    Parameters
    ----------
    low : float
        Lower bound.
    high : float
        Upper bound, above `low`.

    Raises
    ------
    ValueError
        Bounds that are reversed, equal or infinite.

    Examples
    --------
    >>> from widemargin.model_selection import Linear
    >>> Linear(-1, 1).decode(0.75)
    0.5
    """

    def decode(self, u: float) -> float:
        """The value at coordinate u."""
        value = self.low + float(u) * (self.high - self.low)
        return min(max(value, self.low), self.high)

    def encode(self, value: Any) -> float:
        """The coordinate of a value; outside the bounds the nearest end."""
        u = (float(value) - self.low) / (self.high - self.low)
        return min(max(u, 0.0), 1.0)


class Integer(_Range):
    """A whole number, both bounds included; each takes an equal part of [0, 1].

    Parameters
    ----------
    low : int
        Least value.
    high : int
        Largest value, above `low`.

    Raises
    ------
    TypeError
        A bound that is not a whole number.
    ValueError
        Bounds that are reversed or equal.

    Examples
    --------
    >>> from widemargin.model_selection import Integer
    >>> Integer(2, 5).decode(1.0)
    5
    """

    def decode(self, u: float) -> int:
        """The value at coordinate u."""
        return int(self.low + min(int(float(u) * self.size), self.size - 1))

    def encode(self, value: Any) -> float:
        """The middle of a value's part of [0, 1]."""
        place = min(max(round(float(value)) - self.low, 0), self.size - 1)
        return (place + 0.5) / self.size

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.high - self.low) + 1


class Values:
    """A list of values, for grids: each takes an equal part of [0, 1]."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    def __repr__(self) -> str:
        return repr(self.values)

    def decode(self, u: float) -> Any:
        return self.values[min(int(float(u) * self.size), self.size - 1)]

    def encode(self, value: Any) -> float:
        for place, known in enumerate(self.values):
            if known is value or np.array_equal(known, value):
                return (place + 0.5) / self.size
        return 0.5 / self.size

    @property
    def size(self) -> int:
        return len(self.values)


def _dimension(name: str, given: Any) -> Dimension:
    if isinstance(given, _Range):
        return given  # type: ignore[return-value]
    if isinstance(given, tuple):
        numbers = len(given) == 2 and all(
            isinstance(v, Real) and not isinstance(v, bool) for v in given
        )
        if not numbers or min(given) <= 0:
            raise ValueError(
                f"space[{name!r}]: a pair must be two positive numbers (low, high), "
                f"got {given!r}; use Linear(low, high) for others and a list for values"
            )
        try:
            return Log(*given)
        except ValueError as error:
            raise ValueError(f"space[{name!r}]: {error}") from None
    if isinstance(given, list | np.ndarray):
        if len(given) == 0:
            raise ValueError(f"space[{name!r}]: the list of values is empty")
        return Values(given)
    raise TypeError(
        f"space[{name!r}] must be Log, Linear, Integer, a pair (low, high) of positive "
        f"numbers or a list of values, got {given!r}"
    )


class Space:
    """Named dimensions, in order; a per-feature one takes a coordinate a feature."""

    def __init__(self, given: Any, known: Sequence[str], estimator: str) -> None:
        if not isinstance(given, Mapping):
            raise TypeError(
                "space must be a dict from parameter name to Log, Linear, Integer, a "
                f"pair or a list, got {type(given).__name__}"
            )
        if not given:
            raise ValueError("space is empty: name at least one parameter to search")
        self.dimensions: dict[str, Dimension] = {}
        for name, value in given.items():
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
                short = [k for k in known if k.split("__")[-1] == name]
                hint = next(iter([*short, *near]), None)
                raise ValueError(
                    f"space names {name!r}, which is not a parameter of {estimator}"
                    + (f"; did you mean {hint!r}?" if hint else "")
                )
            self.dimensions[name] = _dimension(name, value)
        self.widths = dict.fromkeys(self.dimensions, 1)

    @property
    def per_feature(self) -> list[str]:
        """Names with one number for each feature."""
        return [
            name for name, d in self.dimensions.items() if getattr(d, "per_feature", 0)
        ]

    def resolve(self, n_features: int) -> None:
        """Fix the width of the per-feature parameters."""
        self.widths.update(dict.fromkeys(self.per_feature, n_features))

    @property
    def n_parameters(self) -> int:
        """Number of coordinates."""
        return sum(self.widths.values())

    @property
    def axes(self) -> list[Dimension]:
        """The meaning of each coordinate."""
        return [d for name, d in self.dimensions.items() for _ in self._span(name)]

    def _span(self, name: str) -> range:
        return range(self.widths[name])

    def coordinates(self, name: str) -> np.ndarray:
        """Which coordinates a parameter has."""
        names = [key for key in self.dimensions for _ in self._span(key)]
        return np.flatnonzero([key == name for key in names])

    def decode(self, point: np.ndarray) -> Params:
        """Parameters at a point of the cube."""
        params: Params = {}
        start = 0
        for name, dimension in self.dimensions.items():
            values = [dimension.decode(point[start + k]) for k in self._span(name)]
            start += len(values)
            array = getattr(dimension, "per_feature", False)
            params[name] = np.array(values) if array else values[0]
        return params

    def encode(self, params: Params) -> np.ndarray:
        """The point of given parameters; the middle for those not given."""
        parts = []
        for name, dimension in self.dimensions.items():
            width = self.widths[name]
            if name not in params:
                parts.append(np.full(width, 0.5))
            else:
                values = np.broadcast_to(np.asarray(params[name], object), (width,))
                parts.append(np.array([dimension.encode(v) for v in values]))
        return np.concatenate(parts)

    def describe(self) -> dict[str, str]:
        """Every parameter's range as text."""
        return {name: repr(d) for name, d in self.dimensions.items()}
