"""The rules of `rulebook` on layouts, except the one on siblings (`cores.whole_cores`)."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve.constraints import Amount, Has, Together
from cpuplan.solve.rules.rule import Rule, Statements, built_in, machine, scopes_of
from cpuplan.solve.sets import has_size, is_empty


def reserved_not_empty(statements: Statements) -> Iterator[Rule]:
    """A reserved pool without a number has a CPU under the static policy (0 is CP212).

    Without a reserved CPU the kubelet does not start: the shared pool could be used up completely
    (pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).
    """
    pool = statements.sets["reserved"].pool
    has_bound = pool.min is not None or pool.max is not None
    may_be_none = pool.steps is not None or pool.of is not None  # a share of few CPUs, or of none
    may_be_none = may_be_none or not has_size(pool)  # partitions may be empty
    open_end = pool.rest or may_be_none or (pool.percent is None and has_bound)
    static = statements.node_class.cpu_manager_policy == "static"
    if static and open_end and not pool.min and statements.is_on("reserved-not-empty"):
        scope = machine(statements.topology)
        text = "reserved is not empty: the kubelet's static policy needs a CPU"
        least = Amount("reserved", scope, "CPUs", 1, len(scope.cpus))
        yield built_in("reserved", "reserved-not-empty", text, least)


def reserved_on_every_numa_node(statements: Statements) -> Iterator[Rule]:
    """If enabled, each NUMA node with isolated CPUs has a reserved one for the kernel's work."""
    name = "reserved-on-every-numa-node"
    if statements.is_on(name) and "isolated" in statements.sets:
        nodes = tuple(scopes_of(statements.topology, "numaNode"))
        text = "each NUMA node with isolated CPUs has a reserved one"
        yield built_in("isolated", name, text, Together("isolated", ("reserved",), nodes))


def cpu0_reserved(statements: Statements) -> Iterator[Rule]:
    """CPU 0 stays in reserved: it keeps time and takes interrupts that have no other place.

    Lists come first: one that puts CPU 0 elsewhere, or reserved without it, gets a warning (CP214).
    """
    if 0 not in statements.topology.online or not statements.is_on("cpu0-reserved"):
        return
    reserved = statements.sets["reserved"].pool
    if reserved.cpus is not None or is_empty(reserved):
        return
    sets = (spec for spec in statements.sets.values() if not spec.is_qos)
    if not any(0 in (spec.pool.cpus or ()) for spec in sets):
        text = (
            "CPU 0 stays in reserved: "
            "it keeps time and takes the interrupts that have no other place"
        )
        yield built_in("reserved", "cpu0-reserved", text, Has("reserved", CpuSet([0])))
