"""Lets every test import `tests.…`: pytest puts the parent of this folder on the path."""

import gc
import resource
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from cpuplan.cli import options

# A machine that does something else besides must not fail a test: time is for benchmarks.
hypothesis.settings.register_profile("cpuplan", deadline=None)
hypothesis.settings.load_profile("cpuplan")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of the tests' own: no record of another run answers, and no class of it.

    Tests of what is kept take CPUPLAN_NO_CACHE away; what says that this is CI is away in all.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUPLAN_NO_CACHE", "1")
        for name in ("CI", *options._CI):
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: looking for garbage in them takes a tenth of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


#: The most memory that each process of a run had, in MB.
_PEAKS: list[int] = []


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist sends what it had at most."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak"] = _peak()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """The process with the terminal takes it; one that was killed has sent nothing."""
    _PEAKS.append(getattr(node, "workeroutput", {}).get("peak", 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the most: a worker stays below 1 GB."""
    terminalreporter.write_line(f"memory: {max(_PEAKS or [_peak()])} MB at most in a process")
