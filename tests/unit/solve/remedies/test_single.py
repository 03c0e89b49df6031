"""Changes of one statement: what is tried, in words, and the intent that each of them makes."""

from typing import Any

import pytest

from cpuplan.plan import NodeClass
from cpuplan.solve.layout import set_specs
from cpuplan.solve.remedies import single
from cpuplan.solve.remedies.attempt import Change
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import machine, node_class

#: Two sockets, four NUMA nodes and caches, eight cores.
EIGHT = machine(8, 2, sockets=2, numa_nodes=4, caches=4)
CORE = {"cores": 1}


def node(pools: dict[str, Any], **more: Any) -> NodeClass:
    return node_class(EIGHT, {"reserved": CORE} | pools, **more)


def changes(node: NodeClass, field: str) -> list[Change]:
    """Those of the statement at a field, each text once."""
    [rule] = [rule for rule in problem_of(node).rules if rule.field == field]
    made = [change for way in single.other_changes(node, rule) for change in way]
    return list({change.text: change for change in made}.values())


@pytest.mark.parametrize(
    ("pools", "field", "texts"),
    [
        ({}, "pools.reserved.cores", []),
        ({"isolated": {"count": 3}}, "pools.isolated.count", ["write isolated: rest"]),
        (
            {"isolated": {"count": 3, "per": "socket", "sibling": "idle"}},
            "pools.isolated.count",
            ["write rest: true under isolated instead of count and per"],
        ),
        ({"isolated": {"count": 3}, "shared": {"rest": True}}, "pools.isolated.count", []),
        (
            {"reserved": "0", "isolated": {"rest": True}},
            "pools.reserved.cpus",
            ["list whole cores in reserved.cpus: 0,8"],
        ),
        ({"reserved": "0,8", "isolated": {"rest": True}}, "pools.reserved.cpus", []),
        (
            {"shared": CORE | {"numaNodes": "1"}},
            "pools.shared.numaNodes",
            [
                *(f"move shared to NUMA node {number}" for number in range(4)),
                "remove shared.numaNodes",
            ],
        ),
        (
            {"shared": CORE | {"within": "numaNode"}},
            "pools.shared.within",
            ["write within: socket under shared", "remove shared.within"],
        ),
        (
            {"shared": CORE | {"within": "numaNode", "per": "socket"}},
            "pools.shared.within",
            ["remove shared.within"],
        ),
        ({"shared": CORE | {"never": "3"}}, "pools.shared.never", ["remove shared.never"]),
        (
            {"shared": CORE | {"apart": {"reserved": "cache", "isolated": "core"}}},
            "pools.shared.apart.isolated",
            ["remove shared.apart.isolated"],
        ),
        (
            {"shared": CORE, "isolated": {"rest": True}},
            "pools.shared.wholeCores",
            [
                "write wholeCores: false under shared",
                "write wholeCores: false under reserved, shared and isolated",
            ],
        ),
        (
            {"shared": CORE, "isolated": {"rest": True, "wholeCores": True}},
            "pools.shared.wholeCores",
            [
                "write wholeCores: false under shared",
                "write wholeCores: false under shared and isolated",
                "write wholeCores: false under reserved, shared and isolated",
            ],
        ),
        ({}, "rules.cpu0-reserved", ["switch off the rule cpu0-reserved and give a reason"]),
    ],
)
def test_what_is_tried(pools: dict[str, Any], field: str, texts: list[str]) -> None:
    assert [change.text for change in changes(node(pools), field)] == texts


def test_rest_takes_the_place_of_all_numbers() -> None:
    pool = {"count": 3, "per": "socket", "sibling": "idle", "min": 2}
    written = node({"isolated": {"count": 3, "per": "socket", "sibling": "idle"}})
    (change,) = changes(written, "pools.isolated.count")
    isolated = change.edit(written).spec.pools.isolated
    assert isolated is not None
    assert isolated.rest is True
    assert (isolated.count, isolated.per, isolated.min) == (None, "machine", None)
    assert isolated.sibling == pool["sibling"]


def test_what_is_removed_is_away_and_the_others_stay() -> None:
    written = node({"shared": CORE | {"apart": {"reserved": "cache", "isolated": "core"}}})
    (change,) = changes(written, "pools.shared.apart.isolated")
    shared = change.edit(written).spec.pools.shared
    assert shared is not None
    assert shared.apart == {"reserved": "cache"}


def test_a_set_moves_to_one_place_only() -> None:
    written = node({"shared": CORE | {"numaNodes": "1-2"}})
    moved = [change.edit(written) for change in changes(written, "pools.shared.numaNodes")]
    pools = [node.spec.pools.shared for node in moved]
    places = [pool.numa_nodes if pool else None for pool in pools]
    assert [cpus and str(cpus) for cpus in places] == ["0", "1", "2", "3", None]


def test_a_rule_is_switched_off_beside_the_others() -> None:
    on = [{"enable": "reserved-on-every-numa-node", "because": "-"}]
    written = node({}, rules=on)
    name = "rules.reserved-on-every-numa-node"
    (change,) = changes(written, name)
    assert name not in [rule.field for rule in problem_of(change.edit(written)).rules]
    (other,) = changes(written, "rules.cpu0-reserved")
    fields = [rule.field for rule in problem_of(other.edit(written)).rules]
    assert name in fields
    assert "rules.cpu0-reserved" not in fields


def test_a_partition_that_is_needed_is_not_removed() -> None:
    parts = {"a": CORE, "b": CORE}
    rest = {"rest": True, "partitions": parts}
    both = node({"isolated": rest, "reserved": {"partitions": {"irq": CORE}}})
    removed = single.removal(both, "isolated.a")
    assert removed is not None
    assert removed.text == "remove isolated.partitions.a"
    isolated = removed.edit(both).spec.pools.isolated
    assert isolated is not None
    assert list(isolated.partitions) == ["b"]
    assert single.removal(both, "isolated") is None
    assert single.removal(both, "offlined.a") is None
    # Its pool has no CPUs but those of the partition.
    assert single.removal(both, "reserved.irq") is None
    reserved = {"cores": 3, "partitions": {"irq": CORE, "b": CORE}}
    of_interrupts = node({"reserved": reserved}, isolation={"interrupts": "reserved.irq"})
    assert single.removal(of_interrupts, "reserved.irq") is None
    assert single.removal(of_interrupts, "reserved.b") is not None


@pytest.mark.parametrize(
    ("pools", "remedies"),
    [
        (
            {"reserved": "0", "isolated": {"rest": True}},
            {"reserved": "list 0,8, or write wholeCores: false under reserved"},
        ),
        (
            {"reserved": "0-1", "isolated": "8-9", "shared": {"rest": True}},
            {
                "reserved": "list 0,8, or write wholeCores: false under reserved",
                "isolated": "list 1,9, or write wholeCores: false under isolated",
            },
        ),
    ],
)
def test_lists_that_split_cores(pools: dict[str, Any], remedies: dict[str, str]) -> None:
    written = node(pools)
    split = [spec for name, spec in set_specs(written).items() if name in remedies]
    assert single.list_remedies(written, split) == remedies
