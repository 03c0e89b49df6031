"""Lets every test import `tests.…`: pytest puts the folder of this file's package, the repository,
on the path.
"""

from collections.abc import Iterator

import hypothesis
import pytest

# A machine that does something else besides must not fail a test: time is for benchmarks.
hypothesis.settings.register_profile("cpuplan", deadline=None)
hypothesis.settings.load_profile("cpuplan")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of the tests' own: no record of another run answers, and no class of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUPLAN_NO_CACHE", "1")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
