"""TopologyAwarePolicy (config.nri/v1alpha1): NRI's topology-aware policy for nodes of a class."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.components import memory
from cpuplan.components.chosen import of_mechanism
from cpuplan.components.emission import emit
from cpuplan.components.nri import policies
from cpuplan.components.nri.policies import PolicyInputs
from cpuplan.facts import versions
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting
from cpuplan.upstream.nri.api import RESERVED

if TYPE_CHECKING:
    from cpuplan.upstream.nri.topologyaware.config import Config
    from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy

NAME = rows.TOPOLOGY_AWARE
KIND = "TopologyAwarePolicy"
_ISOLATED = "isolated"
#: The first release whose CRD has `controllableInterrupts`, for both policies.
_HAS_INTERRUPTS: versions.Version = (0, 14)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the object, with those that the API server would add."""
    if not plan.node_class.target.has_topology_aware:
        return
    yield from policies.settings(plan, rows.TOPOLOGY_AWARE_POLICY)
    yield from _pin_memory(plan)
    apart = policies.isolated(plan) & policies.available(plan)
    text = "one CPU of a Guaranteed container is isolated by the kernel, where there are such CPUs"
    isolated = of_mechanism(plan, text)
    yield from emit(plan, rows.PREFER_ISOLATED, bool(apart), (isolated,))
    because = (of_mechanism(plan, "the default of the CRD"),)
    yield from emit(plan, rows.CPU_PRIORITY, "none", because)
    yield from emit(plan, rows.UNLIMITED_BURSTABLE, "package", because)
    if versions.from_text(plan.node_class.target.nri_plugins) >= _HAS_INTERRUPTS:
        yield from emit(plan, rows.CONTROLLABLE_INTERRUPTS, ("*",), because)
    yield from policies.agent(plan, rows.TOPOLOGY_AWARE_POLICY)


def _pin_memory(plan: NodePlan) -> Iterator[Setting]:
    """Two programs would write the memory nodes of containers."""
    is_kubelets = memory.uses_memory_manager(plan)
    text = "memory comes from the nodes of the container's pool"
    if is_kubelets:
        text = "the kubelet's memory manager chooses the memory nodes of containers"
    because = (of_mechanism(plan, text),)
    yield from emit(plan, rows.TOPOLOGY_AWARE_POLICY.pin_memory, not is_kubelets, because)


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods run on the CPUs of a pool; empty where the policy knows none of its name."""
    if not plan.node_class.target.has_topology_aware or name.startswith(PARTITION):
        return ""
    others = {
        RESERVED: f"those of {policies.reserved_namespaces_text(plan)}",
        _ISOLATED: "integer Guaranteed containers have exclusive CPUs, others share what is left",
    }
    return others.get(name, "")


def policy_inputs(plan: NodePlan) -> "PolicyInputs[Config]":
    """The planned machine, and the object as it is written: the API server adds nothing to it."""
    return PolicyInputs(policies.planned_machine(plan), config_of(tuple(settings(plan))))


def config_of(given: Sequence[Setting]) -> "Config":
    """What the policy reads in the object of these settings."""
    from cpuplan.upstream.nri.topologyaware.config import decode_object

    return decode_object(document(given))


def started(plan: NodePlan) -> "Policy":
    """The policy on the planned machine; NriError or PanicError where it does not start."""
    from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy  # for few plans

    return Policy(*policy_inputs(plan))


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    return policies.document(settings, KIND)


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return policies.render(settings, KIND)


#: The same fields of an object's YAML.
parse = policies.parse
