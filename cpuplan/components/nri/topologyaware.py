"""TopologyAwarePolicy (config.nri/v1alpha1): the configuration of the NRI topology-aware policy for
the nodes of a class.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan import yaml11
from cpuplan.components import memory
from cpuplan.components.nri import policies
from cpuplan.components.reasons import of_mechanism
from cpuplan.cpuset import CpuSet
from cpuplan.model.topology import Topology
from cpuplan.model.words import PARTITION
from cpuplan.nri.names import RESERVED
from cpuplan.plan import NodePlan
from cpuplan.setting import Cost, Effect, Setting, Value

if TYPE_CHECKING:
    from cpuplan.nri.sysfs.files import Files
    from cpuplan.nri.topologyaware.config import Config
    from cpuplan.nri.topologyaware.policy import Policy

NAME = "topology-aware"
EFFECT: Effect | None = Effect("kubectl get topologyawarepolicies -A -o yaml", Cost.NOTHING)
KIND = "TopologyAwarePolicy"
_ISOLATED = "isolated"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the object, with those that the API server would add."""
    if not plan.node_class.target.has_topology_aware:
        return
    yield from policies.settings(plan, NAME)
    yield _pin_memory(plan)
    apart = policies.isolated(plan) & policies.available(plan)
    text = "one CPU of a Guaranteed container is isolated by the kernel, where there are such CPUs"
    isolated = of_mechanism(plan, text)
    yield Setting(NAME, "preferIsolatedCPUs", bool(apart), (isolated,))
    by_default = of_mechanism(plan, "the default of the CRD")
    yield Setting(NAME, "defaultCPUPriority", "none", (by_default,))
    yield Setting(NAME, "unlimitedBurstable", "package", (by_default,))
    yield Setting(NAME, "controllableInterrupts", ("*",), (by_default,))
    yield policies.agent(plan, NAME)


def _pin_memory(plan: NodePlan) -> Setting:
    """Two programs would write the memory nodes of containers."""
    is_kubelets = memory.uses_memory_manager(plan)
    text = "memory comes from the nodes of the container's pool"
    if is_kubelets:
        text = "the kubelet's memory manager chooses the memory nodes of containers"
    return Setting(NAME, "pinMemory", not is_kubelets, (of_mechanism(plan, text),))


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods run on the CPUs of a pool; empty where the policy knows none of its name."""
    if not plan.node_class.target.has_topology_aware or name.startswith(PARTITION):
        return ""
    others = {
        RESERVED: f"those of {policies.reserved_namespaces_text(plan)}",
        _ISOLATED: "integer Guaranteed containers have exclusive CPUs, others share what is left",
    }
    return others.get(name, "")


class PolicyInputs(NamedTuple):
    """All that the policy starts with: the machine as it reads it, and its configuration."""

    files: "Files"
    config: "Config"


def policy_inputs(plan: NodePlan) -> PolicyInputs:
    """The planned machine, and the object as it is written: the API server adds nothing to it."""
    offlined = plan.pool("offlined").cpus
    return inputs_of(plan.topology, policies.isolated(plan), offlined, tuple(settings(plan)))


def inputs_of(
    topology: Topology, isolated: CpuSet, offlined: CpuSet, given: Sequence[Setting]
) -> PolicyInputs:
    """The machine with kernel-isolated CPUs and without offlined ones, and the settings' object."""
    # For few plans, and it takes a while to load.
    from cpuplan.nri.sysfs.of_topology import files_of
    from cpuplan.nri.topologyaware.config import decode_object

    return PolicyInputs(files_of(topology, isolated, offlined), decode_object(document(given)))


def started(plan: NodePlan) -> "Policy":
    """The policy on the planned machine; NriError or PanicError where it does not start."""
    from cpuplan.nri.topologyaware.policy import Policy  # for few plans

    return Policy(*policy_inputs(plan))


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    return policies.document(settings, KIND)


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return policies.render(settings, KIND)


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    return policies.fields(next(yaml11.load(text)))
