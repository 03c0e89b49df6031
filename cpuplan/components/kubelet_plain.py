"""Plans of which the simulated kubelet has nothing to say, told without it: to load it takes longer
than to ask it.
"""

from cpuplan.components import chosen, kubelet, memory
from cpuplan.model.topology import KubeletFacts
from cpuplan.plan import NodePlan

#: Reservations that every machine with this memory has room for, in bytes.
_ENOUGH_MEMORY = 4 * 1024**3
#: An option that goes wrong on no machine whose cores are alike.
_HARMLESS = {"full-pcpus-only"}


def is_plain(plan: NodePlan) -> bool:
    """Whether a kubelet starts with this plan and gives no CPU out twice: nothing of it is out of
    the ordinary.
    """
    spec = plan.spec.kubelet
    facts = plan.topology.kubelet
    told = [node.memory for node in plan.topology.numa_facts.values() if node.memory]
    return (
        not spec.configuration
        and not plan.spec.workloads
        and not spec.topology_manager_policy_options
        and kubelet.cpu_options(plan).keys() <= _HARMLESS
        and facts == KubeletFacts(facts.caches, facts.unread_caches)
        and bool(plan.pool("reserved").cpus)
        and memory.reservation(plan) <= _ENOUGH_MEMORY // 2
        and not any(
            "%" in text
            for signal, text in chosen.eviction_hard(plan).items()
            if signal.startswith("memory")
        )
        and (not told or sum(told) >= _ENOUGH_MEMORY)
        and not chosen.kube_reserved(plan).keys() | chosen.system_reserved(plan).keys() > {"memory"}
        and _is_uniform(plan)
    )


def _is_uniform(plan: NodePlan) -> bool:
    """Whether cores have as many CPUs as one another, and sockets too, when the offlined pool is
    off.
    """
    off = plan.pool("offlined").cpus
    for groups in (plan.topology.cores, plan.topology.sockets):
        if len({len(cpus - off) for cpus in groups.values()} - {0}) > 1:
            return False
    return True
