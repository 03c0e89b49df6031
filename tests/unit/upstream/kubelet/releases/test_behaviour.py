"""The table of what changed. What each row changes is tested where the rule is."""

import pytest

from cpuplan.upstream.kubelet.releases import behaviour
from cpuplan.upstream.kubelet.releases.features import LATEST

#: The documentation of this version was read, if not its source.
READ_OF = LATEST[0], LATEST[1] + 1


@pytest.mark.parametrize("name", behaviour.SINCE)
def test_rows_change_with_their_version(name: str) -> None:
    major, minor = behaviour.SINCE[name]
    assert behaviour.has((major, minor), name)
    assert not behaviour.has((major, minor - 1), name)
    assert behaviour.has(READ_OF, name), "the rules are those of the latest version"


@pytest.mark.parametrize("name", behaviour.OPENSHIFT_SINCE)
def test_openshift_had_some_earlier(name: str) -> None:
    version = behaviour.OPENSHIFT_SINCE[name]
    assert behaviour.has(version, name, is_openshift=True)
    assert not behaviour.has(version, name)
