"""What follows from a plan and is no setting: facts that `check` compares nodes with.

Among them is what the Node object says that the node has, and that pods can have of it. Source:
Kubernetes pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableReservation),
pkg/kubelet/nodestatus/setters.go; OpenShift's additions pkg/kubelet/sharedcpus and
pkg/kubelet/managed.
"""

from collections.abc import Callable, Mapping

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import chosen, hugepages, isolation, kernel, kubelet, memory, mixedcpus
from cpuplan.components.host import tuned
from cpuplan.facts.settings.kubelet import EVICTION_HARD, KUBE_RESERVED, SYSTEM_RESERVED
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Value
from cpuplan.upstream.kubelet.eviction import MEMORY_AVAILABLE
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import BINARY, of
from cpuplan.upstream.openshift import managed

#: Names of facts.
ISOLATED = "isolated CPUs"
ONLINE = "online CPUs"
SYSTEM = "CPUs of system services"
UNBALANCED = "CPUs without load balancing"
CGROUPS = "version of control groups"
CGROUP_DRIVER = "cgroup driver"
MIXED_CPUS = "mixed CPUs"
HUGE_PAGES = "huge pages"
TUNED_PROFILE = "profile of TuneD"
#: Numbers of pages that may come to any NUMA node, by size in KiB.
ANYWHERE = "huge pages without a NUMA node"
#: CPUs of work that is bound to none, as the boot arguments make it.
UNBOUND = "CPUs of unbound work"
#: CPUs whose RCU callbacks others run.
CALLBACKS = "CPUs without RCU callbacks"
CPU_VENDOR = "CPU vendor"
CPU_MODEL = "CPU model"
MODEL_NUMBER = "CPU model number"
KOORDLET = "koordlet"
#: Of classes in a MachineConfigPool alone, by their backend.
RENDERED = "rendered MachineConfig"
AMOUNTS = "amounts of the node"
CAPACITY, ALLOCATABLE = "capacity", "allocatable"
#: Of memory: how much less can be allocated than there is, in bytes. An inventory does not know the
#: size that Linux leaves of it.
KEPT = "kept back"
SHARED_CPUS = mixedcpus.RESOURCE
#: Thousandths of a CPU, for the pods of the platform.
MANAGED_CPUS = managed.resource_name(managed.MANAGEMENT)


def facts(plan: ConfiguredPlan) -> dict[str, Value]:
    """The facts of a plan, by name."""
    return {name: fact(plan) for name, fact in _FACTS.items()}


def amounts(plan: NodePlan) -> dict[str, Value]:
    """The amounts of each resource that follow from the plan alone, as Kubernetes' quantities.

    What other files of the kubelet may change, a plan does not know; it is left out.
    """
    online = plan.topology.online - plan.pool("offlined").cpus
    resources: dict[str, Value] = {CPU: {CAPACITY: str(len(online)), **_allocatable_cpus(plan)}}
    pages = _pages(plan)
    resources |= {name: _whole(size) for name, size in pages.items()}
    if (kept := _reserved_memory(plan)) is not None:
        resources[MEMORY] = {KEPT: str(of(kept + sum(pages.values()), BINARY))}
    if plan.node_class.platform.forks_kubelet:
        if mixedcpus.are_used(plan):
            count = str(chosen.sharing_limit(plan))
            resources[SHARED_CPUS] = {CAPACITY: count, ALLOCATABLE: count}
        if plan.node_class.target.cpu_partitioning and plan.pool("reserved").cpus:
            resources[MANAGED_CPUS] = {CAPACITY: str(managed.capacity(len(online)))}
    return resources


def _allocatable_cpus(plan: NodePlan) -> dict[str, Value]:
    """The list of reserved CPUs replaces all amounts of CPU that are reserved otherwise."""
    reserved = kubelet.reserved_cpus(plan)
    if not reserved:
        return {}
    online = plan.topology.online - plan.pool("offlined").cpus
    return {ALLOCATABLE: str(len(online - reserved))}


def _pages(plan: NodePlan) -> dict[str, int]:
    """Bytes in huge pages of each size that is asked for."""
    sizes: dict[str, int] = {}
    for pages in hugepages.per_node(plan).values():
        for name, size in hugepages.bytes_by_resource(pages).items():
            sizes[name] = sizes.get(name, 0) + size
    return sizes


def _whole(size: int) -> Value:
    text = str(of(size, BINARY))
    return {CAPACITY: text, ALLOCATABLE: text}


def _reserved_memory(plan: NodePlan) -> int | None:
    """Bytes that Node Allocatable takes off, None where files of others have a say.

    A kubelet with the memory manager does not start unless NUMA nodes reserve just that.
    """
    if memory.uses_memory_manager(plan):
        return sum(memory.reserved(plan).values()) or None
    stated = (chosen.amounts(plan, KUBE_RESERVED), chosen.amounts(plan, SYSTEM_RESERVED))
    threshold = chosen.amounts(plan, EVICTION_HARD).get(MEMORY_AVAILABLE, "%")
    is_known = all(MEMORY in amounts for amounts in stated) and "%" not in threshold
    return memory.reservation(plan) if is_known else None


def _huge_pages(plan: ConfiguredPlan) -> Value:
    """Numbers of pages by NUMA node, then by size in KiB."""
    pages = hugepages.per_node(plan)
    return {str(node): _by_size(sizes) for node, sizes in pages.items() if sizes}


def _by_size(sizes: Mapping[int, int]) -> Value:
    return {str(kib): number for kib, number in sizes.items()}


def _anywhere(plan: ConfiguredPlan) -> Value:
    anywhere = (entry for entry in hugepages.entries(plan) if entry.numa_node is None)
    return {str(entry.kib): entry.number for entry in anywhere}


def _model_number(plan: ConfiguredPlan) -> Value:
    number = plan.node_class.cpu_model_number
    return "" if number is None else number


def _driver(plan: ConfiguredPlan) -> Value:
    usual = plan.node_class.platform.cgroup_driver
    return str(plan.spec.kubelet.configuration.get("cgroupDriver", usual))


def _profile(plan: ConfiguredPlan) -> Value:
    """The name; "" where TuneD gets no profile."""
    if not plan.settings.of(tuned.NAME):
        return ""
    has_operator = plan.node_class.platform.has_pools
    return tuned.of_operator(plan.node_class.profile) if has_operator else tuned.PROFILE


def _koordlet(plan: ConfiguredPlan) -> Value:
    """What koordlet knows beside the machine; nothing where it gives no CPUs."""
    if not plan.node_class.target.has_koordinator:
        return {}
    from cpuplan.components.koordinator import koordlet

    return koordlet.fact(plan)


_FACTS: Mapping[str, Callable[[ConfiguredPlan], Value]] = {
    ISOLATED: lambda plan: isolation.isolated(plan).cpus,
    ONLINE: lambda plan: plan.topology.online - plan.pool("offlined").cpus,
    SYSTEM: isolation.system_cpus,
    UNBALANCED: lambda plan: kernel.unbalanced(plan.settings.of(kernel.NAME)),
    CGROUPS: lambda plan: "v1" if chosen.has_cgroups_v1(plan) else "v2",
    CGROUP_DRIVER: _driver,
    MIXED_CPUS: mixedcpus.are_used,
    HUGE_PAGES: _huge_pages,
    TUNED_PROFILE: _profile,
    ANYWHERE: _anywhere,
    UNBOUND: lambda plan: CpuSet.from_bits(kernel.booted(plan).workqueue),
    CALLBACKS: lambda plan: CpuSet.from_bits(kernel.booted(plan).callbacks or 0),
    CPU_VENDOR: lambda plan: plan.node_class.cpu_vendor,
    CPU_MODEL: lambda plan: plan.node_class.cpu_model,
    MODEL_NUMBER: _model_number,
    AMOUNTS: amounts,
    KOORDLET: _koordlet,
}
