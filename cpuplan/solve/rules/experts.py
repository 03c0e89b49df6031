"""The rules of `rulebook` that bind layouts, siblings excepted (`cores.whole_cores`)."""

from collections.abc import Iterator

from cpuplan.cpuset import CpuSet
from cpuplan.model.pools import QOS_SETS
from cpuplan.solve.constraints import Amount, Has, Together
from cpuplan.solve.rules.rule import Rule, Statements, built_in, machine, scopes_of
from cpuplan.solve.said import is_empty


def reserved_not_empty(statements: Statements) -> Iterator[Rule]:
    """A reserved pool without a number must get something under the static policy; a number of 0 is
    a mistake (CP212).

    Without a reserved CPU the kubelet does not start: the shared pool could be used up completely
    (pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).
    """
    pool = statements.sets["reserved"].pool
    open_end = pool.rest or (
        pool.percent is None and (pool.min is not None or pool.max is not None)
    )
    static = statements.node_class.spec.kubelet.cpu_manager_policy == "static"
    if static and open_end and not pool.min and statements.is_on("reserved-not-empty"):
        scope = machine(statements.topology)
        text = "reserved is not empty: the kubelet's static policy needs a CPU"
        least = Amount("reserved", scope, "CPUs", 1, len(scope.cpus))
        yield built_in("reserved", "reserved-not-empty", text, least)


def reserved_on_every_numa_node(statements: Statements) -> Iterator[Rule]:
    """Where asked for: each NUMA node with isolated CPUs keeps a reserved one, for interrupts and
    kernel threads.
    """
    if statements.is_on("reserved-on-every-numa-node") and "isolated" in statements.sets:
        nodes = tuple(scopes_of(statements.topology, "numaNode"))
        text = "each NUMA node with isolated CPUs has a reserved one"
        yield built_in(
            "isolated",
            "reserved-on-every-numa-node",
            text,
            Together("isolated", ("reserved",), nodes),
        )


def cpu0_reserved(statements: Statements) -> Iterator[Rule]:
    """CPU 0 stays in reserved: it keeps time and takes what interrupts have no other place.

    Lists say what they say: of one that puts CPU 0 elsewhere, or reserved without it, there is a
    warning (CP214).
    """
    lists = {
        name: each.pool.cpus for name, each in statements.sets.items() if each.pool.cpus is not None
    }
    elsewhere = any(0 in cpus for name, cpus in lists.items() if name not in QOS_SETS)
    if 0 not in statements.topology.online or not statements.is_on("cpu0-reserved"):
        return
    if not elsewhere and "reserved" not in lists and not is_empty(statements.sets["reserved"].pool):
        text = "CPU 0 stays in reserved: it keeps time and takes the interrupts that have no other place"
        yield built_in("reserved", "cpu0-reserved", text, Has("reserved", CpuSet([0])))
