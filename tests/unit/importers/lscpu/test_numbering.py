"""Siblings and sockets by counts and NUMA nodes: how firmwares number, and what stays unclear."""

from typing import NamedTuple

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers.lscpu.numbering import Counts, UntoldError, numbered_groups


class Given(NamedTuple):
    """What is known of a machine."""

    architecture: str
    online: str
    threads: int
    cores: int
    sockets: int
    nodes: list[str]


#: What is known, the first two cores, the sockets.
TOLD: dict[str, tuple[Given, list[str], list[str]]] = {
    "blocks": (
        Given("x86_64", "0-15", 2, 4, 2, ["0-3,8-11", "4-7,12-15"]),
        ["0,8", "1,9"], ["0-3,8-11", "4-7,12-15"],
    ),
    "interleaved": (
        Given("x86_64", "0-7", 2, 2, 2, ["0,2,4,6", "1,3,5,7"]),
        ["0,4", "1,5"], ["0,2,4,6", "1,3,5,7"],
    ),
    "one node": (Given("x86_64", "0-3", 1, 4, 1, ["0-3"]), ["0", "1"], ["0-3"]),
    "two nodes a socket": (
        Given("x86_64", "0-7", 1, 4, 2, ["0-1", "2-3", "4-5", "6-7"]), ["0", "1"], ["0-3", "4-7"],
    ),
    "interleaved clusters": (
        Given("x86_64", "0-7", 1, 4, 2, ["0,4", "1,5", "2,6", "3,7"]),
        ["0", "1"], ["0,2,4,6", "1,3,5,7"],
    ),
    "guest": (Given("x86_64", "0-7", 2, 2, 2, ["0-3", "4-7"]), ["0-1", "2-3"], ["0-3", "4-7"]),
    "a socket for each CPU": (
        Given("x86_64", "0-2", 1, 1, 3, ["0-2"]),
        ["0", "1"], ["0", "1", "2"],
    ),
    "POWER": (Given("ppc64le", "8-23", 8, 2, 1, ["8-23"]), ["8-15", "16-23"], ["8-23"]),
    "Arm with threads": (
        Given("aarch64", "0-7", 2, 2, 2, ["0-3", "4-7"]),
        ["0,2", "1,3"], ["0-3", "4-7"],
    ),
    "sockets in another order": (
        Given("x86_64", "0-3", 1, 2, 2, ["2-3", "0-1"]),
        ["0", "1"], ["0-1", "2-3"],
    ),
    "some CPUs offline": (
        Given("x86_64", "0-2,4-7", 1, 4, 2, ["0-2", "4-7"]),
        ["0", "1"], ["0-2", "4-7"],
    ),
}  # fmt: skip
UNTOLD = {
    "one node, a server or a guest": (Given("x86_64", "0-7", 2, 4, 1, ["0-7"]), "siblings"),
    "cores that differ": (Given("x86_64", "0-5", 2, 4, 1, ["0-5"]), "siblings"),
    "one node, two sockets": (Given("x86_64", "0-7", 1, 4, 2, ["0-7"]), "sockets"),
    "a node of two sockets": (Given("x86_64", "0-11", 1, 4, 3, ["0-7", "8-11"]), "sockets"),
    "nodes larger than a socket": (Given("x86_64", "0-7", 1, 4, 2, ["0-5", "6-7"]), "sockets"),
    "no habit": (Given("ppc64le", "0-7", 2, 2, 2, ["0,2,4,6", "1,3,5,7"]), "siblings"),
    "no nodes": (Given("x86_64", "0-7", 1, 4, 2, []), "sockets"),
}


def counts(given: Given) -> Counts:
    nodes = {number: CpuSet.parse(cpus) for number, cpus in enumerate(given.nodes)}
    online = CpuSet.parse(given.online)
    return Counts(given.architecture, online, given.threads, given.cores, given.sockets, nodes)


@pytest.mark.parametrize(("given", "cores", "sockets"), TOLD.values(), ids=TOLD)
def test_groups(given: Given, cores: list[str], sockets: list[str]) -> None:
    groups = numbered_groups(counts(given))
    assert [str(cpus) for cpus in groups.siblings[:2]] == cores
    by_socket: dict[int, list[int]] = {}
    for cpu, socket in groups.sockets.items():
        by_socket.setdefault(socket, []).append(cpu)
    assert [str(CpuSet(by_socket[socket])) for socket in sorted(by_socket)] == sockets


@pytest.mark.parametrize(("given", "what"), UNTOLD.values(), ids=UNTOLD)
def test_untold(given: Given, what: str) -> None:
    with pytest.raises(UntoldError) as caught:
        numbered_groups(counts(given))
    assert caught.value.what == what


def test_rules_are_said() -> None:
    assert numbered_groups(counts(TOLD["two nodes a socket"][0])).rules == (
        "each 2 NUMA nodes in a row are one socket",
    )
    assert numbered_groups(counts(TOLD["one node"][0])).rules == ()
