"""Merging hints. Rules: pkg/scheduler/frameworkext/topologymanager."""

import pytest

from cpuplan.upstream.koordinator.nodenumaresource.topologymanager import (
    Hint,
    Nodes,
    ProviderHints,
    merge,
)
from cpuplan.upstream.kubernetes.errors import PanicError

BOTH = Nodes((0, 1))
FIRST, SECOND, ANY = 0b01, 0b10, 0b11


def _hints(*rows: tuple[int, bool], resource: str = "cpu") -> ProviderHints:
    return {resource: [Hint(mask, is_preferred) for mask, is_preferred in rows]}


FREE = _hints((FIRST, True), (SECOND, True), (ANY, False))


@pytest.mark.parametrize("policy", ["BestEffort", "Restricted", "SingleNUMANode"])
def test_the_lower_number_of_equals(policy: str) -> None:
    verdict = merge(policy, BOTH, [FREE])
    assert (verdict.hint.affinity, verdict.is_admitted) == (FIRST, True)


def test_a_later_mask_with_a_higher_score() -> None:
    scored = {"cpu": [Hint(FIRST, True, 10), Hint(SECOND, True, 11)]}
    assert merge("Restricted", BOTH, [scored]).hint.affinity == SECOND
    assert merge("Restricted", BOTH, [{"cpu": scored["cpu"][::-1]}]).hint.affinity == FIRST


def test_resources_must_agree_on_a_mask() -> None:
    memory = _hints((SECOND, True), resource="memory")
    assert merge("SingleNUMANode", BOTH, [FREE, memory]).hint.affinity == SECOND
    wide = _hints((ANY, True), resource="memory")
    verdict = merge("Restricted", BOTH, [FREE, wide])
    (reason,) = verdict.reasons
    cpu, memory_ = "cpu prefer [01 10] among [01 10 11]", "memory prefer [11] among [11]"
    assert reason == f"Unaligned NUMA Hint cause {cpu} & {memory_}"
    assert merge("BestEffort", BOTH, [FREE, wide]).hint == Hint(ANY)


def test_nothing_that_fits() -> None:
    verdict = merge("SingleNUMANode", BOTH, [{"memory": [], "cpu": []}])
    assert verdict.reasons == ("Unsatisfied NUMA cpu", "Unsatisfied NUMA memory")


def test_one_numa_node_is_no_preference() -> None:
    """The mask equals that of the machine and is dropped: the pod gets no numaNodeResources."""
    verdict = merge("SingleNUMANode", Nodes((0,)), [_hints((FIRST, True))])
    assert (verdict.hint.affinity, verdict.is_admitted) == (None, True)


@pytest.mark.parametrize(
    ("statuses", "affinity", "admitted"),
    [
        pytest.param(["shared", "idle"], SECOND, True, id="not among pods of several"),
        pytest.param(["shared", "shared"], FIRST, False, id="nowhere"),
        pytest.param(["single", "idle"], FIRST, True, id="among pods of one"),
    ],
)
def test_exclusive(statuses: list[str], affinity: int, *, admitted: bool) -> None:
    verdict = merge("Restricted", Nodes((0, 1), statuses, "Required"), [FREE])
    assert (verdict.hint.affinity, verdict.is_admitted) == (affinity, admitted)


def test_gaps_between_numa_nodes_crash() -> None:
    """The statuses are those of nodes 0 and 1, whatever the zones are called."""
    with pytest.raises(PanicError, match=r"index out of range \[2\] with length 2"):
        merge("Restricted", Nodes((0, 2), ["idle", "idle"], "Required"), [_hints((0b100, True))])


@pytest.mark.parametrize("policy", ["None", "single-numa-node"])
def test_other_policies_crash(policy: str) -> None:
    with pytest.raises(PanicError, match="nil pointer dereference"):
        merge(policy, BOTH, [FREE])
