"""Who may import whom, and what no file may use (DESIGN section 1, STYLE 1 to 3)."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "widemargin"

# The picture: an arrow for each entry, and what is below may be skipped to. A unit is
# a file or folder of the package. Change the picture in the design, and this table, in
# the commit that needs it.
ARROWS: dict[str, set[str]] = {
    "app": {"_warm_up", "datasets", "inference", "model_selection", "plots"},
    "datasets": set(),
    "_warm_up": {"estimators"},
    "inference": {"estimators"},
    "model_selection": {"estimators"},
    "plots": {"estimators"},
    "estimators": {"_sklearn", "kernel_function", "metrics", "solvers"},
    "solvers": {"gram", "losses", "operators"},
    "distributed": {"operators"},
    "operators": {"blocks", "column_stats"},
    "blocks": {"losses"},
    "column_stats": {"ops"},
    "losses": {"kernels"},
    "gram": {"kernel_function", "kernel_rows"},
    "kernel_rows": {"kernels"},
    "kernels": {"_extrema", "ops"},
    "ops": {"_jit", "_threads", "rows"},
    "_extrema": set(),
    "_jit": set(),
    "_threads": set(),
    "rows": set(),
    "_sklearn": set(),
    "kernel_function": set(),
    "metrics": set(),
}
FOR_ALL = {"progress", "result"}  # importable by all, import each other only
APART = {"_testing"}  # for tests, benchmarks and users: imports all but app
ROOT = "__init__"  # the public names, loaded on first use: imports nothing

# Units that never see scikit-learn: solvers and all that is below them.
WITHOUT_SKLEARN_ROOT = "solvers"
# Not needed to fit a model, or slow to import: inside functions only, except where the
# whole unit is optional itself.
LATE_PACKAGES = {
    "charset_normalizer",
    "clevercsv",
    "cma",
    "dask",
    "distributed",
    "duckdb",
    "jinja2",
    "matplotlib",
    "pandas",
    "polars",
    "rich",
    "skops",
    "typer",
}
OPTIONAL_UNITS = {"app", "distributed"}
# One decorator compiles: cached, released from the GIL, without threads of its own.
ONLY_IN_JIT = {"guvectorize", "jit", "jitclass", "njit", "vectorize"}
UNSAFE_OPTIONS = {"fastmath", "parallel"}


@cache
def below(unit: str) -> frozenset[str]:
    """All that `unit` may import, by any number of arrows."""
    if unit == ROOT:
        return frozenset()
    if unit in APART:
        return frozenset(ARROWS) - {"app"} | FOR_ALL | APART
    if unit in FOR_ALL:
        return frozenset(FOR_ALL)
    reached = set(FOR_ALL)
    for other in ARROWS.get(unit, ()):
        reached |= {other} | below(other)
    return frozenset(reached)


WITHOUT_SKLEARN = below(WITHOUT_SKLEARN_ROOT) - {"progress"} | {
    WITHOUT_SKLEARN_ROOT,
    "distributed",
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """(line, module, name or "") of every import, those inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, "." * node.level + (node.module or ""), alias.name
        elif isinstance(node, ast.Call) and node.args:
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            module = node.args[0]
            if name in ("import_module", "__import__") and isinstance(
                module, ast.Constant
            ):
                yield node.lineno, str(module.value), ""


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from at_import(child)


def target_unit(module: str, name: str) -> str | None:
    """The unit of ours that an import names; None for other packages."""
    parts = module.split(".")
    if parts[0] != "widemargin":
        return None
    if len(parts) > 1:
        return parts[1]
    known = name in ARROWS or name in FOR_ALL or name in APART
    return name if known else ROOT


def wrong_arrow(unit: str, target: str, name: str) -> str | None:
    if target == unit:
        return None
    if target == ROOT:
        free = name == "__version__" or unit in APART | {"app"}
        return None if free else "imports the public names, which are above it"
    if target in below(unit):
        return None
    if target not in set(ARROWS) | FOR_ALL | APART:
        return f"imports {target}, which is not in the picture"
    return f"must not import {target}: no arrow leads there"


def import_faults(unit: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, module, name in imported(tree):
        if module.startswith("."):
            yield line, "relative import"
            continue
        target = target_unit(module, name)
        if target is not None and (fault := wrong_arrow(unit, target, name)):
            yield line, fault
        top, *rest = module.split(".")
        if top == "sklearn":
            if unit in WITHOUT_SKLEARN:
                yield line, "imports scikit-learn, which solvers never see"
            if unit != "_sklearn" and any(p.startswith("_") for p in (*rest, name)):
                yield line, f"private scikit-learn name {module} {name}".rstrip()
        if top == "numba" and name in ONLY_IN_JIT and unit != "_jit":
            yield line, f"numba.{name}: kernels are made by widemargin._jit.kernel"
        if top == "numba" and name == "prange":
            yield line, "prange"
    if unit not in OPTIONAL_UNITS:
        for node in at_import(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for line, module, _ in imported(node):
                    if module.split(".")[0] in LATE_PACKAGES:
                        yield line, f"{module} must be imported where it is used"


def use_faults(unit: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in (
            "numba",
            "nb",
        ):
            if node.attr == "prange":
                yield node.lineno, "prange"
            if node.attr in ONLY_IN_JIT and unit != "_jit":
                yield node.lineno, f"numba.{node.attr} outside _jit"
        if isinstance(node, ast.Call):
            if getattr(node.func, "id", "") == "print" and unit not in (
                "app",
                "progress",
            ):
                yield node.lineno, "print: messages go through progress.py"
            for keyword in node.keywords:
                if (
                    keyword.arg in UNSAFE_OPTIONS
                    and getattr(keyword.value, "value", None) is True
                ):
                    yield node.lineno, f"{keyword.arg}=True"


def faults(path: str, source: str) -> list[str]:
    """What is wrong with the source of the file `path`, relative to the package."""
    unit = path.split("/")[0].removesuffix(".py")
    found = []
    if unit not in set(ARROWS) | FOR_ALL | APART | {ROOT}:
        found.append((0, f"{unit} is not in the picture: give it its arrows"))
    tree = ast.parse(source)
    found += [*import_faults(unit, tree), *use_faults(unit, tree)]
    return [f"{path}:{line}: {fault}" for line, fault in sorted(set(found))]


FILES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES)
def test_file_keeps_to_the_picture(path: str) -> None:
    assert not faults(path, (PACKAGE / path).read_text(encoding="utf-8"))


def test_picture_has_no_circle() -> None:
    TopologicalSorter(ARROWS).prepare()
    assert set().union(*ARROWS.values()) <= set(ARROWS)
    assert all("app" not in below(unit) for unit in (*ARROWS, *FOR_ALL, *APART))


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("solvers/smo.py", "from widemargin.estimators.svc import SVC", "estimators"),
        ("kernels.py", "def f():\n    import widemargin.gram", "gram"),
        ("kernels.py", "from widemargin import gram", "gram"),
        ("ops.py", "m = import_module('widemargin.solvers.smo')", "solvers"),
        ("gram.py", "from widemargin import SVC", "public names"),
        ("estimators/svc.py", "from widemargin.app import tables", "app"),
        ("_testing.py", "from widemargin.app import tables", "app"),
        ("solvers/x.py", "from widemargin.datasets import make_rings", "datasets"),
        ("plots.py", "from widemargin.inference import x", "inference"),
        ("result.py", "import widemargin.ops", "ops"),
        ("__init__.py", "from widemargin.result import Status", "result"),
        ("helpers.py", "", "not in the picture"),
        ("gram.py", "from widemargin.helpers import f", "not in the picture"),
        ("gram.py", "from . import kernels", "relative"),
        ("gram.py", "import sklearn", "scikit-learn"),
        ("_jit.py", "def f():\n    from sklearn.svm import SVC", "scikit-learn"),
        ("estimators/svc.py", "from sklearn.base import _fit_context", "private"),
        ("estimators/svc.py", "import sklearn.utils._testing", "private"),
        ("plots.py", "import matplotlib.pyplot as plt", "where it is used"),
        ("solvers/x.py", "try:\n    import cma\nexcept E:\n    pass", "where it is"),
        ("estimators/svc.py", "class A:\n    import pandas", "where it is used"),
        ("solvers/smo.py", "print('hello')", "print"),
        ("solvers/smo.py", "from numba import njit", "njit"),
        ("solvers/smo.py", "import numba\nf = numba.njit(g)", "njit"),
        ("_jit.py", "from numba import prange", "prange"),
        ("solvers/smo.py", "for i in numba.prange(3): pass", "prange"),
        ("_jit.py", "numba.njit(parallel=True)", "parallel=True"),
        ("ops.py", "@kernel(fastmath=True)\ndef f(): pass", "fastmath=True"),
    ],
)
def test_fault_is_seen(path: str, source: str, fault: str) -> None:
    (found,) = faults(path, source)
    assert fault in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("solvers/smo.py", "from widemargin.kernels import f"),
        ("solvers/active_set.py", "from widemargin.solvers.smo import solve_smo"),
        ("estimators/svc.py", "from widemargin._jit import kernel"),
        ("_jit.py", "from widemargin.progress import notify\nimport numba"),
        ("_jit.py", "numba.njit(nogil=True, fastmath={'nsz'})"),
        ("_sklearn.py", "from sklearn.utils._param_validation import Interval"),
        ("estimators/svc.py", "from sklearn.base import ClassifierMixin"),
        ("estimators/svc.py", "def f():\n    import pandas"),
        ("plots.py", "if TYPE_CHECKING:\n    import matplotlib"),
        ("distributed.py", "import dask"),
        ("app/cli.py", "import typer\nfrom widemargin import SVC\nprint(SVC)"),
        ("app/models.py", "from widemargin import __version__"),
        ("kernels.py", "from numba.extending import intrinsic, overload"),
        ("app/demo.py", "from widemargin.datasets import make_checkerboard"),
    ],
)
def test_what_is_allowed(path: str, source: str) -> None:
    assert faults(path, source) == []
