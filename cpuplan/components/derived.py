"""What follows from a plan and is no setting: facts that `check` compares nodes with."""

from collections.abc import Callable, Mapping

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import booted, cgroups, hugepages, isolation, kernel, mixedcpus
from cpuplan.components.host import tuned
from cpuplan.components.published import koordlet
from cpuplan.components.published.amounts import AMOUNTS, amounts
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value

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


def facts(plan: ConfiguredPlan) -> dict[str, Value]:
    """The facts of a plan, by name."""
    return {name: fact(plan) for name, fact in _FACTS.items()}


def _huge_pages(plan: ConfiguredPlan) -> Value:
    """Numbers of pages by NUMA node, then by size in KiB."""
    pages = hugepages.per_node(plan)
    return {str(node): _by_size(sizes) for node, sizes in pages.items() if sizes}


def _by_size(sizes: Mapping[int, int]) -> Value:
    return {str(kib): number for kib, number in sizes.items()}


def _anywhere(plan: ConfiguredPlan) -> Value:
    pages = (each for each in plan.spec.huge_pages.pages if each.numa_node is None)
    return {str(hugepages.to_kib(each.size)): each.count for each in pages}


def _model_number(plan: ConfiguredPlan) -> Value:
    number = plan.node_class.cpu_model_number
    return "" if number is None else number


def _driver(plan: ConfiguredPlan) -> Value:
    return str(plan.spec.kubelet.configuration.get("cgroupDriver", "systemd"))


def _profile(plan: ConfiguredPlan) -> Value:
    """The name; "" where TuneD gets no profile."""
    if not plan.settings.of(tuned.NAME):
        return ""
    has_operator = plan.node_class.platform.has_pools
    return tuned.of_operator(plan.node_class.profile) if has_operator else tuned.PROFILE


_FACTS: Mapping[str, Callable[[ConfiguredPlan], Value]] = {
    ISOLATED: lambda plan: isolation.isolated(plan).cpus,
    ONLINE: lambda plan: plan.topology.online - plan.pool("offlined").cpus,
    SYSTEM: isolation.system_cpus,
    UNBALANCED: lambda plan: kernel.unbalanced(plan.settings.of(kernel.NAME)),
    CGROUPS: lambda plan: "v1" if cgroups.is_v1(plan) else "v2",
    CGROUP_DRIVER: _driver,
    MIXED_CPUS: mixedcpus.are_used,
    HUGE_PAGES: _huge_pages,
    TUNED_PROFILE: _profile,
    ANYWHERE: _anywhere,
    UNBOUND: lambda plan: CpuSet.from_bits(booted.booted(plan).workqueue),
    CALLBACKS: lambda plan: CpuSet.from_bits(booted.booted(plan).callbacks or 0),
    CPU_VENDOR: lambda plan: plan.node_class.cpu_vendor,
    CPU_MODEL: lambda plan: plan.node_class.cpu_model,
    MODEL_NUMBER: _model_number,
    AMOUNTS: amounts,
    KOORDLET: koordlet.fact,
}
