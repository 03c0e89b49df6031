"""What NodeResourceTopologyMatch of scheduler-plugins makes of the nodes of a cluster.

Beside CP532, only for clusters whose document says that something publishes NodeResourceTopology.
"""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import EMPTY
from cpuplan.base.text import counted
from cpuplan.components import chosen, kubelet, memory, nrt
from cpuplan.components.base import once
from cpuplan.components.nrt import EXPORTERS, KOORDLET, NRI_EXPORTERS, can_have_zones, exporter_of
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    MEMORY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.base import has_key
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.nrt.crd import DEFINITIONS
from cpuplan.upstream.nrt.pluginhelpers import SINGLE, TopologyManager
from cpuplan.upstream.nrt.resourcemonitor import Zone
from cpuplan.upstream.nrt.score import normalize_score


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP532: machines whose zones the scheduler plugin cannot read; CP6175: those without any."""
    yield from _unreported(plan, locate)
    if not can_have_zones(plan):
        nodes = ", ".join(map(str, plan.topology.numa_facts))
        position = locate(plan.node_class.place("selector"))
        yield diagnose("CP532", position, hardware=plan.node_class.hardware, nodes=nodes)


def _unreported(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP6175, whether koordlet is there for Koordinator's scheduler or for another one."""
    node_class = plan.node_class
    runs_koordlet = node_class.target.has_koordinator or exporter_of(plan) == KOORDLET
    if not runs_koordlet:
        return
    from cpuplan.components.koordinator import koordlet

    if not (problem := koordlet.trouble(plan)):
        return
    online = plan.topology.online
    offlined = plan.pool("offlined").cpus
    nodes = plan.topology.numa_nodes
    bare = [node for node in plan.topology.numa_facts if not nodes.get(node, EMPTY) & online]
    emptied = [node for node, cpus in nodes.items() if cpus & online and cpus <= offlined]
    without = ", ".join(map(str, [*bare, *emptied]))
    yield diagnose(
        "CP6175",
        locate(node_class.place("pools.offlined" if emptied else "selector")),
        hardware=node_class.hardware,
        problem=problem,
        why=f"without CPUs: NUMA node {without}" if without else "its CPUs and memory do not match",
        hint=_other_than_koordlet(plan, is_emptied=bool(emptied and not bare)),
    )


def _other_than_koordlet(plan: ConfiguredPlan, *, is_emptied: bool) -> str:
    if is_emptied:
        return "leave a core of each NUMA node online"
    if plan.node_class.target.has_koordinator:
        return "give these nodes an intent of their own with another mechanism, such as kubelet"
    return "name another nodeResourceTopology.exporter in the Cluster document"


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """What would be wrong with the objects of a cluster that states who writes them."""
    if not has_key(plans[0].node_class.cluster_facts, "nodeResourceTopology"):
        return
    yield from _unserved(plans, locate)
    # Koordinator's scheduler reads what koordlet writes, and has policies of its own; zones of NRI
    # policies are read by nobody.
    read = [plan for plan in plans if exporter_of(plan) not in (KOORDLET, NRI_EXPORTERS)]
    for plan in read:
        yield from _without_amounts(plan, locate)
        yield from _beyond_count(plan, locate)
    yield from _unlike(read, locate)
    yield from _unseen(read, locate)


def _unserved(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP650, once for each exporter."""
    node_class = plans[0].node_class
    crd = node_class.cluster_facts.node_resource_topology.crd
    served = DEFINITIONS[crd].served
    for exporter in dict.fromkeys(map(exporter_of, plans)):
        version = EXPORTERS[exporter].version
        if version not in served:
            yield diagnose(
                "CP650",
                locate(node_class.cluster_place("nodeResourceTopology.crd")),
                cluster=node_class.cluster,
                exporter=exporter,
                version=version,
                crd=crd,
                served=", ".join(served),
            )


def _without_amounts(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP651: the filter refuses requests of what no zone has."""
    lacking = {}
    if not kubelet.is_static(plan):
        lacking["CPUs"] = f"{CPU_MANAGER_POLICY.key} none"
    if not memory.uses_memory_manager(plan):
        lacking["memory"] = f"{MEMORY_MANAGER_POLICY.key} None"
    if chosen.topology_policy(plan) == SINGLE and lacking:
        yield diagnose(
            "CP651",
            locate(plan.node_class.place(TOPOLOGY_MANAGER_POLICY.field)),
            nodes=f"nodes of class {plan.node_class.name}",
            because=f"with {' and '.join(lacking.values())}, {exporter_of(plan)} publishes none",
            what=" or ".join(lacking),
        )


def _beyond_count(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP654: a pod on all NUMA nodes has a score that the scheduler takes for a failure."""
    nodes, manager = len(plan.topology.numa_facts), TopologyManager()
    scores = {count: normalize_score(count, manager) for count in range(1, nodes + 1)}
    too_many = next((count for count, score in scores.items() if score < 0), None)
    if too_many is not None:
        yield diagnose(
            "CP654",
            locate(plan.node_class.place("selector")),
            name=plan.node_class.name,
            exporter=exporter_of(plan),
            nodes=nodes,
            too_many=too_many,
            score=scores[too_many],
        )


def _unlike(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP652: classes of one intent whose nodes a scheduler cannot compare."""
    first: dict[str, ConfiguredPlan] = {}
    for plan in plans:
        node_class = plan.node_class
        other = first.setdefault(node_class.intent, plan)
        if difference := _difference(other, plan):
            yield diagnose(
                "CP652",
                locate(node_class.place("selector")),
                cluster=node_class.cluster,
                intent=node_class.intent,
                difference=difference,
            )


@once
def _zones(plan: ConfiguredPlan) -> list[Zone]:
    """The zones of a class, which is compared with each other one of its intent."""
    return nrt.zones_of_exporter(plan)


def _difference(first: ConfiguredPlan, second: ConfiguredPlan) -> str:
    """The first difference between zones of two classes; empty where there is none."""
    ours, theirs = _zones(first), _zones(second)
    names = first.node_class.hardware, second.node_class.hardware
    if len(ours) != len(theirs):
        have = [counted(len(zones), "zone") for zones in (ours, theirs)]
        return f"{names[0]} has {have[0]}, {names[1]} has {have[1]}"
    for own, other in zip(ours, theirs, strict=True):
        for key, (here, there) in _facts(own, other).items():
            if here != there:
                return f"{key} of {own['name']} is {here} on {names[0]}, {there} on {names[1]}"
    return ""


def _facts(first: Zone, second: Zone) -> dict[str, tuple[str, str]]:
    """What can be allocated, and the distances, of two zones side by side."""
    both = []
    for zone in (first, second):
        facts = {item["name"]: item["allocatable"] for item in zone["resources"]}
        costs = ", ".join(str(cost["value"]) for cost in zone["costs"])
        both.append({**facts, "distances": costs})
    keys = dict.fromkeys([*both[0], *both[1]])
    return {key: (both[0].get(key, "nothing"), both[1].get(key, "nothing")) for key in keys}


def _unseen(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP653: policies that the filter does not look into, beside the one that it does."""
    by_policy: dict[str, list[str]] = {}
    for plan in plans:
        by_policy.setdefault(chosen.topology_policy(plan), []).append(plan.node_class.name)
    aligned = by_policy.pop(SINGLE, [])
    if aligned and by_policy:
        others = [f"{', '.join(names)} ({policy})" for policy, names in sorted(by_policy.items())]
        node_class = plans[0].node_class
        yield diagnose(
            "CP653",
            locate(node_class.cluster_place("nodeResourceTopology")),
            cluster=node_class.cluster,
            aligned=", ".join(aligned),
            others=" and ".join(others),
        )
