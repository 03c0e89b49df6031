"""BalloonsPolicy (config.nri/v1alpha1): the configuration of the NRI balloons policy for the nodes
of a class.

The plugin of a node with the label `config.nri/group` reads `group.<its value>`, and no other
object but one of the node's own name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan import yaml11
from cpuplan.components.nri import types
from cpuplan.components.reasons import of_mechanism
from cpuplan.cpuset import CpuSet
from cpuplan.emit import to_yaml
from cpuplan.model.topology import Topology
from cpuplan.model.words import PARTITION
from cpuplan.nri.names import BALLOON, RESERVED, SYSTEM_NAMESPACE
from cpuplan.plan import NodePlan
from cpuplan.setting import Cost, Effect, Setting, Value, from_plain, plain

if TYPE_CHECKING:
    from cpuplan.nri.balloons.config import Config
    from cpuplan.nri.sysfs.files import Files

NAME = "balloons"
EFFECT: Effect | None = Effect("kubectl get balloonspolicies -A -o yaml", Cost.NOTHING)
API_VERSION, KIND = "config.nri/v1alpha1", "BalloonsPolicy"
#: Where the plugin's chart is installed by default, and where it reads its configuration.
NAMESPACE = "kube-system"
GROUP_LABEL = "config.nri/group"
#: The annotation of pods by which they come to a balloon, for all of their containers.
ANNOTATION = BALLOON
_CPUSET = "cpuset:"
_TYPES = "balloonTypes."
_AMOUNTS = ("availableResources", "reservedResources")


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the object; those of a type together."""
    if not plan.node_class.target.has_balloons:
        return
    because = (of_mechanism(plan),)
    yield Setting(NAME, "metadata.name", f"group.{plan.node_class.name}", because)
    yield Setting(NAME, "availableResources.cpu", types.available(plan), because)
    reserved = plan.pool("reserved")
    amount: Value = reserved.cpus or "0"
    yield Setting(NAME, "reservedResources.cpu", amount, (*reserved.because, *because))
    yield Setting(NAME, "pinCPU", True, because)
    only_cpus = of_mechanism(plan, "it gives out CPUs only: memory stays the kernel's")
    yield Setting(NAME, "pinMemory", False, (only_cpus,))
    exporter = of_mechanism(plan, "the NodeResourceTopology of a node stays its exporter's")
    yield Setting(NAME, "agent.nodeResourceTopology", False, (exporter,))
    for known in types.of_plan(plan):
        yield Setting(NAME, f"{_TYPES}{known.name}", known.fields, (*known.because, *because))


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods come to the balloon of a pool or set; empty where there is none for it."""
    if not plan.node_class.target.has_balloons:
        return ""
    if name.startswith(PARTITION):
        return f"those with the annotation {ANNOTATION}: {name}"
    others = {
        RESERVED: f"those of the namespace {SYSTEM_NAMESPACE}",
        types.BEST_EFFORT: "BestEffort pods, except those of partitions",
    }
    return others.get(name, "")


class PolicyInputs(NamedTuple):
    """All that the policy starts with: the machine as it reads it, and its configuration."""

    files: "Files"
    config: "Config"


def policy_inputs(plan: NodePlan) -> PolicyInputs:
    """The planned machine, and the object as it is written: the API server adds nothing to it."""
    offlined = plan.pool("offlined").cpus
    return inputs_of(plan.topology, types.isolated(plan), offlined, tuple(settings(plan)))


def inputs_of(
    topology: Topology, isolated: CpuSet, offlined: CpuSet, given: Sequence[Setting]
) -> PolicyInputs:
    """The machine with kernel-isolated CPUs and without offlined ones, and the settings' object."""
    # For few plans, and it takes a while to load.
    from cpuplan.nri.balloons.decoding import decode_object
    from cpuplan.nri.sysfs.of_topology import files_of

    return PolicyInputs(files_of(topology, isolated, offlined), decode_object(document(given)))


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    values = {setting.key: setting.value for setting in settings}
    spec: dict[str, Any] = {}
    for key, value in values.items():
        field, _, rest = key.partition(".")
        if field == "balloonTypes":
            spec.setdefault(field, []).append({"name": rest, **plain(value)})
        elif field in _AMOUNTS:
            prefix = _CPUSET if isinstance(value, CpuSet) else ""
            spec[field] = {rest: f"{prefix}{value}"}
        elif field == "agent":
            spec[field] = {rest: value}
        elif field != "metadata":
            spec[field] = value
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": values["metadata.name"], "namespace": NAMESPACE},
        "spec": spec,
    }


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return to_yaml(document(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    data = next(yaml11.load(text))
    found: dict[str, Value] = {"metadata.name": data["metadata"]["name"]}
    for field, value in data["spec"].items():
        if field == "balloonTypes":
            found |= {f"{_TYPES}{given['name']}": _type(given) for given in value}
        elif isinstance(value, dict):
            found |= {f"{field}.{key}": _amount(item) for key, item in value.items()}
        else:
            found[field] = from_plain(value)
    return found


def _type(given: Mapping[str, Any]) -> Value:
    return from_plain({key: value for key, value in given.items() if key != "name"})


def _amount(value: Any) -> Value:
    if isinstance(value, str) and value.startswith(_CPUSET):
        return CpuSet.parse(value.removeprefix(_CPUSET))
    return from_plain(value)
