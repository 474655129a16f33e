"""The kernel decorator: cached on disk, repaired, announced, never out of date."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import widemargin
from widemargin import _jit
from widemargin._jit import kernel
from widemargin.progress import listening

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="no compiler"
)

# A package with one kernel that calls another in a second file: the decorator copied
# as it is, so that its stamp covers these files and nothing is compiled but them.
FILES = {
    "__init__.py": "",
    "solvers/__init__.py": "",
    "helper.py": """
        from tiny._jit import kernel

        @kernel
        def factor(x):
            return 2.0 * x
        """,
    "solvers/main.py": """
        from tiny._jit import kernel
        from tiny.helper import factor

        @kernel
        def total(x):
            s = 0.0
            for i in range(x.shape[0]):
                s += factor(x[i])
            return s

        @kernel
        def count(n):
            return n + 1
        """,
    "run.py": """
        import sys

        import numpy as np

        from tiny.progress import listening
        from tiny.solvers.main import count, total

        with listening(lambda message: print("said:", message)):
            print("total:", total(np.arange(4.0)))
            print("count:", count(3))
        stats = total.stats
        print("hits:", sum(stats.cache_hits.values()))
        print("misses:", sum(stats.cache_misses.values()))
        """,
}


class Tiny:
    """The package in a folder, run in processes of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        package = folder / "tiny"
        (package / "solvers").mkdir(parents=True)
        for name, text in FILES.items():
            (package / name).write_text(textwrap.dedent(text))
        source = os.path.dirname(widemargin.__file__)
        for name in ("_jit.py", "progress.py", "result.py"):
            with open(os.path.join(source, name)) as file:
                text = file.read().replace("widemargin", "tiny")
            (package / name).write_text(text)
        self.package, self.solvers = package, package / "solvers"

    def run(self, **variables):
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "NUMBA_CACHE_DIR": str(self.cache),
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tiny.run"],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        lines = [line.partition(": ")[::2] for line in done.stdout.splitlines()]
        self.said = [text for key, text in lines if key == "said"]
        values = {key: float(text) for key, text in lines if key != "said"}
        assert values["count"] == 4
        return values

    def cache_files(self, kernel_name, pattern):
        return sorted(self.cache.rglob(f"main.{kernel_name}-{pattern}"))


@pytest.fixture
def tiny(tmp_path):
    return Tiny(tmp_path)


def test_the_second_process_compiles_nothing(tiny):
    first = tiny.run()
    assert (first["total"], first["hits"], first["misses"]) == (12.0, 0, 1)
    # one announcement for all kernels of a process
    assert tiny.said == [
        "compiling for this machine, once; later runs start at once ..."
    ]
    second = tiny.run()
    assert (second["total"], second["hits"], second["misses"]) == (12.0, 1, 0)
    assert tiny.said == []


DAMAGES = [
    lambda content: content[: len(content) // 2],
    lambda content: b"\x80\x05garbage" + content[10:],
    lambda content: b"",
    lambda content: bytes(len(content)),
]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
def test_damaged_cache_files_are_made_anew(tiny, pattern):
    tiny.run()
    for first in (0, 2):
        files = [
            f for name in ("total", "count") for f in tiny.cache_files(name, pattern)
        ]
        assert len(files) == 2
        for file, damage in zip(files, DAMAGES[first:], strict=False):
            file.write_bytes(damage(file.read_bytes()))
        values = tiny.run()
        assert (values["total"], values["hits"]) == (12.0, 0)
        assert tiny.said
    assert tiny.run()["hits"] == 1


@pytest.mark.slow
def test_missing_cache_files_are_made_anew(tiny):
    tiny.run()
    for file in tiny.cache_files("total", "*.nbc"):
        file.unlink()
    assert tiny.run()["total"] == 12.0
    assert tiny.run()["hits"] == 1


def test_an_edited_helper_in_another_file_is_noticed(tiny):
    assert tiny.run()["total"] == 12.0
    helper = tiny.package / "helper.py"
    helper.write_text(helper.read_text().replace("2.0 * x", "5.0 * x"))
    assert tiny.run()["total"] == 30.0
    assert tiny.said


def test_without_a_folder_to_write_it_compiles_for_one_process(tiny):
    # a file in place of a folder cannot be written to, not even by root
    tiny.cache = tiny.folder / "a_file"
    for place in (
        tiny.cache,
        *(p / "__pycache__" for p in (tiny.package, tiny.solvers)),
    ):
        place.write_text("")
    home = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    for _ in range(2):
        assert tiny.run(**home)["total"] == 12.0
        assert tiny.said  # each time


def test_without_the_compiler(tiny):
    values = {**FILES}
    run = textwrap.dedent(values["run.py"]).split("stats =")[0]
    (tiny.package / "run.py").write_text(run)
    assert tiny.run(NUMBA_DISABLE_JIT="1")["total"] == 12.0
    assert tiny.said == []
    assert not tiny.cache.exists()


def test_the_stamp_covers_every_file_with_kernels():
    names = {entry[0] for entry in _jit._package_stamp()}
    root = os.path.dirname(widemargin.__file__)
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".py"):
                with open(os.path.join(folder, name)) as file:
                    if "@kernel" in file.read():
                        assert name in names, f"{folder}/{name}"


def test_options():
    @kernel
    def plain(x):
        return x / 0.0

    @kernel(reduce=True)
    def total(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    assert plain(1.0) == np.inf  # NumPy's rules, no ZeroDivisionError
    assert plain.targetoptions["nogil"] and total.targetoptions["nogil"]
    # sums may be reordered, but NaN and inf stay what they are
    for bad in (np.nan, np.inf):
        x = np.ones(100)
        x[40] = bad
        assert np.isnan(total(x)) if np.isnan(bad) else total(x) == np.inf
    assert not {"nnan", "ninf", "fast"} & set(total.targetoptions["fastmath"])


def test_nobody_hears_of_a_message_without_listening(capfd):
    heard = []
    with listening(heard.append):
        _jit.notify("one")
    _jit.notify("two")
    assert heard == ["one"]
    assert capfd.readouterr() == ("", "")
