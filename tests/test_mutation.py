"""Every fact of a node that is changed is found, and nothing else is."""

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.mutation import cases, table
from tests.mutation.mutation import Outcome

#: Looked at in each run: of each kind of platform one. The others take as long each.
QUICK = ("containerd", "flat-domain", "openshift", "pods")
#: What is not found, as `family: change` for `re`, and why that is right. It may only shrink.
ACCEPTED: Mapping[str, str] = {
    r"missing: sys/devices/system/cpu/present": "the folders of CPUs show the same",
}
#: The same of the hosts that others captured, which lack folders that a node has.
OF_HOSTS: Mapping[str, str] = {
    r"files: /etc/udev/rules\.d/.*: removed": "the copy has no other file of that folder",
    r"files: /var/lib/ovn-ic/.*: removed": "the copy has nothing below /var/lib",
    r"missing: sys/devices/pci.*/numa_node": "the inventory does not name the device",
}
NAMES = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in cases.names()
]


@pytest.fixture(params=NAMES)
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    """What the check says of each change of a node."""
    return list(table.outcomes(cases.case(str(request.param))))


def test_each_change_is_found_and_nothing_else(outcomes: list[Outcome]) -> None:
    missed = [name for name in _missed(outcomes) if not _is_accepted(name)]
    wrongly = {_name(outcome): outcome.wrongly for outcome in outcomes if outcome.wrongly}
    assert (missed, wrongly) == ([], {})


@pytest.mark.slow
def test_what_is_accepted_is_missed_somewhere() -> None:
    missed = [name for case in QUICK for name in _missed(table.outcomes(cases.case(case)))]
    for pattern in ACCEPTED:
        assert any(re.match(pattern, name) for name in missed), pattern


def _missed(outcomes: Iterator[Outcome] | list[Outcome]) -> list[str]:
    return [_name(outcome) for outcome in outcomes if not outcome.is_found]


def _name(outcome: Outcome) -> str:
    return f"{outcome.mutation.family}: {outcome.mutation.name}"


def _is_accepted(name: str) -> bool:
    return any(re.match(pattern, name) for pattern in (*ACCEPTED, *OF_HOSTS))
