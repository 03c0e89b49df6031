"""The table of what changed. What each row changes is tested where the rule is."""

import pytest

from cpuplan.facts import programs
from cpuplan.upstream.kubernetes import kube_features

#: The documentation of this version was read, if not its source.
READ_OF = programs.newest(programs.KUBERNETES)


@pytest.mark.parametrize("name", kube_features.BEHAVIOUR_SINCE)
def test_rows_change_with_their_version(name: str) -> None:
    major, minor = kube_features.BEHAVIOUR_SINCE[name]
    assert kube_features.has_behaviour((major, minor), name)
    assert not kube_features.has_behaviour((major, minor - 1), name)
    assert kube_features.has_behaviour(READ_OF, name), "the rules are those of the latest version"


@pytest.mark.parametrize("name", kube_features.OPENSHIFT_BEHAVIOUR_SINCE)
def test_openshift_had_some_earlier(name: str) -> None:
    version = kube_features.OPENSHIFT_BEHAVIOUR_SINCE[name]
    assert kube_features.has_behaviour(version, name, is_openshift=True)
    assert not kube_features.has_behaviour(version, name)
