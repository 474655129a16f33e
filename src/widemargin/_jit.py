"""The kernel decorator: compiled, cached on disk, released from the GIL.

``@kernel`` compiles lazily with ``nogil`` and NumPy's division rules, and keeps
the machine code on disk. Three weaknesses of Numba's cache are mended here:

- no folder can be written: the kernel is compiled for this process alone;
- a cache file is damaged (killed process, full disk): it is compiled again;
- a helper in *another* file changed: Numba compares the time stamp of one file
  only and would run old code. Our stamp covers every source file of the
  package, so kernels may call helpers across files.

``@kernel(reduce=True)`` also lets the compiler reorder sums. It never assumes
that there is no NaN or inf, which we test for.
"""

import functools
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from widemargin.progress import notify

_REDUCE = {"reassoc", "contract", "nsz", "arcp"}
_announced = False


@functools.cache
def _package_stamp() -> tuple[tuple[str, int, int], ...]:
    root = Path(__file__).parent
    stamps = []
    for folder in (root, root / "solvers"):
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                stat = entry.stat()
                stamps.append((entry.name, stat.st_mtime_ns, stat.st_size))
    return tuple(sorted(stamps))


class _Cache(FunctionCache):
    """Numba's cache, stamped with the whole package and safe to break."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_package_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except (EOFError, OSError, pickle.UnpicklingError, ValueError, KeyError):
            found = None
            try:
                self.flush()
            except OSError:
                self.disable()
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # disk full, folder gone: only this process profits
            self.disable()


class _NoCache(NullCache):
    """For this process alone; says that it compiles, since it does so every time."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _announce()


def _announce() -> None:
    global _announced
    if not _announced:
        _announced = True
        notify("compiling for this machine, once; later runs start at once ...")


def _compile(function: Callable[..., Any], reduce: bool) -> Any:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if reduce:
        options["fastmath"] = _REDUCE
    compiled = numba.njit(**options)(function)
    if hasattr(compiled, "_cache"):  # not so under NUMBA_DISABLE_JIT
        try:
            compiled._cache = _Cache(function)
        except RuntimeError:  # nowhere to write
            compiled._cache = _NoCache()
    return compiled


@overload
def kernel(function: Callable[..., Any]) -> Any: ...
@overload
def kernel(*, reduce: bool = ...) -> Callable[[Callable[..., Any]], Any]: ...
def kernel(function: Callable[..., Any] | None = None, *, reduce: bool = False) -> Any:
    """Compile `function` on its first call; see the module's docstring."""
    if function is None:
        return functools.partial(_compile, reduce=reduce)
    return _compile(function, reduce)
