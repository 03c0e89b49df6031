"""NodeResourceTopology (topology.node.k8s.io/v1alpha2), as exporters publish a node without pods.

Expected state for checkers and simulators; on a cluster the object belongs to its exporter
(resource-topology-exporter, node-feature-discovery), which writes the same zones from the kubelet's
pod-resources API.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan import yaml11
from cpuplan.components import chosen, hugepages, kubelet, memory
from cpuplan.components.reasons import of_hardware, stated_or, unasked
from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.emit import to_yaml
from cpuplan.kubelet.releases.policy_options import MAX_NUMA_NODES
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.setting import Cost, Effect, Setting, Value
from cpuplan.source import Locate

NAME = "nrt"
EFFECT: Effect | None = Effect("kubectl get noderesourcetopologies -o yaml", Cost.NOTHING)
HEAD = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
#: The scheduler plugin counts in a mask of 64 bits (scheduler-plugins, pkg/noderesourcetopology).
MAX_ZONES = 64
#: The older field `topologyPolicies`, which some readers still want, by policy; it ends in what the
#: scope is.
_POLICIES = {
    "single-numa-node": "SingleNUMANode",
    "restricted": "Restricted",
    "best-effort": "BestEffort",
}
_SCOPES = {"container": "ContainerLevel", "pod": "PodLevel"}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Zones and attributes, without the node's name: a class has one layout for all its nodes."""
    spec = plan.spec.kubelet
    policy, scope = chosen.topology_policy(plan), spec.topology_manager_scope or "container"
    text, default = (
        "the kubelet aligns by it",
        unasked(plan, "expected-policy", NAME, "topologyPolicies"),
    )
    because = stated_or(plan, text, "kubelet.topologyManagerPolicy", default)
    scoped = stated_or(plan, text, "kubelet.topologyManagerScope", default)
    yield Setting(NAME, "attributes.topologyManagerPolicy", policy, (because,))
    yield Setting(NAME, "attributes.topologyManagerScope", scope, (scoped,))
    if limit := spec.topology_manager_policy_options.get(MAX_NUMA_NODES):
        asked = plan.node_class.reason("asked for", "kubelet.topologyManagerPolicyOptions")
        yield Setting(NAME, "attributes.topologyManagerMaxNUMANodes", limit, (asked,))
    legacy = _POLICIES[policy] + _SCOPES[scope] if policy in _POLICIES else "None"
    yield Setting(NAME, "topologyPolicies", (legacy,), (because, scoped))
    if can_have_zones(plan):
        for node in plan.topology.numa_facts:
            yield from _zone(plan, node)


def can_have_zones(plan: NodePlan) -> bool:
    """Whether readers survive the machine's zones: ids with gaps, and 64, panic the scheduler."""
    nodes = list(plan.topology.numa_facts)
    return nodes == list(range(len(nodes))) and len(nodes) <= MAX_ZONES


def _zone(plan: NodePlan, node: int) -> Iterator[Setting]:
    zone = f"zones.node-{node}"
    facts = plan.topology.numa_facts
    inventory = (of_hardware(plan, f"the inventory's {plan.node_class.hardware}"),)
    distances = facts[node].distances
    if len(distances) == len(facts):
        costs: dict[str, Value] = {
            f"node-{other}": cost for other, cost in zip(facts, distances, strict=True)
        }
        yield Setting(NAME, f"{zone}.costs", costs, inventory)
    cpus = plan.topology.numa_nodes.get(node, EMPTY) - plan.pool("offlined").cpus
    free = cpus - kubelet.reserved_cpus(plan)
    because = tuple(reason for pool in plan.pools if pool.cpus & cpus for reason in pool.because)
    others = list(_memory(plan, node, zone, inventory)) if memory.uses_memory_manager(plan) else []
    # exporters tell of no free CPUs only where they would have nothing else to tell
    if free or not others:
        yield Setting(
            NAME, f"{zone}.resources.cpu", _amounts(len(cpus), len(free)), because or inventory
        )
    yield from others


def _memory(
    plan: NodePlan, node: int, zone: str, inventory: tuple[Reason, ...]
) -> Iterator[Setting]:
    """Memory and huge pages, which the API only has under the Static memory manager."""
    size = plan.topology.numa_facts[node].memory
    pages = hugepages.per_node(plan).get(node, {})
    for kib, count in sorted(pages.items()):
        if count:
            amount = kib * 1024 * count
            asked = plan.node_class.reason("huge pages set aside at boot", "hugePages.pages")
            yield Setting(
                NAME,
                f"{zone}.resources.{hugepages.resource(kib)}",
                _amounts(amount, amount),
                (asked,),
            )
    if size:
        free = size - hugepages.bytes_of(pages) - memory.reserved(plan).get(node, 0)
        because = (*inventory, unasked(plan, "expected-memory", NAME, f"{zone}.resources.memory"))
        yield Setting(NAME, f"{zone}.resources.memory", _amounts(size, max(free, 0)), because)


def _amounts(capacity: int, allocatable: int) -> Value:
    """Quantities as exporters write them, in CPUs or bytes; allocatable is available."""
    return {
        "capacity": str(capacity),
        "allocatable": str(allocatable),
        "available": str(allocatable),
    }


def node_resource_topology(plan: ConfiguredPlan, node: str) -> dict[str, Any]:
    """The object of the node `node` of the plan's class."""
    made = document(plan.settings.of(NAME))
    return {
        "apiVersion": made.pop("apiVersion"),
        "kind": made.pop("kind"),
        "metadata": {"name": node},
        **made,
    }


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object without a name; lists by name, as exporters sort them."""
    attributes: list[dict[str, Value]] = []
    zones: dict[str, dict[str, Any]] = {}
    policies: list[Value] = []
    for setting in settings:
        kind, _, rest = setting.key.partition(".")
        if kind == "attributes":
            attributes.append({"name": rest, "value": setting.value})
        elif kind == "topologyPolicies" and isinstance(setting.value, tuple):
            policies = list(setting.value)
        elif isinstance(setting.value, dict):
            name, _, field = rest.partition(".")
            zone = zones.setdefault(
                name, {"name": name, "type": "Node", "costs": [], "resources": []}
            )
            _add(zone, field, setting.value)
    return {
        **HEAD,
        "topologyPolicies": policies,
        "attributes": sorted(attributes, key=_name),
        "zones": list(map(_without_empty_lists, zones.values())),
    }


def _without_empty_lists(zone: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in zone.items() if value != []}


def _add(zone: dict[str, Any], field: str, value: Mapping[str, Value]) -> None:
    if field == "costs":
        zone["costs"] = [{"name": name, "value": cost} for name, cost in value.items()]
    else:
        zone["resources"] = sorted(
            [*zone["resources"], {"name": field.removeprefix("resources."), **value}], key=_name
        )


def _name(item: Mapping[str, Any]) -> str:
    return str(item["name"])


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML, without a name."""
    return to_yaml(document(settings))


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML or JSON, which may have further zones and attributes."""
    data = next(yaml11.load(text))
    found: dict[str, Value] = {
        f"attributes.{item['name']}": item["value"] for item in data.get("attributes") or ()
    }
    found["topologyPolicies"] = tuple(data.get("topologyPolicies") or ())
    for zone in data.get("zones") or ():
        key = f"zones.{zone['name']}"
        if zone.get("costs"):
            found[f"{key}.costs"] = {cost["name"]: cost["value"] for cost in zone["costs"]}
        for item in zone.get("resources") or ():
            amounts = {name: str(value) for name, value in item.items() if name != "name"}
            found[f"{key}.resources.{item['name']}"] = {**amounts}
    return found


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Machines whose zones the scheduler plugin cannot read."""
    if can_have_zones(plan):
        return []
    nodes = ", ".join(map(str, plan.topology.numa_facts))
    position = locate(plan.node_class.place("selector"))
    return [diagnose("CP532", position, hardware=plan.node_class.hardware, nodes=nodes)]
