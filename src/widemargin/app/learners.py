"""The learners that `fit` can use: one entry each. A later learner joins here."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from widemargin.app.errors import UsageError, did_you_mean


def _svc(**parameters: Any) -> Any:
    from widemargin import SVC

    return SVC(**parameters)


def _svc_is_sound(svc: Any, n_classes: int) -> bool:
    """The shapes that `decision_function` relies on."""
    rows, width = svc.support_vectors_.shape
    n = int(svc.n_support_.sum())
    return bool(
        svc.dual_coef_.shape == (n_classes - 1, n)
        and len(svc.support_) == n == rows
        and width == svc.n_features_in_
        and len(svc.intercept_) == n_classes * (n_classes - 1) // 2
    )


@dataclass(frozen=True)
class Learner:
    """How to make a learner and what to say about it."""

    name: str
    title: str
    task: str
    factory: Callable[..., Any]
    types: tuple[str, ...]  # our classes in a saved model of it
    # Whether the parts of a loaded learner fit together, given the number of classes:
    # compiled code must not be led out of bounds by a file that was tampered with.
    is_sound: Callable[[Any, int], bool]
    defaults: dict[str, Any] = field(default_factory=dict)
    # Fitting time grows faster than the rows: `fit` asks above `kernel_rows`.
    kernel: bool = False

    def parameters(self) -> dict[str, Any]:
        """Names and defaults of all that can be set."""
        return dict(self.factory().get_params(deep=False))

    def make(self, settings: dict[str, Any], *, jobs: int | None, seed: int) -> Any:
        known = self.parameters()
        given = {**self.defaults, **settings}
        if "n_jobs" in known:
            given["n_jobs"] = jobs
        if "random_state" in known:
            given["random_state"] = seed
        return self.factory(**given)


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner(
            name="svc",
            title="support vector classifier",
            task="classes",
            factory=_svc,
            types=("widemargin.estimators.svc.SVC",),
            is_sound=_svc_is_sound,
            kernel=True,
        ),
    )
}

# Said by an option of its own, or of no use here.
_BY_OPTION = {"n_jobs": "--jobs", "random_state": "--seed"}
_REFUSED = {"verbose", "warm_start"}


def find_learner(name: str) -> Learner:
    if name not in LEARNERS:
        raise UsageError(
            f"--learner {name} is not known; {did_you_mean(name, LEARNERS)}"
        )
    return LEARNERS[name]


def parse_settings(learner: Learner, items: list[str]) -> dict[str, Any]:
    """``["C=10", "kernel=linear"]`` as parameters of the learner."""
    known = learner.parameters()
    settings: dict[str, Any] = {}
    for item in items:
        name, sign, text = item.partition("=")
        name = name.strip()
        if not sign:
            raise UsageError(f"--set {item}: write NAME=VALUE, such as --set C=10")
        if name in _BY_OPTION:
            raise UsageError(f"--set {name}: use {_BY_OPTION[name]} for this")
        if name not in known or name in _REFUSED:
            names = [n for n in known if n not in _BY_OPTION and n not in _REFUSED]
            raise UsageError(
                f"--set {name}: {learner.name} has no such setting; "
                f"{did_you_mean(name, names)}"
            )
        settings[name] = _value(text.strip())
    if settings.get("kernel") == "precomputed":
        raise UsageError(
            "--set kernel=precomputed needs a kernel matrix in place of a table; "
            "use widemargin.SVC from Python for that"
        )
    return settings


def _value(text: str) -> Any:
    """A number, true, false, none, a JSON list or object, or else text."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return float(text)  # ".5", "+1", "1." are no JSON
    except ValueError:
        return text
