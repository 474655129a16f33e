"""What all tests share: seeds, benchmark data, optional references, the environment."""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Before anything imports Numba or a BLAS; subprocesses of tests inherit both.
# One plain folder is enough: our cache stamp covers every source file of the package
# (widemargin/_jit.py), so compiled code can be outdated here no more than elsewhere.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
if "PYTEST_XDIST_WORKER" in os.environ:  # the workers fill the cores already
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

SEED_VARIABLE = "WIDEMARGIN_TESTS_GLOBAL_RANDOM_SEED"
DATA_VARIABLE = "WIDEMARGIN_DATA"


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def parse_seeds(text: str) -> list[int]:
    """Seeds from "42", "0-9" or "all", which is 0 to 99."""
    first, _, last = "0-99".partition("-") if text == "all" else text.partition("-")
    try:
        seeds = list(range(int(first), int(last or first) + 1))
    except ValueError:
        seeds = []
    if not seeds:
        raise pytest.UsageError(
            f"{SEED_VARIABLE} must be a number, a range as 0-9, or 'all'; got {text!r}"
        )
    return seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``global_random_seed``: a test that asks for it must hold for any seed."""
    if "global_random_seed" in metafunc.fixturenames:
        seeds = parse_seeds(os.environ.get(SEED_VARIABLE, "42"))
        metafunc.parametrize("global_random_seed", seeds)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data: $WIDEMARGIN_DATA, or shared/data beside the checkout."""
    given = os.environ.get(DATA_VARIABLE)
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if given:
        pytest.fail(f"{DATA_VARIABLE} is not a folder: {folder}")
    pytest.skip(f"no benchmark data in ../shared/data; {DATA_VARIABLE} may name it")


@pytest.fixture(scope="session")
def require_package() -> Callable[[str], ModuleType]:
    """Import an optional package: where it is missing, skip, but fail under CI."""

    def require(name: str) -> ModuleType:
        try:
            return import_module(name)
        except ImportError as error:
            if in_ci():
                pytest.fail(f"CI must have every optional reference: {error}")
            pytest.skip(f"optional reference: {error}")

    return require
