"""What the configurations of the NRI resource policies have in common.

There is an object for the nodes of a class: what the policy may use, and what is reserved.
The plugin of a node with the label `config.nri/group` reads `group.<its value>`, and no other
object but one of the node's own name.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_yaml
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.components import isolation
from cpuplan.components.chosen import of_mechanism
from cpuplan.components.emission import emit
from cpuplan.facts.settings import objects as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.nri.api import SYSTEM_NAMESPACE
from cpuplan.upstream.nrt.api import NRI_POLICY

if TYPE_CHECKING:
    from cpuplan.upstream.nri.system import Files

API_VERSION = "config.nri/v1alpha1"
#: Where the plugins' charts are installed by default, and where they read their configuration.
NAMESPACE = "kube-system"
GROUP_LABEL = "config.nri/group"
_CPUSET = "cpuset:"
_AMOUNTS = ("availableResources", "reservedResources")
_TYPES = "balloonTypes"

_Config = TypeVar("_Config")


class PolicyInputs(NamedTuple, Generic[_Config]):
    """All that a policy starts with: the machine as it reads it, and its configuration."""

    files: "Files"
    config: _Config


def machine(topology: Topology, isolated: CpuSet, offlined: CpuSet) -> "Files":
    """The machine with kernel-isolated CPUs and without offlined ones, as the plugins read it."""
    from cpuplan.upstream.nri.of_topology import files_of  # for few plans

    return files_of(topology, isolated, offlined)


def planned_machine(plan: NodePlan) -> "Files":
    """The same of a plan."""
    return machine(plan.topology, isolated(plan), plan.pool("offlined").cpus)


def available(plan: NodePlan) -> CpuSet:
    """The CPUs that the policy may use: not those that are off or kept from pods."""
    return plan.topology.online - plan.pool("isolcpus").cpus - plan.pool("offlined").cpus


def isolated(plan: NodePlan) -> CpuSet:
    """The CPUs without load balancing, which the plugin reads as isolated by the kernel."""
    apart = isolation.kept_off(plan, "domain", of_mechanism(plan))
    return apart.cpus | plan.pool("isolcpus").cpus


def settings(plan: NodePlan, policy: rows.Policy) -> Iterator[Setting]:
    """The object's name, what it may use, what is reserved, and that it pins CPUs."""
    because = (of_mechanism(plan),)
    yield from emit(plan, policy.name, f"group.{plan.node_class.name}", because)
    yield from emit(plan, policy.available, available(plan), because)
    reserved = plan.pool("reserved")
    amount: Value = reserved.cpus or "0"
    yield from emit(plan, policy.reserved, amount, (*reserved.because, *because))
    if namespaces := plan.node_class.target.reserved_namespaces:
        field = plan.node_class.target_field("reservedNamespaces")
        stated = plan.node_class.reason("their pods run on the reserved CPUs", field)
        yield from emit(plan, policy.namespaces, namespaces, (stated,))
    yield from emit(plan, policy.pin_cpu, True, because)


def reserved_namespaces_text(plan: NodePlan) -> str:
    """Whose pods run on the reserved CPUs."""
    further = plan.node_class.target.reserved_namespaces
    names = joined((SYSTEM_NAMESPACE, *further))
    return f"the namespaces {names}" if further else f"the namespace {names}"


def agent(plan: NodePlan, policy: rows.Policy) -> Iterator[Setting]:
    """Whether the plugin writes NodeResourceTopology: two exporters would fight over an object."""
    stated = plan.node_class.cluster_facts.node_resource_topology.exporter
    is_exporter = stated == NRI_POLICY
    text = "the NodeResourceTopology of a node stays its exporter's"
    if is_exporter:
        text = "the cluster says that NRI policies write NodeResourceTopology"
    because = (of_mechanism(plan, text),)
    yield from emit(plan, policy.exporter, is_exporter, because)


def document(settings: Sequence[Setting], kind: str) -> dict[str, Any]:
    """The settings as an object."""
    values = {setting.key: setting.value for setting in settings}
    spec: dict[str, Any] = {}
    for key, value in values.items():
        field, _, rest = key.partition(".")
        if field == _TYPES:
            spec.setdefault(field, []).append({"name": rest, **plain(value)})
        elif field in _AMOUNTS:
            prefix = _CPUSET if isinstance(value, CpuSet) else ""
            spec[field] = {rest: f"{prefix}{value}"}
        elif field == "agent":
            spec[field] = {rest: value}
        elif field != "metadata":
            spec[field] = plain(value)
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": values["metadata.name"], "namespace": NAMESPACE},
        "spec": spec,
    }


def render(settings: Sequence[Setting], kind: str) -> str:
    """The object's YAML; empty without settings."""
    return to_yaml(document(settings, kind)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The settings of an object's YAML, by key."""
    data = next(yaml_values.load_yaml11(text))
    values: dict[str, Value] = {"metadata.name": data["metadata"]["name"]}
    for field, value in data["spec"].items():
        if field == _TYPES:
            values |= {f"{_TYPES}.{given['name']}": _type(given) for given in value}
        elif isinstance(value, dict):
            values |= {f"{field}.{key}": _amount(item) for key, item in value.items()}
        else:
            values[field] = from_plain(value)
    return values


def _type(given: dict[str, Any]) -> Value:
    return from_plain({key: value for key, value in given.items() if key != "name"})


def _amount(value: Any) -> Value:
    if isinstance(value, str) and value.startswith(_CPUSET):
        return CpuSet.parse(value.removeprefix(_CPUSET))
    return from_plain(value)
