"""Names that a release of Koordinator does not read, and what to do about each."""

import pytest

from cpuplan.facts.versions import Version
from cpuplan.simulate.files import koordinator_pods
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.releases import NODE_NAMES, POD_NAMES, PROPOSED, Span

[(PROPOSAL, TODAY)] = PROPOSED.items()


@pytest.mark.parametrize(
    ("name", "names", "problem"),
    [
        (constants.QOS, POD_NAMES, None),
        (constants.QOS, NODE_NAMES, "it belongs to pods"),
        (constants.CPU_BIND_POLICY, POD_NAMES, "it belongs to nodes"),
        (constants.CPU_BIND_POLICY, NODE_NAMES, None),
        (constants.QOS.upper(), POD_NAMES, "names are compared letter by letter"),
        (PROPOSAL, NODE_NAMES, "it is a name of the proposal of 2022 only"),
        (f"{constants.NODE}unheard-of", NODE_NAMES, "no release has the name"),
        (f"{constants.NODE}unheard-of", POD_NAMES, None),
        ("example.com/x", NODE_NAMES, None),
        (constants.NUMA_TOPOLOGY_SPEC, POD_NAMES, "it is read from release 1.5 on"),
    ],
)
def test_names(name: str, names: dict[str, Span], problem: str | None) -> None:
    """Of release 1.4."""
    why = koordinator_pods._unread(name, names, (1, 4))
    assert (why and why[0]) == problem


@pytest.mark.parametrize(
    ("release", "hint"),
    [
        ((1, 2), "update Koordinator to 1.3 or later"),
        ((1, 3), None),
        ((1, 6), None),
        ((1, 7), "leave it out"),
    ],
)
def test_a_name_of_some_releases(release: Version, hint: str | None) -> None:
    why = koordinator_pods._other_release(Span((1, 3), (1, 6)), release)
    assert (why and why[1]) == hint


@pytest.mark.parametrize(
    ("text", "fields"), [('{"a": 1}', {"a": 1}), ("[]", {}), ("{", {}), ("", {})]
)
def test_fields_of_an_annotation(text: str, fields: dict[str, int]) -> None:
    assert koordinator_pods.fields_of(text) == fields
