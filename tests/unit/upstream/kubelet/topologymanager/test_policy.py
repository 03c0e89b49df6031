"""Merging hints. Rules: pkg/kubelet/cm/topologymanager/policy.go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.upstream.kubelet.policy_options import TopologyOptions
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NUMAInfo,
    Policy,
    ProviderHints,
    TopologyHint,
    _met,
    new_policy,
)
from cpuplan.upstream.kubernetes.bits import bits_of, masks_over
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError, TooManySetsError

NODES = NUMAInfo((0, 1), {0: (10, 21), 1: (21, 10)})
#: 0 and 3 are closer to each other than any other two.
RING = NUMAInfo(
    (0, 1, 2, 3),
    {0: (10, 30, 30, 12), 1: (30, 10, 30, 30), 2: (30, 30, 10, 30), 3: (12, 30, 30, 10)},
)
CLOSEST = {"prefer-closest-numa-nodes": "true"}


def hint(*nodes: int, preferred: bool = True) -> TopologyHint:
    return TopologyHint(bits_of(nodes), preferred)


ANY = TopologyHint(None, preferred=True)
NONE = TopologyHint(None, preferred=False)
BOTH = hint(0, 1, preferred=False)


@pytest.mark.parametrize(
    ("policy", "providers", "best", "admitted"),
    [
        pytest.param("none", [{"cpu": []}], NONE, True, id="none looks at nothing"),
        pytest.param("restricted", [None], hint(0, 1), True, id="nobody has a preference"),
        pytest.param("single-numa-node", [None], ANY, True, id="all nodes are any node"),
        pytest.param(
            "restricted",
            [{"cpu": [hint(0), hint(1)]}, {"gpu": [hint(1)]}],
            hint(1),
            True,
            id="in common",
        ),
        pytest.param(
            "restricted",
            [{"cpu": [hint(0)]}, {"gpu": [hint(1)]}],
            BOTH,
            False,
            id="nothing in common",
        ),
        pytest.param(
            "best-effort",
            [{"cpu": [hint(0)]}, {"gpu": [hint(1)]}],
            BOTH,
            True,
            id="admitted anyway",
        ),
        pytest.param("restricted", [{"cpu": []}], BOTH, False, id="an empty list refuses"),
        pytest.param("restricted", [{}], hint(0, 1), True, id="an empty map does not"),
        pytest.param(
            "restricted",
            [{"gpu": None}, {"cpu": [hint(1)]}],
            hint(1),
            True,
            id="no preference for one",
        ),
        pytest.param("restricted", [{"cpu": [BOTH]}], BOTH, False, id="not preferred"),
        pytest.param(
            "single-numa-node", [{"cpu": [hint(0, 1)]}], NONE, False, id="preferred, but two nodes"
        ),
        pytest.param(
            "single-numa-node",
            [{"cpu": [hint(0)]}, {"gpu": [ANY]}],
            hint(0),
            True,
            id="one node and any",
        ),
    ],
)
def test_policies(
    policy: str, providers: list[ProviderHints | None], best: TopologyHint, admitted: bool
) -> None:
    chosen = new_policy(policy, NODES, {})
    assert chosen.merge(providers) == best
    assert chosen.admits(best) is admitted


def test_without_a_preferred_hint_the_width_of_the_narrowest_mask_decides() -> None:
    providers: list[ProviderHints | None] = [
        {"cpu": [hint(0, 1, preferred=False), hint(0, preferred=False)]}
    ]
    providers.append({"memory": [hint(0, 1, preferred=False)]})
    assert new_policy("best-effort", NODES, {}).merge(providers) == BOTH


def test_prefer_closest_numa_nodes() -> None:
    providers: list[ProviderHints | None] = [{"cpu": [hint(0, 1), hint(0, 3)]}]
    assert new_policy("restricted", RING, {}).merge(providers) == hint(0, 1)
    assert new_policy("restricted", RING, CLOSEST).merge(providers) == hint(0, 3)


@pytest.mark.parametrize(
    ("policy", "options", "scope", "message"),
    [
        ("bogus", {}, "container", 'unknown policy: "bogus"'),
        ("restricted", {}, "bogus", 'unknown scope: "bogus"'),
        (
            "restricted",
            {"max-allowable-numa-nodes": "7"},
            "container",
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
        ("restricted", {"x": "true"}, "container", 'unknown Topology Manager Policy option: "x"'),
    ],
)
def test_managers_that_are_not_created(
    policy: str, options: dict[str, str], scope: str, message: str
) -> None:
    with pytest.raises(KubeletError) as caught:
        new_policy(policy, NODES, options, scope=scope)
    assert str(caught.value) == message
    assert new_policy("none", NODES, options, scope=scope).name == "none"


def test_memory_only_nodes_count_for_the_limit() -> None:
    nine = NUMAInfo(tuple(range(9)), {})
    with pytest.raises(KubeletError, match="unsupported on machines with more than 8 NUMA Nodes"):
        new_policy("restricted", nine, {})
    assert new_policy("restricted", nine, {"max-allowable-numa-nodes": "9"}).name == "restricted"


def test_bug_sparse_node_ids_crash_the_kubelet_when_distances_are_compared() -> None:
    """numa_info.go reads the rows by node id, cadvisor fills them by position."""
    sparse = NUMAInfo((0, 2), {0: (10, 21), 2: (21, 10)})
    policy = new_policy("restricted", sparse, CLOSEST)
    assert policy.merge([{"cpu": [hint(0), hint(0, 2, preferred=False)]}]) == hint(0)
    with pytest.raises(PanicError) as caught:
        policy.merge([{"cpu": [hint(0), hint(2)]}])
    assert str(caught.value) == "runtime error: index out of range [2] with length 2"


HINTS = st.lists(
    st.builds(TopologyHint, st.one_of(st.none(), st.integers(1, 15)), st.booleans()),
    min_size=1,
    max_size=5,
)


class Folding(Policy):
    """The kubelet's way, one combination after the other."""

    def _best(self, lists: list[list[TopologyHint]]) -> TopologyHint | None:  # type: ignore[override]
        return self._fold(lists)


@given(st.lists(HINTS, min_size=1, max_size=3), st.booleans())
def test_the_order_of_combinations_does_not_matter(
    lists: list[list[TopologyHint]], closest: bool
) -> None:
    options = TopologyOptions(prefer_closest_numa_nodes=closest)
    providers: list[ProviderHints | None] = [{"resource": list(hints)} for hints in lists]
    expected = Folding("restricted", RING, options).merge(providers)
    assert Policy("restricted", RING, options).merge(providers) == expected


_SOME = st.sets(st.integers(1, 31), min_size=1)


@given(masks=_SOME, others=_SOME)
def test_intersections_at_once_are_those_of_pairs(masks: set[int], others: set[int]) -> None:
    spread = {mask << 3 for mask in masks}
    pairs = {mask & (other << 3) for mask in spread for other in others}
    assert _met(spread, [other << 3 for other in others], (3, 4, 5, 6, 7)) == pairs - {0}


def test_hints_of_sixteen_numa_nodes_are_merged() -> None:
    """65,535 masks of each of two managers: the kubelet looks at four billion combinations."""
    nodes = tuple(range(16))
    numa = NUMAInfo(nodes, dict.fromkeys(nodes, (10,) * 16))
    policy = Policy("best-effort", numa, TopologyOptions())
    wide = [
        TopologyHint(mask, len(group) == 3) for mask, group in masks_over(nodes) if mask & 7 == 7
    ]
    narrow = [TopologyHint(mask, len(group) == 1) for mask, group in masks_over(nodes)]
    assert policy.merge([{"cpu": wide}, {"memory": narrow}]) == hint(0, 1, 2, preferred=False)


def test_more_sets_of_numa_nodes_are_not_looked_at() -> None:
    with pytest.raises(TooManySetsError, match=r"2\^36 sets .* does not come to an end"):
        masks_over(tuple(range(36)))
    with pytest.raises(TooManySetsError, match=r"1,048,576 sets .* is not simulated"):
        masks_over(tuple(range(20)))


def test_more_combinations_of_hints_are_not_compared() -> None:
    """kubernetes/kubernetes#131738: 2^32 took 21 minutes."""
    nodes = tuple(range(12))
    policy = Policy("best-effort", NUMAInfo(nodes, {}), TopologyOptions())
    hints = [TopologyHint(mask, len(group) == 1) for mask, group in masks_over(nodes)]
    with pytest.raises(TooManySetsError, match=r"2\^47 combinations .* does not come to an end"):
        policy.merge([{"cpu": hints, "memory": hints}, {"gpu": hints, "nic": hints}])


def test_a_node_without_a_number() -> None:
    """cAdvisor has -1 on s390 without NUMA nodes: only the policy none makes no mask of it."""
    nodes = NODES._replace(nodes=(-1,))
    assert new_policy("none", nodes, {}).merge([]).affinity is None
    with pytest.raises(PanicError, match="nil pointer"):
        new_policy("restricted", nodes, {})
