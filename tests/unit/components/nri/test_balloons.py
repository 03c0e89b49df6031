"""BalloonsPolicies: what a layout becomes, and what the port of the policy makes of it."""

from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.components.nri import balloons
from cpuplan.components.nri.balloons import started
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import plain
from tests.machines.nrifiles import arriving
from tests.machines.plans import plan, regular

DUAL = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def planned(**given: Any) -> ConfiguredPlan:
    defaults = {"platform": "kubernetes", "version": "1.36", "target": {"mechanism": "balloons"}}
    return plan(given.pop("topology", DUAL), **{"reserved": "0,8", **defaults, **given})


def types_of(node: ConfiguredPlan) -> dict[str, Any]:
    settings = node.settings.of(balloons.NAME)
    prefix = "balloonTypes."
    return {
        setting.key.removeprefix(prefix): plain(setting.value)
        for setting in settings
        if setting.key.startswith(prefix)
    }


def cpus_of(node: ConfiguredPlan) -> dict[str, str]:
    balloons_now = started(node).state.balloons
    with_cpus = (balloon for balloon in balloons_now if balloon.cpus)
    return {balloon.name: str(CpuSet.from_bits(balloon.cpus)) for balloon in with_cpus}


def test_without_the_mechanism_there_is_no_object() -> None:
    node = plan(DUAL, platform="kubernetes", version="1.36", sets={"isolated.a": "4-7"})
    assert not node.settings.of(balloons.NAME)


def test_a_whole_numa_node_is_one_device() -> None:
    node = planned(sets={"isolated.a": "4-7,12-15"})
    assert types_of(node)["isolated.a"] == {
        "minBalloons": 1,
        "maxBalloons": 1,
        "minCPUs": 8,
        "maxCPUs": 8,
        "allocatorPriority": "high",
        "preferCloseToDevices": ["/sys/devices/system/node/node1"],
    }
    assert cpus_of(node) == {"isolated.a[0]": "4-7,12-15", "reserved[0]": "0,8"}


def test_a_numa_node_beside_reserved_cpus_is_one_device_too() -> None:
    node = planned(sets={"isolated.a": "1-3,9-11"})
    assert types_of(node)["isolated.a"]["preferCloseToDevices"] == [
        "/sys/devices/system/node/node0"
    ]
    assert cpus_of(node)["isolated.a[0]"] == "1-3,9-11"


def test_cores_are_components() -> None:
    node = planned(sets={"isolated.a": "2,5,10,13"})
    types = types_of(node)
    assert types["isolated.a"]["components"] == [
        {"balloonType": "isolated.a-core2"},
        {"balloonType": "isolated.a-core5"},
    ]
    assert types["isolated.a-core5"]["preferCloseToDevices"] == [
        "/sys/devices/system/cpu/cpu5/cache/index0"
    ]
    assert cpus_of(node)["isolated.a[0]"] == "2,5,10,13"


def test_switched_off_threads_stand_for_no_core() -> None:
    node = planned(isolated="1-7", offlined="9-15", sets={"isolated.a": "5-6"})
    assert cpus_of(node) == {"isolated.a[0]": "5-6", "reserved[0]": "0,8"}


def test_isolation_by_the_kernel_keeps_the_sets() -> None:
    node = planned(
        spec={"isolation": {"domain": True}}, isolcpus="3,11", sets={"isolated.a": "5,13"}
    )
    assert cpus_of(node)["isolated.a[0]"] == "5,13"
    assert types_of(node)["isolated"]["preferIsolCpus"]
    assert not started(node).state.free & CpuSet.parse("3,11").bits


def test_a_whole_node_of_isolated_cpus_does_not_begin_with_reserved_ones() -> None:
    """Types keep away from isolated CPUs first, and from reserved ones after that."""
    small = regular(numa_nodes=2, cores=4)  # nodes 0-1 and 2-3
    node = planned(
        topology=small,
        reserved="3",
        sets={"isolated.a": "2"},
        spec={"isolation": {"domain": True}},
    )
    assert types_of(node)["isolated.a"]["preferIsolCpus"]
    assert cpus_of(node) == {"isolated.a[0]": "2", "reserved[0]": "3"}


def test_pods_come_to_their_partition_and_others_stay_away() -> None:
    running = started(planned(sets={"isolated.a": "4-7,12-15", "isolated.b": "2,10"}))
    inside = arriving("inside", 3000, balloon="isolated.a")
    small = arriving("small", 0, balloon="isolated.b", qos="BestEffort")
    guaranteed = arriving("guaranteed", 2000, qos="Guaranteed")
    other = arriving("other", 100)
    system = arriving("system", 100, namespace="kube-system")
    for container in (inside, small, guaranteed, other, system):
        running.create(container)
    assert (inside.cpus, small.cpus, system.cpus) == ("4-7,12-15", "2,10", "0,8")
    assert CpuSet.parse(guaranteed.cpus) <= CpuSet.parse("1,3,9,11")
    assert CpuSet.parse(other.cpus) <= CpuSet.parse("1,3,9,11")
    running.restart()
    assert inside.cpus == "4-7,12-15"


def test_best_effort_pods_have_a_set_of_their_own() -> None:
    node = planned(sets={"bestEffort": "2-3,10-11", "other": "0-1,4-9,12-15"})
    running = started(node)
    batch = arriving("batch", qos="BestEffort")
    other = arriving("other", 3000)
    running.create(batch)
    running.create(other)
    assert batch.cpus == "2-3,10-11"
    assert other.cpus == "1,4-7,9,12-15"


def test_which_pods_come_to_a_set() -> None:
    node = planned(sets={"isolated.a": "5,13"})
    assert balloons.pods_text(node, "isolated.a") == (
        "those with the annotation balloon.balloons.resource-policy.nri.io: isolated.a"
    )
    assert balloons.pods_text(node, "reserved") == "those of the namespace kube-system"
    assert not balloons.pods_text(node, "isolated")
    assert not balloons.pods_text(plan(DUAL, sets={"isolated.a": "5"}), "isolated.a")
