"""Registries of modules: each line names a module of its name, which loads when it is asked for."""

import subprocess
import sys

import pytest

from cpuplan.backends.registry import BACKENDS, COMPONENTS
from cpuplan.facts.platforms import PLATFORMS

_LOADED = """\
import sys
from cpuplan import backends
from cpuplan.backends.registry import BACKENDS, COMPONENTS
assert "crio" in COMPONENTS["kubernetes"] and len(BACKENDS)
BACKENDS["kubernetes"]
print(*sys.modules)
"""


@pytest.mark.parametrize("platform", PLATFORMS)
def test_components_are_registered_by_their_names(platform: str) -> None:
    names = {component.NAME: name for name, component in COMPONENTS[platform].items()}
    assert names == {name: name for name in COMPONENTS[platform]}


def test_each_platform_has_a_backend_and_its_components() -> None:
    assert set(BACKENDS) == set(COMPONENTS) == set(PLATFORMS)


def test_what_is_not_asked_for_is_not_loaded() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.split())
    assert "cpuplan.backends.kubernetes" in loaded
    assert not loaded & {
        "cpuplan.backends.openshift",
        "cpuplan.backends.koordinator",
        "cpuplan.backends.dra",
        "cpuplan.components.nri.balloons",
        "cpuplan.solve.solver",
    }
