"""Lets every test import `tests.…`: pytest puts the parent of this folder on the path."""

from collections.abc import Iterator

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
