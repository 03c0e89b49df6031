"""Which pools a node belongs to."""

import pytest

from cpuplan.upstream.mco.common import McoError, NodePoolError
from cpuplan.upstream.mco.helpers import Membership, name_of, pools_for_node
from tests.unit.upstream.mco.objects import node, pool

POOLS = [pool("worker"), pool("master"), pool("cnf")]


def names(membership: Membership) -> list[str]:
    return [name_of(item) for item in membership.pools]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["worker"], ["worker"]),
        (["worker", "cnf"], ["cnf", "worker"]),
        (["cnf"], ["cnf"]),
        (["master", "worker"], ["master"]),
        (["master", "cnf"], ["master"]),
        (["master", "worker", "cnf"], ["master", "worker"]),
        (["infra"], []),
    ],
)
def test_master_before_custom_before_worker(roles: list[str], expected: list[str]) -> None:
    assert names(pools_for_node(node(*roles), POOLS)) == expected


def test_a_custom_role_of_a_master_is_ignored() -> None:
    assert pools_for_node(node("master", "cnf"), POOLS).is_custom_role_ignored
    assert not pools_for_node(node("worker", "cnf"), POOLS).is_custom_role_ignored
    assert not pools_for_node(node("master", "worker"), POOLS).is_custom_role_ignored


@pytest.mark.parametrize("name", ["infra", "arbiter"])
def test_two_custom_pools_are_refused(name: str) -> None:
    with pytest.raises(NodePoolError) as caught:
        pools_for_node(node("cnf", name), [*POOLS, pool(name)])
    assert caught.value.facts == {"node": "n1", "pools": ("cnf", name)}


def test_custom_goes_by_the_node_selector_and_not_by_the_name() -> None:
    by_label = pool("cnf", node_role="tuned")
    assert names(pools_for_node(node("worker", "cnf"), [pool("worker"), by_label])) == ["worker"]
    assert names(pools_for_node(node("tuned"), [pool("worker"), by_label])) == ["cnf"]


def test_a_node_with_windows_has_no_pool() -> None:
    windows = node("worker", **{"kubernetes.io/os": "windows"})
    assert names(pools_for_node(windows, POOLS)) == []


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
def test_an_empty_node_selector_selects_nothing(selector: dict[str, object] | None) -> None:
    empty = {"metadata": {"name": "cnf"}, "spec": {"nodeSelector": selector}}
    assert names(pools_for_node(node("worker"), [pool("worker"), empty])) == ["worker"]


def test_one_broken_selector_breaks_the_answer_for_every_node() -> None:
    expression = {"key": "a", "operator": "In", "values": []}
    broken = {
        "metadata": {"name": "cnf"},
        "spec": {"nodeSelector": {"matchExpressions": [expression]}},
    }
    with pytest.raises(McoError):
        pools_for_node(node("worker"), [pool("worker"), broken])
