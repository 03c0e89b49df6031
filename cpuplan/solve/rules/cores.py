"""How sets share the threads of a core, and the other rules of `rulebook` on layouts."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import joined
from cpuplan.solve.constraints import Amount, Has, OneThread, Together, WholeCores
from cpuplan.solve.layout import SetSpec, beside, has_size, is_empty, is_like_host, sibling_of
from cpuplan.solve.rules.rule import Rule, Statements, built_in, machine, scopes_of


def siblings(statements: Statements) -> Iterator[Rule]:
    """A set with a `sibling` takes one thread of each core, and that pool the others.

    A thread for nobody is switched off, since an online one takes interrupts and kernel threads.
    """
    if statements.topology.threads_per_core == 1:
        return
    for name, spec in statements.sets.items():
        target = sibling_of(spec.pool)
        if target and not is_like_host(spec, statements.sets):
            text = f"{name} takes one thread of each core, and {target} the others"
            yield statements.rule(name, f"{spec.field}.sibling", text, OneThread(name, target))


def whole_cores(statements: Statements) -> Iterator[Rule]:
    """Siblings stay in one pool, unless wholeCores is false for all of them, or `sibling` is given.

    A pool that takes the rest and has no wholeCores takes the threads that the others leave. QoS
    sets are about the threads that pods may use. Two threads of a core share its caches and
    execution units, so a neighbour in another pool disturbs (kubernetes/enhancements KEP-2625,
    full-pcpus-only).
    """
    if statements.topology.threads_per_core == 1:
        return
    for name, spec in statements.sets.items():
        if not has_whole_cores(statements, spec):
            continue
        kind = "set" if spec.is_qos else "pool"
        text = f"{name} takes whole cores: siblings stay in one {kind}"
        field = f"{spec.field}.wholeCores"
        whole = WholeCores(name, beside(name, statements.sets, statements.one_thread))
        if "whole_cores" in spec.pool.model_fields_set:
            yield statements.rule(name, field, text, whole)
        else:
            yield built_in(name, "whole-cores", text, whole, field=field)


def has_whole_cores(statements: Statements, spec: SetSpec) -> bool:
    """Whether the set takes whole cores, by its statement or by the rule."""
    pool = spec.pool
    if sibling_of(pool) or not pool.whole_cores:
        return False
    if "whole_cores" in pool.model_fields_set:
        return True
    others = (other for other in statements.sets.values() if not other.is_qos)
    left_to_it = pool.rest and any(not other.pool.whole_cores for other in others)
    return statements.is_on("whole-cores") and not left_to_it


def nothing_else_idle(statements: Statements) -> Iterator[Rule]:
    """Where only siblings are to be idle, no other CPU is switched off."""
    offlined = statements.sets.get("offlined")
    if offlined and not offlined.is_written:
        hosts = beside("offlined", statements.sets, statements.one_thread)
        text = f"offlined has idle siblings of {joined(hosts)} only"
        idle = Together("offlined", hosts, None)
        yield built_in("offlined", "idle", text, idle, field=offlined.field)


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


def isolated_not_empty(statements: Statements) -> Iterator[Rule]:
    """Isolated has a CPU, whatever its size: the kubelet offers pods no other ones.

    It is about the node, and no reason for the CPUs that isolated has.
    """
    if "isolated" in statements.sets and statements.is_on("isolated-not-empty"):
        scope = machine(statements.topology)
        text = "isolated is not empty: pods need a CPU"
        least = Amount("isolated", scope, "CPUs", 1, len(scope.cpus))
        yield built_in("isolated", "isolated-not-empty", text, least)._replace(is_reason=False)


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
