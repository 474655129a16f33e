"""Every public object is documented completely, in numpydoc's format."""

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import widemargin

# numpydoc's checks that hold here. Left out: where the text starts and ends (GL01 to
# GL03), the mood of the first verb (SS05), the extended summary (ES01) and names in
# Returns (RT02).
CHECKS = {
    *("GL05", "GL06", "GL07", "GL08"),
    *("SS01", "SS02", "SS03", "SS04", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "RT04", "RT05", "YD01"),
    *("SA02", "SA03", "SA04"),
}
# Asked of what users look up first, not of each method.
TOP_LEVEL_CHECKS = {"EX01"}
# What an estimator's page has: the attributes, the problem that is solved, its source.
ESTIMATOR_SECTIONS = ("Parameters", "Attributes", "See Also", "Notes", "References")

NAMES = sorted(set(widemargin.__all__) - {"__version__"})


def is_ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith("widemargin")


def is_exception(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def public_paths(name: str, thing: Any) -> Iterator[str]:
    """The object and the public methods and properties that it does not inherit."""
    yield f"widemargin.{name}"
    if isinstance(thing, type):
        for member_name, member in inspect.getmembers(thing):
            function = member.fget if isinstance(member, property) else member
            if not member_name.startswith("_") and is_ours(function):
                yield f"widemargin.{name}.{member_name}"


def format_faults(path: str, checks: set[str]) -> list[str]:
    errors = validate(path)["errors"]
    return [f"{path}: {code} {text}" for code, text in errors if code in checks]


def parameter_faults(cls: type) -> list[str]:
    """Parameters of ``__init__`` against their lines in the class docstring."""
    documented = {p.name: p.type for p in ClassDoc(cls)["Parameters"]}
    actual = inspect.signature(cls).parameters
    if list(documented) != list(actual):
        return [f"documented {list(documented)}, accepted {list(actual)}"]
    found = []
    for name, parameter in actual.items():
        if parameter.default is parameter.empty:
            continue
        _, _, text = documented[name].partition("default=")
        try:
            same = ast.literal_eval(text) == parameter.default
        except (SyntaxError, ValueError):
            same = False
        if not same:
            found.append(f"{name}: says default={text}, is {parameter.default!r}")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_format(name: str) -> None:
    thing = getattr(widemargin, name)
    checks = CHECKS if is_exception(thing) else CHECKS | TOP_LEVEL_CHECKS
    assert not format_faults(f"widemargin.{name}", checks)


@pytest.mark.parametrize("name", NAMES)
def test_format_of_members(name: str) -> None:
    _, *members = public_paths(name, getattr(widemargin, name))
    assert not [fault for path in members for fault in format_faults(path, CHECKS)]


@pytest.mark.parametrize("name", NAMES)
def test_class_documents_its_parameters(name: str) -> None:
    thing = getattr(widemargin, name)
    if not isinstance(thing, type) or is_exception(thing):
        return
    assert not parameter_faults(thing)
    if hasattr(thing, "fit"):
        doc = ClassDoc(thing)
        assert not [section for section in ESTIMATOR_SECTIONS if not doc[section]]


class Good:
    """A class.

    Parameters
    ----------
    C : float, default=1.0
        Penalty.
    tol : float, default=1e-3
        Tolerance.
    kernel : {"rbf", "linear"}, default="rbf"
        Kernel.
    """

    def __init__(self, C=1.0, *, tol=0.001, kernel="rbf"):
        pass


class WrongDefault(Good):
    __doc__ = Good.__doc__

    def __init__(self, C=2.0, *, tol=0.001, kernel="rbf"):
        pass


class Undocumented(Good):
    __doc__ = Good.__doc__

    def __init__(self, C=1.0, *, tol=0.001, kernel="rbf", gamma="scale"):
        pass


def test_faults_are_seen() -> None:
    assert parameter_faults(Good) == []
    assert parameter_faults(WrongDefault) == ["C: says default=1.0, is 2.0"]
    assert "gamma" in parameter_faults(Undocumented)[0]
