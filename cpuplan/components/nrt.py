"""NodeResourceTopology (topology.node.k8s.io), as exporters publish a node without pods.

Expected state for checkers and simulators; on a cluster the object belongs to its exporter. The
zones are those of the ports of the exporters, which read what the kubelet's pod-resources API would
tell them of the plan.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import EMPTY
from cpuplan.base.emit import to_yaml
from cpuplan.components import chosen, hugepages, kubelet, memory
from cpuplan.components.chosen import of_hardware, stated_or, unasked
from cpuplan.components.emission import emit
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import objects as rows
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY, TOPOLOGY_MANAGER_SCOPE
from cpuplan.facts.settings.objects import NRT_POLICIES
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.nrt import resourcemonitor
from cpuplan.upstream.nrt.api import GROUP, KIND, NODE, NRI_POLICY, V1ALPHA1, V1ALPHA2, zone_id
from cpuplan.upstream.nrt.crd import DEFINITIONS
from cpuplan.upstream.nrt.pluginhelpers import LEGACY
from cpuplan.upstream.nrt.resourcemonitor import Machine, Memory, NumaNode, Resources, Zone

NAME = rows.NRT
LABELS, ANNOTATIONS, ATTRIBUTES = "labels.", "annotations.", "attributes."
VERSION, POLICIES, ZONES = "apiVersion", NRT_POLICIES.key, "zones."
_RESOURCES = "resources."
#: Of a zone that is no NUMA node: its type and parent, and its attributes.
PLACE, OF_ZONE = "place", "attributes"
_ZONE_FIELD = re.compile(r"(?P<zone>.+?)\.(?P<field>costs|place|attributes|resources\..+)")
#: The names of v1alpha1 for a policy and a scope of the topology manager.
_OLD_NAMES = {policy_and_scope: name for name, policy_and_scope in LEGACY.items()}

RTE, NFD, KOORDLET = "resource-topology-exporter", "node-feature-discovery", "koordlet"
#: Its zones are pools or balloons, and none of type Node.
NRI_EXPORTERS = NRI_POLICY
#: The scheduler plugin counts in a mask of 64 bits (scheduler-plugins, pkg/noderesourcetopology).
MAX_ZONES = 64


class Exporter(NamedTuple):
    """The version of the API that it writes, and what it tells of the topology manager."""

    version: str
    has_attributes: bool
    has_policies: bool


EXPORTERS = {
    RTE: Exporter(V1ALPHA2, has_attributes=True, has_policies=False),
    NFD: Exporter(V1ALPHA2, has_attributes=True, has_policies=True),
    KOORDLET: Exporter(V1ALPHA1, has_attributes=False, has_policies=True),
    NRI_EXPORTERS: Exporter(V1ALPHA2, has_attributes=False, has_policies=False),
}


def document_of(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object without a name; attributes and resources by name."""
    values = {setting.key: setting.value for setting in settings}
    zones: dict[str, dict[str, Any]] = {}
    for key, value in _below(values, ZONES).items():
        name, field = zone_field(key)
        zone = zones.setdefault(name, {"name": name, "type": NODE, "costs": [], "resources": []})
        if isinstance(value, dict):
            _add(zone, field, value)
    attributes = _below(values, ATTRIBUTES)
    policies = values.get(POLICIES)
    made = {
        NRT_POLICIES.key: list(policies) if isinstance(policies, tuple) else [],
        "attributes": [{"name": name, "value": attributes[name]} for name in sorted(attributes)],
    }
    return {
        "apiVersion": values.get(VERSION, ""),
        "kind": KIND,
        "metadata": _filled(
            {"labels": _below(values, LABELS), "annotations": _below(values, ANNOTATIONS)}
        ),
        **_filled(made),
        "zones": list(map(_filled, zones.values())),
    }


def zone_field(key: str) -> tuple[str, str]:
    """The name of a zone and the field, from a key after the prefix: names may have points."""
    parts = _ZONE_FIELD.fullmatch(key)
    if parts is None:
        raise ValueError(f"no field of a zone: {key}")
    return parts["zone"], parts["field"]


def _below(values: Mapping[str, Value], prefix: str) -> dict[str, Value]:
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not empty lists or mappings."""
    return {key: value for key, value in fields.items() if value not in ([], {})}


def _add(zone: dict[str, Any], field: str, value: Mapping[str, Value]) -> None:
    if field in ("costs", OF_ZONE):
        zone[field] = [{"name": name, "value": amount} for name, amount in value.items()]
    elif field == PLACE:
        zone |= value
    else:
        resource = {"name": field.removeprefix(_RESOURCES), **value}
        zone["resources"] = sorted([*zone["resources"], resource], key=_name)


def _name(item: Mapping[str, Any]) -> str:
    return str(item["name"])


def settings_of(data: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of an object, which may have further zones, attributes and annotations."""
    metadata = data.get("metadata") or {}
    values: dict[str, Value] = {VERSION: data.get("apiVersion", "")}
    values |= {f"{LABELS}{key}": text for key, text in (metadata.get("labels") or {}).items()}
    annotations = metadata.get("annotations") or {}
    values |= {f"{ANNOTATIONS}{key}": text for key, text in annotations.items()}
    attributes = data.get("attributes") or ()
    values |= {f"{ATTRIBUTES}{given['name']}": given["value"] for given in attributes}
    if policies := data.get(NRT_POLICIES.key):
        values[POLICIES] = tuple(policies)
    for zone in data.get("zones") or ():
        values |= _of_zone(f"{ZONES}{zone['name']}", zone)
    return values


def _of_zone(key: str, zone: Mapping[str, Any]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if zone.get("type", NODE) != NODE:
        values[f"{key}.{PLACE}"] = {name: zone[name] for name in ("type", "parent") if name in zone}
    for field in (OF_ZONE, "costs"):
        if zone.get(field):
            values[f"{key}.{field}"] = {given["name"]: given["value"] for given in zone[field]}
    for resource in zone.get("resources") or ():
        values[f"{key}.{_RESOURCES}{resource['name']}"] = _amounts(resource)
    return values


def _amounts(resource: Mapping[str, Any]) -> dict[str, Value]:
    return {column: str(amount) for column, amount in resource.items() if column != "name"}


def exporter_of(plan: NodePlan) -> str:
    """What writes the object of the plan's nodes: as the cluster says, else as is usual there."""
    node_class = plan.node_class
    if stated := node_class.cluster_facts.node_resource_topology.exporter:
        return stated
    if node_class.target.has_koordinator:
        return KOORDLET
    return RTE if node_class.platform.has_pools else NFD


def is_served(plan: NodePlan) -> bool:
    """Whether the cluster takes the version of the API that the exporter writes."""
    crd = plan.node_class.cluster_facts.node_resource_topology.crd
    return EXPORTERS[exporter_of(plan)].version in DEFINITIONS[crd].served


def can_have_zones(plan: NodePlan) -> bool:
    """Whether readers survive the machine's zones: ids with gaps, and 64, panic the scheduler."""
    nodes = list(plan.topology.numa_facts)
    return nodes == list(range(len(nodes))) and len(nodes) <= MAX_ZONES


def zones_of_exporter(plan: NodePlan) -> list[Zone]:
    """The NUMA nodes as the exporter publishes them; none that crash readers."""
    if not can_have_zones(plan) or exporter_of(plan) == NRI_EXPORTERS:
        return []
    match exporter_of(plan):
        case "koordlet":
            from cpuplan.components.koordinator import koordlet

            return koordlet.zones(plan)
        case "resource-topology-exporter":
            return resourcemonitor.rte_zones(_machine(plan), _allocatable(plan), ())
    return resourcemonitor.nfd_zones(_machine(plan), _allocatable(plan), ())


def _nodes(plan: NodePlan) -> list[NumaNode]:
    """The NUMA nodes with their online CPUs; without distances where those of some are unknown."""
    facts = plan.topology.numa_facts
    return [
        NumaNode(
            node,
            tuple(plan.topology.numa_nodes.get(node, EMPTY) - plan.pool("offlined").cpus),
            fact.distances if len(fact.distances) == len(facts) else (),
        )
        for node, fact in facts.items()
    ]


def _machine(plan: NodePlan) -> Machine:
    pages = hugepages.per_node(plan)
    sizes = {
        node: {MEMORY: fact.memory or 0, **hugepages.bytes_by_resource(pages.get(node, {}))}
        for node, fact in plan.topology.numa_facts.items()
    }
    return Machine(tuple(_nodes(plan)), sizes)


def _allocatable(plan: NodePlan) -> Resources:
    """What the kubelet can give to containers.

    CPUs with the static CPU manager only, memory and huge pages with the Static memory manager.
    """
    # Reserved CPUs are computed once: a machine has hundreds of CPUs.
    given = ~kubelet.reserved_cpus(plan).bits if kubelet.is_static(plan) else 0
    cpus = tuple(cpu for node in _nodes(plan) for cpu in node.cpus if given >> cpu & 1)
    return Resources(cpus, (), tuple(_memory(plan)) if memory.uses_memory_manager(plan) else ())


def _memory(plan: NodePlan) -> list[Memory]:
    reserved, pages = memory.reserved(plan), hugepages.per_node(plan)
    blocks = []
    for node, fact in plan.topology.numa_facts.items():
        counts = pages.get(node, {})
        sizes = hugepages.bytes_by_resource(counts)
        sizes[MEMORY] = (fact.memory or 0) - hugepages.bytes_of(counts) - reserved.get(node, 0)
        blocks += [Memory(name, size, (node,)) for name, size in sizes.items() if size > 0]
    return blocks


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Zones and attributes, without the node's name: a class has one layout for all its nodes."""
    exporter = EXPORTERS[exporter_of(plan)]
    yield from emit(plan, rows.NRT_VERSION, f"{GROUP}/{exporter.version}", (_because(plan),))
    yield from _topology_manager(plan, exporter)
    if exporter_of(plan) == KOORDLET:
        yield from _of_koordlet(plan)
    if exporter_of(plan) == NRI_EXPORTERS:
        yield from _of_nri_policy(plan)
    for zone in zones_of_exporter(plan):
        yield from _zone(plan, zone)


def _of_nri_policy(plan: NodePlan) -> Iterator[Setting]:
    """What the plugin of a resource policy writes of itself, and its zones."""
    from cpuplan.components.nri import zones  # for few plans

    because = (_because(plan),)
    mechanism = plan.node_class.target.mechanism
    yield from _further(plan, f"{ATTRIBUTES}TopologyPolicy", mechanism, because)
    for zone in zones.zones(plan):
        key = f"{ZONES}{zone.name}"
        yield from _further(plan, f"{key}.{PLACE}", zone.place, because)
        if zone.attributes:
            yield from _further(plan, f"{key}.{OF_ZONE}", zone.attributes, because)
        for name, amounts in zone.resources.items():
            yield from _further(plan, f"{key}.{_RESOURCES}{name}", amounts, because)


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


def _topology_manager(plan: NodePlan, exporter: Exporter) -> Iterator[Setting]:
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
    if not can_have_zones(plan):
        return
    from cpuplan.components.koordinator import koordlet

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
        because = _because_of(plan, zone_id(zone["name"]), name) or inventory
        yield from _further(plan, f"{key}.{_RESOURCES}{name}", _amounts(resource), because)


def _because_of(plan: NodePlan, node: int, resource: str) -> tuple[Reason, ...]:
    """Why there is as much of a resource; empty where the machine alone says so."""
    if resource == CPU:
        cpus = plan.topology.numa_nodes.get(node, EMPTY)
        return tuple(reason for pool in plan.pools if pool.cpus & cpus for reason in pool.because)
    if exporter_of(plan) == KOORDLET:
        return ()
    if resource.startswith(HUGEPAGES):
        asked = plan.node_class.reason("huge pages set aside at boot", "hugePages.pages")
        return (asked,)
    inventory = of_hardware(plan, f"the inventory's {plan.node_class.hardware}")
    return (inventory, unasked(plan, rows.NRT_MEMORY.default)) if resource == MEMORY else ()


def node_resource_topology(plan: ConfiguredPlan) -> dict[str, Any]:
    """The object of each node of the plan's class, without its name."""
    made = document_of(plan.settings.of(NAME))
    return {key: value for key, value in made.items() if value or key != "metadata"}


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML, without a name."""
    return to_yaml(document_of(settings))


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML or JSON."""
    return settings_of(next(yaml_values.load_yaml11(text)))
