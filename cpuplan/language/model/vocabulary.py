"""Names for stages that load no model: rules and goals, roles of nodes, policies, partitions.

Rules that experts know are switched off (or on) by an intent that gives a reason; the others are
part of the language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cpuplan.language.model.intent import RuleSwitch, Target


NODE_ROLE = "node-role.kubernetes.io/"


def role(pool: str) -> str:
    """The label of the nodes of a custom pool."""
    return NODE_ROLE + pool


#: The label of a MachineConfig that says whose pool it is for.
MACHINE_ROLE = "machineconfiguration.openshift.io/role"
WORKER = "worker"
#: Marks the MachineConfig of the pool worker, which custom pools of cpuplan do not select then.
MACHINE_OWNER = "cpuplan.io/pool"
#: Pools that every cluster has; cpuplan does not write them.
BUILT_IN_POOLS = ("master", WORKER, "arbiter")


def machine_roles(target: Target) -> tuple[str, ...]:
    """The roles of the MachineConfigs that a custom pool takes: those of `worker`, and its own."""
    pool = target.pool or ""
    return tuple(dict.fromkeys([WORKER, pool, target.machine_config_label.get(MACHINE_ROLE, pool)]))


def takes_machine_config(target: Target, labels: Mapping[str, str]) -> bool:
    """Whether the pool of a target takes a MachineConfig with these labels."""
    role = labels.get(MACHINE_ROLE)
    if target.pool in BUILT_IN_POOLS:
        return role == target.pool
    return role in machine_roles(target) and labels.get(MACHINE_OWNER) != WORKER


def node_selector(target: Target) -> dict[str, str]:
    """The labels of the nodes of a target's MachineConfigPool."""
    return target.node_selector or {role(target.pool or ""): ""}


class ExpertRule(NamedTuple):
    """What a rule demands, why, and the codes of the findings where a finished plan breaks it."""

    text: str
    about: str
    codes: tuple[str, ...] = ()
    on: bool = True  # off by default: only where an intent switches it on


#: The rules that bind layouts are built by `solve.rules.experts`; the others are checks of
#: components.
EXPERT_RULES = {
    "cpu0-reserved": ExpertRule(
        "CPU 0 stays in reserved",
        "The boot CPU keeps the system's time, takes the interrupts that have no other place, and cannot be switched off "
        "on most machines. If CPU lists contradict the rule, a warning replaces it.",
        ("CP214",),
    ),
    "whole-cores": ExpertRule(
        "siblings stay in one pool",
        "Two threads of a core share its caches and execution units, so a neighbour in another pool disturbs them "
        "(kubernetes/enhancements KEP-2625). A single pool is exempt with `wholeCores: false` or `sibling`.",
    ),
    "reserved-not-empty": ExpertRule(
        "reserved has a CPU under the static policy",
        "Without a reserved CPU, the kubelet does not start: pods with exclusive CPUs could take every CPU "
        "(pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).",
        ("CP212",),
    ),
    "isolated-not-empty": ExpertRule(
        "isolated has a CPU, so that pods can run",
        "The kubelet offers pods the CPUs of isolated, less those that are for best-effort pods alone. Where there are "
        "none, it refuses each pod that requests CPU (pkg/kubelet/lifecycle/predicate.go, OutOfcpu).",
        ("CP7645",),
    ),
    "reserved-on-every-numa-node": ExpertRule(
        "each NUMA node with isolated CPUs also has a reserved one",
        "Interrupts of a NUMA node's devices, and kernel threads that work for it, then do not have to cross the machine.",
        on=False,
    ),
    "strict-cpu-reservation": ExpertRule(
        "CPUs that are kept from pods are kept from all pods",
        "reservedSystemCPUs only keeps exclusive pods away. All other pods still run there, also on isolcpus, unless the "
        "static policy has the option strict-cpu-reservation (KEP-4540).",
        ("CP526", "CP583"),
    ),
    "memory-adds-up": ExpertRule(
        "huge pages and reserved memory fit into each NUMA node",
        "The kernel silently allocates fewer huge pages than requested, and the kubelet does not start if reservedMemory "
        "does not add up.",
        ("CP517", "CP518", "CP543"),
    ),
    "numa-nodes-fit": ExpertRule(
        "the topology manager accepts the number of NUMA nodes",
        "It tries all combinations of NUMA nodes, and by default refuses machines with more than 8.",
        ("CP512", "CP5150", "CP5151"),
    ),
}


def codes_off(switches: Iterable[RuleSwitch]) -> frozenset[str]:
    """The codes of findings that go with the built-in rules that are disabled."""
    disabled = [switch.disable for switch in switches if switch.disable]
    return frozenset(code for name in disabled for code in EXPERT_RULES[name].codes)


class Word(NamedTuple):
    """What a name of the language stands for, and why it is there."""

    text: str
    about: str


#: What every layout has.
FIXED_RULES = {
    "every-cpu": Word(
        "every online CPU is in a pool",
        "A CPU in no pool could be used by anything, without a decision. `isolated` takes what is left if no pool has "
        "`rest`.",
    ),
    "rest": Word(
        "isolated takes the rest, unless another pool does",
        "A node exists to run pods. `rest` under another pool, or a size of `isolated`, changes this.",
    ),
    "idle": Word(
        "only siblings are idle, if nothing else is offlined",
        "`sibling: idle` switches off the other threads of its cores and nothing else: without a size of its own, the pool "
        "`offlined` has no other CPU.",
    ),
    "qos-cover": Word(
        "CPUs that are in neither QoS set are in isolcpus or offlined",
        "A pod of any class must have CPUs to run on. CPUs in neither QoS set would be idle without being switched off "
        "(kubernetes/enhancements, QoS CPU affinity hints: ISOLCPUS = ALL - BE - OTHER).",
    ),
}

#: What makes a layout better, in the default order. The last two hold always.
GOALS = {
    "fewest-moved": Word(
        "as few CPUs as possible change their sets, compared with intents/plan.lock.yaml",
        "A CPU that moves changes files, and usually needs a reboot.",
    ),
    "fewest-split-cores": Word(
        "as few cores as possible have threads in different sets",
        "Two threads of a core share its caches and execution units.",
    ),
    "locality": Word(
        "each set except isolated and the QoS sets is on as few NUMA nodes, then on as few last-level caches as possible",
        "CPUs that work together are close together, and the other NUMA nodes and caches stay whole. Sets that list their "
        "CPUs, or have a size for each part of the machine, leave nothing to choose.",
    ),
    "balance": Word(
        "the NUMA node with the fewest isolated CPUs has as many as possible",
        "Pods that must fit into one NUMA node find room on each one.",
    ),
    "most-isolated": Word(
        "isolated has as many CPUs as possible", "Exclusive CPUs come from there."
    ),
    "smallest-range": Word(
        "a pool whose size is a range is as small as possible, unless it is isolated",
        "`min` and `max` state what a pool needs. The remaining CPUs are worth more to pods.",
    ),
    "canonical": Word(
        "low cores go to the first pools",
        "Of equally good layouts, the same one is always chosen: core by core from the lowest one up, each goes to the "
        "first pool that can have it. The solver does not influence this choice.",
    ),
}


#: Before the name of a partition of the isolated pool.
PARTITION = "isolated."
#: Policies of the topology manager that refuse what is not aligned. With them memory is too, as on
#: OpenShift.
ALIGNING = ("restricted", "single-numa-node")
