"""NodeResourceTopology (topology.node.k8s.io), as exporters publish a node without pods.

Expected state for checkers and simulators; on a cluster the object belongs to its exporter.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan import yaml11
from cpuplan.components import chosen
from cpuplan.components.published import exporters
from cpuplan.components.published.exporters import EXPORTERS, exporter_of
from cpuplan.components.reasons import of_hardware, stated_or, unasked
from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import Reason
from cpuplan.emit import to_yaml
from cpuplan.kubelet.pods.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.nrt.exporters.podresources import Zone
from cpuplan.nrt.names import GROUP, KIND, POLICY, SCOPE, zone_id
from cpuplan.nrt.scheduler.topologymanager import LEGACY
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.setting import Cost, Effect, Setting, Value

NAME = "nrt"
EFFECT: Effect | None = Effect("kubectl get noderesourcetopologies -o yaml", Cost.NOTHING)
_OLD_NAMES = {found: name for name, found in LEGACY.items()}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Zones and attributes, without the node's name: a class has one layout for all its nodes."""
    exporter = EXPORTERS[exporter_of(plan)]
    yield Setting(NAME, "apiVersion", f"{GROUP}/{exporter.version}", (_because(plan),))
    yield from _topology_manager(plan, exporter)
    for zone in exporters.zones(plan):
        yield from _zone(plan, zone)


def _because(plan: NodePlan) -> Reason:
    """Who writes the object, by the cluster's document where it says so."""
    if plan.node_class.cluster_facts.node_resource_topology.exporter:
        text = f"{exporter_of(plan)} writes it"
        return Reason(text, plan.node_class.cluster_place("nodeResourceTopology.exporter"))
    return unasked(plan, "expected-policy", NAME, "apiVersion")


def _topology_manager(plan: NodePlan, exporter: exporters.Exporter) -> Iterator[Setting]:
    policy = chosen.topology_policy(plan)
    scope = plan.spec.kubelet.topology_manager_scope or "container"
    default = unasked(plan, "expected-policy", NAME, "topologyPolicies")
    text = "the kubelet aligns by it"
    because = stated_or(plan, text, "kubelet.topologyManagerPolicy", default)
    scoped = stated_or(plan, text, "kubelet.topologyManagerScope", default)
    if exporter.has_attributes:
        yield Setting(NAME, f"attributes.{POLICY}", policy, (because,))
        yield Setting(NAME, f"attributes.{SCOPE}", scope, (scoped,))
    if exporter.has_policies:
        old = _OLD_NAMES.get((policy, scope), "None")
        yield Setting(NAME, "topologyPolicies", (old,), (because, scoped))


def _zone(plan: NodePlan, zone: Zone) -> Iterator[Setting]:
    key = f"zones.{zone['name']}"
    inventory = (of_hardware(plan, f"the inventory's {plan.node_class.hardware}"),)
    if zone["costs"]:
        costs: dict[str, Value] = {cost["name"]: cost["value"] for cost in zone["costs"]}
        yield Setting(NAME, f"{key}.costs", costs, inventory)
    for resource in zone["resources"]:
        name = resource["name"]
        amounts: dict[str, Value] = {
            column: text for column, text in resource.items() if column != "name"
        }
        because = _because_of(plan, zone_id(zone["name"]), name, f"{key}.resources.{name}")
        yield Setting(NAME, f"{key}.resources.{name}", amounts, because or inventory)


def _because_of(plan: NodePlan, node: int, resource: str, key: str) -> tuple[Reason, ...]:
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
    return (inventory, unasked(plan, "expected-memory", NAME, key)) if resource == MEMORY else ()


def node_resource_topology(plan: ConfiguredPlan, node: str) -> dict[str, Any]:
    """The object of the node `node` of the plan's class."""
    made = document(plan.settings.of(NAME))
    return {
        "apiVersion": made.pop("apiVersion"),
        "kind": made.pop("kind"),
        "metadata": {"name": node, **_labels(plan)},
        **made,
    }


def _labels(plan: NodePlan) -> dict[str, Any]:
    if exporter_of(plan) != exporters.KOORDLET:
        return {}
    return {"labels": {"app.kubernetes.io/managed-by": "Koordinator"}}


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object without a name; lists by name, as exporters sort them."""
    attributes: list[dict[str, Value]] = []
    zones: dict[str, dict[str, Any]] = {}
    policies: list[Value] = []
    version: Value = ""
    for setting in settings:
        kind, _, rest = setting.key.partition(".")
        if kind == "attributes":
            attributes.append({"name": rest, "value": setting.value})
        elif kind == "apiVersion":
            version = setting.value
        elif kind == "topologyPolicies" and isinstance(setting.value, tuple):
            policies = list(setting.value)
        elif isinstance(setting.value, dict):
            name, _, field = rest.partition(".")
            zone = zones.setdefault(
                name, {"name": name, "type": "Node", "costs": [], "resources": []}
            )
            _add(zone, field, setting.value)
    return {
        "apiVersion": version,
        "kind": KIND,
        **_without_empty_lists({"topologyPolicies": policies}),
        **_without_empty_lists({"attributes": sorted(attributes, key=_name)}),
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
    found["apiVersion"] = data.get("apiVersion", "")
    if policies := data.get("topologyPolicies"):
        found["topologyPolicies"] = tuple(policies)
    for zone in data.get("zones") or ():
        key = f"zones.{zone['name']}"
        if zone.get("costs"):
            found[f"{key}.costs"] = {cost["name"]: cost["value"] for cost in zone["costs"]}
        for item in zone.get("resources") or ():
            amounts = {name: str(value) for name, value in item.items() if name != "name"}
            found[f"{key}.resources.{item['name']}"] = {**amounts}
    return found
