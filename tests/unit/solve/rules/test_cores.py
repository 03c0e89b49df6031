"""The rules about threads of cores, and those of the rulebook: when they hold."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import machine, node_class

CORE = {"cores": 1}


def origins(
    pools: dict[str, Any], topology: Topology | None = None, policy: str = "static", **more: Any
) -> list[str]:
    """Where the rules of an intent come from: `pool: rule` or `pool: field`."""
    node = node_class(topology or machine(4, 2), pools, policy, **more)
    return [
        f"{rule.name}: {rule.reason.origin.rpartition(':')[2]}" for rule in problem_of(node).rules
    ]


@pytest.mark.parametrize(
    ("reserved", "holds"),
    [
        ({"rest": True}, True),
        ({"rest": True, "min": 1}, False),
        ({"min": 0}, True),
        ({"max": 3}, True),
        ({"min": 1, "max": 3}, False),
        ({"cores": 1}, False),
        ({"percent": 5}, False),
        ({"percent": 5, "max": 3}, False),
        ({"percent": 5, "of": "isolated"}, True),
        ({"steps": [{"percent": 5}]}, True),
        ({"partitions": {"a": {"min": 0}}}, True),
    ],
)
def test_reserved_is_not_empty_where_its_size_may_be_none(
    reserved: dict[str, Any], holds: bool
) -> None:
    """The static policy needs a CPU: the others do not."""
    pools = {"reserved": reserved, "isolated": {"min": 1}}
    rule = "reserved: rule reserved-not-empty"
    assert (rule in origins(pools)) is holds
    assert rule not in origins(pools, policy="none")
    off = [{"disable": "reserved-not-empty", "because": "-"}]
    assert rule not in origins(pools, rules=off)


@pytest.mark.parametrize(
    ("pools", "holds"),
    [
        ({"reserved": CORE}, True),
        ({"reserved": "0,4"}, False),
        ({"reserved": {"count": 0}}, False),
        ({"reserved": CORE, "isolated": "1-3,5-7"}, True),
        ({"reserved": CORE, "isolated": "0,4"}, False),
        ({"reserved": CORE, "isolated": {"rest": True, "partitions": {"a": "0,4"}}}, False),
    ],
)
def test_cpu_0_is_reserved_where_no_list_says_otherwise(pools: dict[str, Any], holds: bool) -> None:
    rule = "reserved: rule cpu0-reserved"
    assert (rule in origins(pools)) is holds
    assert rule not in origins(pools, machine(4, 2, offline=CpuSet([0])))
    assert rule not in origins(pools, rules=[{"disable": "cpu0-reserved", "because": "-"}])


def test_a_qos_set_with_cpu_0_leaves_it_to_reserved() -> None:
    assert "reserved: rule cpu0-reserved" in origins({"reserved": CORE}, qos={"other": "0,4"})


@pytest.mark.parametrize(
    ("pools", "whole"),
    [
        ({"reserved": CORE, "isolated": {"rest": True}}, ["reserved", "isolated"]),
        ({"reserved": CORE | {"wholeCores": False}, "isolated": {"rest": True}}, []),
        ({"reserved": CORE | {"wholeCores": False}, "isolated": {"count": 2}}, ["isolated"]),
        (
            {
                "reserved": CORE | {"wholeCores": False},
                "isolated": {"rest": True, "wholeCores": True},
            },
            ["isolated"],
        ),
        (
            {"reserved": CORE, "shared": {"rest": True}, "isolated": CORE | {"sibling": "shared"}},
            ["reserved", "shared"],
        ),
    ],
)
def test_who_takes_whole_cores(pools: dict[str, Any], whole: list[str]) -> None:
    """A pool of the rest takes the threads that another one leaves."""

    def named(**more: Any) -> list[str]:
        ends = ("whole-cores", "wholeCores")
        rules = [rule.partition(": ") for rule in origins(pools, **more) if rule.endswith(ends)]
        return [name for name, _, _ in rules]

    assert named() == whole
    assert named(topology=machine(4)) == []


def test_switched_off_only_what_is_written_takes_whole_cores() -> None:
    off = [{"disable": "whole-cores", "because": "-"}]
    pools = {"reserved": CORE | {"wholeCores": True}, "isolated": {"rest": True}}
    assert [rule for rule in origins(pools, rules=off) if "hole" in rule] == [
        "reserved: spec.pools.reserved.wholeCores"
    ]


def test_nothing_but_siblings_is_idle_where_nobody_wrote_offlined() -> None:
    idle = {"reserved": CORE, "isolated": {"rest": True, "sibling": "idle"}}
    assert "offlined: rule idle" in origins(idle)
    assert "offlined: rule idle" not in origins(idle | {"offlined": CORE})
    assert "offlined: rule idle" not in origins({"reserved": CORE, "offlined": CORE})


def test_a_reserved_cpu_on_every_numa_node_is_asked_for() -> None:
    rule = "isolated: rule reserved-on-every-numa-node"
    on = [{"enable": "reserved-on-every-numa-node", "because": "-"}]
    assert rule not in origins({"reserved": CORE})
    assert rule in origins({"reserved": CORE}, rules=on)
    assert rule not in origins({"reserved": {"rest": True}, "isolated": None}, rules=on)


def test_both_qos_sets_cover_what_pods_may_use() -> None:
    rule = ": rule qos-cover"
    assert rule not in origins({"reserved": CORE}, qos={"other": CORE})
    assert rule in origins({"reserved": CORE}, qos={"other": CORE, "bestEffort": CORE})
