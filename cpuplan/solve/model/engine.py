"""CP-SAT's module, loaded when a layout is first solved, without what no layout needs.

OR-Tools imports pandas, which is most of the time and memory that it takes to load, and NumPy,
whose linear algebra starts threads: a process with threads cannot be copied for workers.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

_PANDAS = "pandas"
#: Of the libraries for linear algebra that NumPy is built with.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@cache
def cp_model() -> Any:
    """The module `ortools.sat.python.cp_model`."""
    with _without_pandas(), _one_thread():
        from ortools.sat.python import cp_model as module

        return module


class _Types(ModuleType):
    """A module of types that no value has."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def _without_pandas() -> Iterator[None]:
    """CP-SAT asks only whether it is given values of pandas, which it never is here."""
    if _PANDAS in sys.modules:
        yield
        return
    sys.modules[_PANDAS] = _Types(_PANDAS)
    try:
        yield
    finally:
        del sys.modules[_PANDAS]


@contextmanager
def _one_thread() -> Iterator[None]:
    """What the environment says of threads is as before afterwards."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ |= dict.fromkeys(_THREADS, "1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
