"""TopologyAwarePolicy objects: what they say, and what the policy makes of them."""

from typing import Any

import pytest

from cpuplan.components import checks, nrt
from cpuplan.components.nri import topologyaware
from cpuplan.components.nrt import document_of
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy
from tests.machines.plans import no_position, plan, regular

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def configured(**changes: Any) -> Any:
    target = {"mechanism": "topology-aware", **changes.pop("target", {})}
    return plan(
        SMT, reserved="0,8", platform="kubernetes", version="1.36", target=target, **changes
    )


def spec(**changes: Any) -> dict[str, Any]:
    made = topologyaware.document(tuple(topologyaware.settings(configured(**changes))))
    fields: dict[str, Any] = made["spec"]
    return fields


def codes(**changes: Any) -> set[str]:
    return {finding.code for finding in checks.check(configured(**changes), no_position)}


def test_the_object_as_it_lies_in_the_cluster() -> None:
    assert spec() == {
        "availableResources": {"cpu": "cpuset:0-15"},
        "reservedResources": {"cpu": "cpuset:0,8"},
        "pinCPU": True,
        "pinMemory": True,
        "preferIsolatedCPUs": False,
        "defaultCPUPriority": "none",
        "unlimitedBurstable": "package",
        "controllableInterrupts": ["*"],
        "agent": {"nodeResourceTopology": False},
    }


def test_older_plugins_have_a_crd_without_interrupts() -> None:
    """v0.13.0, config/crd/bases: the API server would refuse an unknown field."""
    fields = spec(target={"nriPlugins": "0.13"})
    assert fields == {name: spec()[name] for name in spec() if name != "controllableInterrupts"}


def test_host_cpus_are_not_available_and_namespaces_are_reserved() -> None:
    fields = spec(isolcpus="7,15", target={"reservedNamespaces": ["infra-*"]})
    assert fields["availableResources"] == {"cpu": "cpuset:0-6,8-14"}
    assert fields["reservedPoolNamespaces"] == ["infra-*"]


def test_the_memory_manager_keeps_memory() -> None:
    managed = {"kubelet": {"memoryManagerPolicy": "Static"}}
    assert spec(spec=managed)["pinMemory"] is False


def test_kernel_isolated_cpus_are_preferred_and_shared_by_none() -> None:
    apart = {"isolation": {"domain": True}}
    assert spec(spec=apart)["preferIsolatedCPUs"] is True
    assert "CP593" in codes(spec=apart)
    assert "CP593" not in codes()


@pytest.mark.parametrize(
    "changes",
    [
        {"sets": {"isolated.dpdk": "4-7,12-15"}},
        {"shared": "2-3"},
        {"spec": {"kubelet": {"cpuManagerPolicy": "static"}}},
        {"spec": {"kubelet": {"dynamicResourceAllocation": True}}},
    ],
)
def test_what_the_policy_has_nothing_for(changes: dict[str, Any]) -> None:
    assert "CP590" in codes(**changes)


def test_the_policy_reserves_what_the_plan_does() -> None:
    policy: Policy = topologyaware.started(configured())
    assert to_text(policy.state.root.reserved) == "0,8"
    assert [pool.name for pool in policy.state.pools] == ["socket #0", "socket #1", "root"]


def test_its_plugin_publishes_pools_where_the_cluster_says_so() -> None:
    told = configured(facts={"nodeResourceTopology": {"exporter": "nri-policy"}})
    values = {setting.key: setting.value for setting in topologyaware.settings(told)}
    assert values["agent.nodeResourceTopology"] is True
    made = document_of(tuple(nrt.settings(told)))
    assert made["attributes"] == [{"name": "TopologyPolicy", "value": "topology-aware"}]
    first = made["zones"][0]
    assert (first["name"], first["type"], first["parent"]) == ("socket #0", "socket", "root")
    assert {"name": "shared cpuset", "value": "1-3,9-11"} in first["attributes"]
    settings = {setting.key: setting.value for setting in nrt.settings(told)}
    assert nrt.parse(nrt.render(tuple(nrt.settings(told)))) == settings


def test_an_exporter_that_nodes_do_not_have() -> None:
    facts = {"nodeResourceTopology": {"exporter": "nri-policy"}}
    other = plan(SMT, reserved="0,8", platform="kubernetes", version="1.36", facts=facts)
    assert "CP732" in {finding.code for finding in checks.check(other, no_position)}
