"""The number of CPUs of each set, and room for the workloads that must fit.

A size may be a share of a number of CPUs: percent and steps, of the machine or of a set. Workloads
need the exclusive CPUs of their pods, by their sums.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Literal

from cpuplan.base.cpuset import cpus_text, union
from cpuplan.base.text import counted, joined
from cpuplan.base.topology import Topology
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.language.model.pools import HIDDEN, POOLS, SHARES, Pool, Workload
from cpuplan.language.read.pods import template_of
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import (
    AllOrNone,
    Amount,
    Block,
    Constraint,
    Has,
    OneOf,
    Share,
    WholeCores,
    Within,
    bounded,
)
from cpuplan.solve.layout import Scope, SetSpec, beside, has_size, hosts_of
from cpuplan.solve.rules.cores import has_whole_cores
from cpuplan.solve.rules.placement import Part, allowed_scopes, sized_parts, where
from cpuplan.solve.rules.rule import Rule, Statements, built_in, machine, scopes_of
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import pod_guaranteed_cpus


def is_share(pool: Pool) -> bool:
    """Whether the size is a share of a number of CPUs."""
    return any(getattr(pool, name) is not None for name in SHARES)


def share_size(
    statements: Statements, spec: SetSpec, scopes: Sequence[Scope], place: str
) -> tuple[str, str, tuple[Constraint, ...]]:
    """The field of the size, the statement in words, and its constraints."""
    pool, limits = spec.pool, bounds_text(spec.pool)
    text = f"takes {_words(pool)}{place}"
    if not pool.sibling:
        text += ", rounded up to whole cores" if pool.max is None else ", rounded to whole cores"
    if limits:
        text += f", {limits}{place}"
    field = "steps" if pool.steps else "percent"
    return field, text, tuple(_constraint(statements, spec, scope) for scope in scopes)


def _words(pool: Pool) -> str:
    """`10% of the CPUs`, `6% of the first 1 and 1% of the others of isolated`."""
    whole = pool.of or "the CPUs"
    if not pool.steps:
        return f"{pool.percent}% of {whole}"
    shares, start = [], "first"
    for step in pool.steps:
        which = f"{start} {step.cpus}" if step.cpus else "others"
        shares.append(f"{step.percent}% of the {which}")
        start = "next"
    return f"{joined(shares)} of {whole}"


def bounds_text(pool: Pool) -> str:
    """`2 to 8 CPUs`, `at least 2 CPUs`; empty for a pool without bounds."""
    if pool.min is not None and pool.max is not None:
        return f"{pool.min} to {counted(pool.max, 'CPU')}"
    if pool.min is not None:
        return f"at least {counted(pool.min, 'CPU')}"
    return "" if pool.max is None else f"at most {counted(pool.max, 'CPU')}"


def _constraint(statements: Statements, spec: SetSpec, scope: Scope) -> Constraint:
    """A number for a share of the scope's online CPUs, a table for that of another set."""
    sums, number = _sums(statements.topology, scope), len(scope.cpus)
    if spec.pool.of is None:
        share = _rounded(statements, spec, sums, number, number)
        return Amount(spec.name, scope, "CPUs", share, share)
    table = tuple(_rounded(statements, spec, sums, number, held) for held in range(number + 1))
    return Share(spec.name, spec.pool.of, scope, table)


def _rounded(statements: Statements, spec: SetSpec, sums: int, number: int, held: int) -> int:
    """The CPUs for a share of `held` CPUs of a scope with `number`, between `min` and `max`.

    One thread of each core needs no rounding.
    """
    pool = spec.pool
    share = max(_exact(pool, held), bounded(pool.min or 0))
    if pool.max is not None:
        share = min(share, pool.max)
    return share if pool.sibling else _whole_cores(statements, spec, sums, number, share)


def _exact(pool: Pool, held: int) -> int:
    """The share of so many CPUs, rounded up to a CPU after all steps are added."""
    if not pool.steps:
        return -(-(pool.percent or 0) * held // 100)
    total, left = Fraction(0), held
    for step in pool.steps:
        cpus = left if step.cpus is None else min(step.cpus, left)
        total += cpus * Fraction(step.percent) / 100
        left -= cpus
    return ceil(total)


def _whole_cores(statements: Statements, spec: SetSpec, sums: int, number: int, share: int) -> int:
    """The share as whole cores: rounded up, or down where that is more than `max`.

    Where neither is possible it is `max`: a set that may split cores has that many CPUs, and for
    another one there is no layout.
    """
    pool = spec.pool
    larger = (cpus for cpus in range(share, number + 1) if sums >> cpus & 1)
    above = next(larger, share)
    if pool.max is None or above <= pool.max:
        return above
    below = (sums & (1 << share) - 1).bit_length() - 1
    hosts = hosts_of(spec.name, statements.sets, statements.one_thread)
    may_split = not has_whole_cores(statements, spec) or hosts
    return pool.max if may_split or below < max(pool.min or 0, 1) else below


def _sums(topology: Topology, scope: Scope) -> int:
    """Bit n is set where some of the scope's cores have n CPUs together."""
    sums = 1
    for siblings in topology.cores.values():
        if siblings <= scope.cpus:
            sums |= sums << len(siblings)
    return sums


#: The field of a size, the statement in words, and its constraints.
Size = tuple[str, str, tuple[Constraint, ...]]


def sizes(statements: Statements) -> Iterator[Rule]:
    """Each set has the size of its statement."""
    for spec in statements.sets.values():
        yield from size(statements, spec)


def size(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    """The rules of one set's size; for a pool that takes the rest, a rule without constraints."""
    name, pool = spec.name, spec.pool
    if not spec.is_written:
        if pool.rest:
            text = f"{name} takes the rest, because no other pool does"
            yield built_in(name, "rest", text, field=spec.field)
        return
    if not has_size(pool):
        why = ", since another pool takes the rest" if name == "isolated" else ""
        text = f"{name} has no more than its partitions{why}"
        partitions = OneOf(_partitions(statements, name), name)
        yield statements.rule(name, f"{spec.field}.partitions", text, partitions)
        return
    field, text, constraints = _size(statements, spec)
    yield statements.rule(name, f"{spec.field}.{field}", f"{name} {text}", *constraints)


def _size(statements: Statements, spec: SetSpec) -> Size:
    pool = spec.pool
    if pool.cpus is not None:
        are = "is" if len(pool.cpus) == 1 else "are"
        constraints = (Within(spec.name, pool.cpus), Has(spec.name, pool.cpus))
        return "cpus", f"takes {cpus_text(pool.cpus)}, which {are} listed", constraints
    parts = sized_parts(statements, spec)
    place = where(statements, spec, parts)
    if pool.count is not None:
        amounts = tuple(_fixed(spec.name, part, "CPUs", pool.count) for part in parts)
        return "count", f"takes {counted(pool.count, 'CPU')}{place}", amounts
    if pool.cores is not None:
        return _cores(statements, spec, parts, place)
    if pool.whole_caches is not None:
        return _whole_caches(statements, spec, parts, place)
    if is_share(pool):
        return share_size(statements, spec, [part.scope for part in parts], place)
    bounds = bounds_text(pool)
    ranges = tuple(_range(spec.name, part, pool) for part in parts) if bounds else ()
    if pool.rest:
        partitions = _partitions(statements, spec.host)
        text = f"takes the rest of {spec.host}" if spec.is_partition else "takes the rest"
        rest = (OneOf(partitions, spec.host),) if spec.is_partition else ()
        return "rest", text + (f", {bounds}{place}" if bounds else ""), (*rest, *ranges)
    return "max" if pool.min is None else "min", f"takes {bounds}{place}", ranges


def _fixed(name: str, part: Part, unit: Literal["CPUs", "cores"], number: int) -> Amount:
    exactly = bounded(number * part.times)
    return Amount(name, part.scope, unit, exactly, exactly)


def _cores(statements: Statements, spec: SetSpec, parts: Sequence[Part], place: str) -> Size:
    name, number = spec.name, spec.pool.cores or 0
    amounts = tuple(_fixed(name, part, "cores", number) for part in parts)
    if spec.pool.sibling:
        return "cores", f"takes a thread of {counted(number, 'core')}{place}", amounts
    whole = WholeCores(name, beside(name, statements.sets, statements.one_thread))
    return "cores", f"takes {counted(number, 'whole core')}{place}", (*amounts, whole)


def _whole_caches(statements: Statements, spec: SetSpec, parts: Sequence[Part], place: str) -> Size:
    """Caches that lie in a part are its caches. The set is nowhere else, so each of them is whole.

    A cache with CPUs offline is whole with those that are online.
    """
    name, number = spec.name, spec.pool.whole_caches or 0
    blocks = caches(statements, spec)
    amounts = []
    for part in parts:
        inside = tuple(block for block in blocks if block.cpus <= part.scope.cpus)
        most = bounded(number * part.times)
        amounts.append(Amount(name, part.scope, "caches", most, most, blocks=inside))
    within = Within(name, union(block.cpus for block in blocks))
    text = f"takes {counted(number, 'whole last-level cache')}{place}"
    return "wholeCaches", text, (*amounts, AllOrNone(name, blocks), within)


def caches(statements: Statements, spec: SetSpec) -> tuple[Block, ...]:
    """The last-level caches, and what a set with one has of it: with `sibling`, a CPU per core."""
    topology, blocks = statements.topology, []
    for scope in scopes_of(topology, "cache"):
        cores = {topology[cpu].core for cpu in scope.cpus}
        blocks.append(Block(scope.cpus, len(cores) if spec.pool.sibling else len(scope.cpus)))
    return tuple(blocks)


def _partitions(statements: Statements, host: str) -> tuple[str, ...]:
    return tuple(name for name in statements.sets if name.startswith(f"{host}."))


def _range(name: str, part: Part, pool: Pool) -> Amount:
    least = (pool.min or 0) * part.times
    most = len(part.scope.cpus) if pool.max is None else pool.max * part.times
    return Amount(name, part.scope, "CPUs", bounded(least), bounded(most))


def every_cpu_has_a_pool(statements: Statements) -> Iterator[Rule]:
    """Each online CPU is in a pool: in at most one by the form of a layout, in one by this rule."""
    pools = tuple(name for name in statements.sets if name in POOLS)
    yield built_in("", "every-cpu", "every online CPU is in a pool", OneOf(pools), field="pools")


def pods_have_a_place(statements: Statements) -> Iterator[Rule]:
    """The CPUs of best effort and of the others are together all that pods may use.

    KEP-30: ALL - BE - OTHER = ISOLCPUS. A QoS set that is not given has all of them.
    """
    if {"bestEffort", "other"} <= statements.sets.keys():
        text = "CPUs that are in neither QoS set are in isolcpus or offlined"
        cover = OneOf(("bestEffort", "other", *HIDDEN))
        yield built_in("", "qos-cover", text, cover, field="qos")


def pod_of_workload(workload: Workload) -> Pod | None:
    """The pod of the workload's manifest, which must be right; None without a manifest."""
    template = template_of(workload.manifest)
    return read_pod(template[1]) if template else None


def exclusive_cpus(node_class: NodeClass, workload: Workload) -> int:
    """The exclusive CPUs of each pod: of all its containers at once, as the kubelet counts them.

    A pod that is not Guaranteed, or requests no whole CPUs, has none.
    """
    pod = pod_of_workload(workload)
    if pod is None:
        return workload.cpus or 0
    given = node_class.spec.kubelet.configuration.get(FEATURE_GATES.head) or {}
    gates = Gates(given, versions.kubernetes_version(node_class.target) or LATEST)
    return pod_guaranteed_cpus(apply_defaults(pod, gates), gates)


def parts_of_workload(statements: Statements, workload: Workload) -> Sequence[Scope]:
    """The parts of the machine that each have the workload's number of pods."""
    return allowed_scopes(statements, statements.sets[workload.pool], workload.per or "machine")


def workloads_fit(statements: Statements) -> Iterator[Rule]:
    """The isolated pool, and each partition, has the exclusive CPUs of its workloads on one node.

    The sums, of the machine and of the NUMA nodes that have pods of their own, are necessary and
    not sufficient: the place of each container depends on kubelet policies.
    """
    for name in statements.sets:
        indexes, workloads = [], []
        for index, workload in enumerate(statements.node_class.spec.workloads):
            if workload.pool == name or workload.pool.startswith(f"{name}."):
                indexes.append(index)
                workloads.append(workload)
        if workloads:
            words = [_workload_words(statements.node_class, workload) for workload in workloads]
            field = f"workloads.{indexes[0]}" if len(indexes) == 1 else "workloads"
            amounts = _workload_amounts(statements, name, workloads)
            text = f"{joined(words)} must fit into {name}"
            yield statements.rule(name, field, text, *amounts)


def _workload_amounts(
    statements: Statements, name: str, workloads: Sequence[Workload]
) -> Iterator[Amount]:
    """What the machine must have for all pods, and each NUMA node for its own."""
    total = 0
    by_part: dict[Scope, int] = {}
    for workload in workloads:
        wanted = exclusive_cpus(statements.node_class, workload) * workload.pods
        parts = parts_of_workload(statements, workload)
        total += wanted * len(parts)
        if workload.per == "numaNode":
            for part in parts:
                by_part[part] = by_part.get(part, 0) + wanted
    for scope, cpus in ((machine(statements.topology), total), *by_part.items()):
        least = bounded(cpus)
        yield Amount(name, scope, "CPUs", least, max(least, len(scope.cpus)))


def _workload_words(node_class: NodeClass, workload: Workload) -> str:
    cpus = counted(exclusive_cpus(node_class, workload), "CPU")
    per_node = " per NUMA node" if workload.per == "numaNode" else ""
    if workload.pods == 1 and not per_node:
        return f"{workload.name} ({cpus})"
    return f"{counted(workload.pods, 'pod')} {workload.name} of {cpus}{per_node}"
