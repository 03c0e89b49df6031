"""Topology hints of the CPU manager."""

import pytest

from cpuplan.upstream.kubelet.cpumanager.policy_static import (
    generate_cpu_topology_hints as generate,
)
from cpuplan.upstream.kubernetes.bits import bits_of, members, parse_cpus
from tests.machines.cputopologies import all_but, regular

DUAL = regular(2, 2, 6)
QUAD = regular(2, 4, 4)  # two NUMA nodes in each socket

Hints = list[tuple[list[int], bool]]


@pytest.mark.parametrize(
    ("free", "reusable", "count", "hints"),
    [
        pytest.param("0-23", "", 2, [([0], True), ([1], True), ([0, 1], False)], id="any node"),
        pytest.param("6-11", "", 6, [([1], True), ([0, 1], False)], id="one node is full"),
        pytest.param(
            "1-23",
            "",
            12,
            [([1], True), ([0, 1], False)],
            id="reserved CPUs count for what is preferred",
        ),
        pytest.param(
            "1-5,7-23", "", 12, [([0, 1], False)], id="not preferred: one node could do it"
        ),
        pytest.param("0-23", "", 14, [([0, 1], True)], id="both nodes are needed"),
        pytest.param("0-23", "", 30, [], id="too many"),
        pytest.param(
            "6-11", "0,12", 2, [([0], True), ([0, 1], False)], id="reusable CPUs must be inside"
        ),
        pytest.param(
            "0-1", "0-1", 4, [([0], True), ([0, 1], False)], id="free and reusable: counted twice"
        ),
    ],
)
def test_masks(free: str, reusable: str, count: int, hints: Hints) -> None:
    generated = generate(DUAL, parse_cpus(free), parse_cpus(reusable), count)
    assert [(members(hint.affinity or 0), hint.preferred) for hint in generated] == hints


def test_align_by_socket_also_prefers_all_nodes_of_a_socket() -> None:
    hints = generate(QUAD, all_but(QUAD), 0, 4, align_by_socket=True)
    preferred = [members(hint.affinity or 0) for hint in hints if hint.preferred]
    assert preferred == [[0], [1], [2], [3], [0, 1], [2, 3]]


def test_cpus_that_the_machine_lacks_count_as_those_of_node_0() -> None:
    """A map's zero value in Go; a state file can have such CPUs until the next start."""
    hints = generate(DUAL, bits_of([100, 101]), 0, 2)
    assert [members(hint.affinity or 0) for hint in hints] == [[0], [0, 1]]
