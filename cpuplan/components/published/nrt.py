"""NodeResourceTopology (topology.node.k8s.io), as exporters publish a node without pods.

Expected state for checkers and simulators; on a cluster the object belongs to its exporter.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import EMPTY
from cpuplan.base.emit import to_yaml
from cpuplan.components import chosen
from cpuplan.components.emission import emit
from cpuplan.components.published import exporters, koordlet
from cpuplan.components.published.document import (
    ANNOTATIONS,
    ATTRIBUTES,
    LABELS,
    OF_ZONE,
    PLACE,
    ZONES,
    document,
    settings_of,
)
from cpuplan.components.published.exporters import EXPORTERS, exporter_of
from cpuplan.components.reasons import of_hardware, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import objects as rows
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY, TOPOLOGY_MANAGER_SCOPE
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.nrt.api import GROUP, zone_id
from cpuplan.upstream.nrt.pluginhelpers import LEGACY
from cpuplan.upstream.nrt.resourcemonitor import Zone

NAME = rows.NRT
_OLD_NAMES = {found: name for name, found in LEGACY.items()}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Zones and attributes, without the node's name: a class has one layout for all its nodes."""
    exporter = EXPORTERS[exporter_of(plan)]
    yield from emit(plan, rows.NRT_VERSION, f"{GROUP}/{exporter.version}", (_because(plan),))
    yield from _topology_manager(plan, exporter)
    if exporter_of(plan) == exporters.KOORDLET:
        yield from _of_koordlet(plan)
    if exporter_of(plan) == exporters.NRI:
        yield from _of_nri_policy(plan)
    for zone in exporters.zones(plan):
        yield from _zone(plan, zone)


def _of_nri_policy(plan: NodePlan) -> Iterator[Setting]:
    """What the plugin of a resource policy writes of itself, and its zones."""
    from cpuplan.components.published import nripolicy  # for few plans

    because = (_because(plan),)
    mechanism = plan.node_class.target.mechanism
    yield from _further(plan, f"{ATTRIBUTES}TopologyPolicy", mechanism, because)
    for zone in nripolicy.zones(plan):
        key = f"{ZONES}{zone.name}"
        yield from _further(plan, f"{key}.{PLACE}", zone.place, because)
        if zone.attributes:
            yield from _further(plan, f"{key}.{OF_ZONE}", zone.attributes, because)
        for name, amounts in zone.resources.items():
            yield from _further(plan, f"{key}.resources.{name}", amounts, because)


def _further(
    plan: NodePlan, field: str, value: Value, because: tuple[Reason, ...]
) -> Iterator[Setting]:
    yield from emit(plan, rows.NRT_FURTHER, value, because, field=field)


def _because(plan: NodePlan) -> Reason:
    """Who writes the object, by the cluster's document or the target where they say so."""
    node_class, text = plan.node_class, f"{exporter_of(plan)} writes it"
    if node_class.cluster_facts.node_resource_topology.exporter:
        return Reason(text, node_class.cluster_place("nodeResourceTopology.exporter"))
    if node_class.target.has_koordinator:
        return node_class.reason(text, node_class.target_field("mechanism"))
    return unasked(plan, rows.NRT_POLICY.default)


def _topology_manager(plan: NodePlan, exporter: exporters.Exporter) -> Iterator[Setting]:
    policy = chosen.topology_policy(plan)
    scope = plan.spec.kubelet.topology_manager_scope or "container"
    default = unasked(plan, rows.NRT_POLICY.default)
    text = "the kubelet aligns by it"
    because = stated_or(plan, text, TOPOLOGY_MANAGER_POLICY.field, default)
    scoped = stated_or(plan, text, TOPOLOGY_MANAGER_SCOPE.field, default)
    if exporter.has_attributes:
        yield from emit(plan, rows.NRT_POLICY, policy, (because,))
        yield from emit(plan, rows.NRT_SCOPE, scope, (scoped,))
    if exporter.has_policies:
        old = _OLD_NAMES.get((policy, scope), "None")
        yield from emit(plan, rows.NRT_POLICIES, (old,), (because, scoped))


def _of_koordlet(plan: NodePlan) -> Iterator[Setting]:
    """Labels, and annotations that hold JSON: the machine, and what pods share of its CPUs."""
    if not exporters.can_have_zones(plan):
        return
    because = (_because(plan), *plan.pool("reserved").because)
    for key, text in koordlet.labels(plan).items():
        yield from _further(plan, LABELS + key, text, because)
    for key, text in koordlet.annotations(plan).items():
        yield from _further(plan, ANNOTATIONS + key, text, because)


def _zone(plan: NodePlan, zone: Zone) -> Iterator[Setting]:
    key = f"{ZONES}{zone['name']}"
    inventory = (of_hardware(plan, f"the inventory's {plan.node_class.hardware}"),)
    if zone["costs"]:
        costs: dict[str, Value] = {cost["name"]: cost["value"] for cost in zone["costs"]}
        yield from _further(plan, f"{key}.costs", costs, inventory)
    for resource in zone["resources"]:
        name = resource["name"]
        amounts: dict[str, Value] = {
            column: text for column, text in resource.items() if column != "name"
        }
        because = _because_of(plan, zone_id(zone["name"]), name) or inventory
        yield from _further(plan, f"{key}.resources.{name}", amounts, because)


def _because_of(plan: NodePlan, node: int, resource: str) -> tuple[Reason, ...]:
    """Why there is as much of a resource; empty where the machine alone says so."""
    if resource == CPU:
        cpus = plan.topology.numa_nodes.get(node, EMPTY)
        return tuple(reason for pool in plan.pools if pool.cpus & cpus for reason in pool.because)
    if exporter_of(plan) == exporters.KOORDLET:
        return ()
    if resource.startswith(HUGEPAGES):
        asked = plan.node_class.reason("huge pages set aside at boot", "hugePages.pages")
        return (asked,)
    inventory = of_hardware(plan, f"the inventory's {plan.node_class.hardware}")
    return (inventory, unasked(plan, rows.NRT_MEMORY.default)) if resource == MEMORY else ()


def node_resource_topology(plan: ConfiguredPlan) -> dict[str, Any]:
    """The object of each node of the plan's class, without its name."""
    made = document(plan.settings.of(NAME))
    return {key: value for key, value in made.items() if value or key != "metadata"}


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML, without a name."""
    return to_yaml(document(settings))


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML or JSON."""
    return settings_of(next(yaml_values.load_yaml11(text)))
