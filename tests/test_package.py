"""The package as a whole: what importing it costs, what it exports and ships."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

import widemargin

ROOT = Path(__file__).resolve().parent.parent


def run_python(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_is_light() -> None:
    heavy = {"numba", "sklearn", "scipy", "pandas", "matplotlib"}
    loaded = run_python("import sys, widemargin; print(*sys.modules)").split()
    assert not heavy & set(loaded)


@pytest.mark.parametrize("name", widemargin.__all__)
def test_public_name_is_there(name: str) -> None:
    assert getattr(widemargin, name) is not None
    assert name in dir(widemargin)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'SCV'"):
        widemargin.SCV  # noqa: B018  the look-up itself is tested


def test_version_is_that_of_the_distribution() -> None:
    assert widemargin.__version__ == version("widemargin")


def test_citation_names_the_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {widemargin.__version__}" in lines


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


def test_wheel_is_pure_python(wheel: Path) -> None:
    assert wheel.name == f"widemargin-{widemargin.__version__}-py3-none-any.whl"
    suffixes = {Path(name).suffix for name in ZipFile(wheel).namelist()}
    assert not suffixes & {".so", ".pyd", ".nbi", ".nbc", ".pyc"}


def test_wheel_ships_the_package_and_nothing_else(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"widemargin", f"widemargin-{widemargin.__version__}.dist-info"}
    for needed in ("py.typed", "__init__.py", "estimators/svc.py", "app/cli.py"):
        assert f"widemargin/{needed}" in names
