"""BalloonsPolicy (config.nri/v1alpha1), and the types of balloons that hold a layout.

One object configures the NRI balloons policy for the nodes of a class. The policy takes no CPU
lists (containers/nri-plugins#352), but it does take devices to be close to: the level 1 cache of a
core stands for its threads, and a NUMA node for what is left of it. A composite of balloons at such
devices has exactly these CPUs (vectors/nri).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components.chosen import of_mechanism
from cpuplan.components.emission import emit
from cpuplan.components.nri import policies
from cpuplan.components.nri.policies import PolicyInputs, available, isolated
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.nri.api import BALLOON, CPU_FOLDER, DEFAULT, NODE_FOLDER, RESERVED

if TYPE_CHECKING:
    from cpuplan.upstream.nri.balloons.balloons_policy import Policy
    from cpuplan.upstream.nri.balloons.config import Config


ISOLATED, BEST_EFFORT = "isolated", "bestEffort"


class BalloonType(NamedTuple):
    """A type's name, its fields, and why it is there."""

    name: str
    fields: dict[str, Value]
    because: tuple[Reason, ...]


class Fixed(NamedTuple):
    """A balloon that must have exactly these CPUs; named as the set of the layout."""

    name: str
    cpus: CpuSet
    because: tuple[Reason, ...]


def fixed(plan: NodePlan) -> list[Fixed]:
    """The sets that must have exact CPUs, each CPU in one of them.

    Partitions come before the set of BestEffort pods, as a CPU is in one balloon at most.
    """
    sets = [
        Fixed(pool.name, pool.cpus, pool.because)
        for pool in plan.sets
        if pool.name.startswith(PARTITION) and pool.cpus
    ]
    if plan.spec.qos.best_effort:
        pool = plan.pool(BEST_EFFORT)
        taken = union(fixed_set.cpus for fixed_set in sets) | plan.pool("reserved").cpus
        sets.append(Fixed(pool.name, pool.cpus - taken, pool.because))
    return sets


def unassigned(plan: NodePlan) -> CpuSet:
    """The CPUs of pods that no fixed set is for."""
    taken = union(fixed_set.cpus for fixed_set in fixed(plan)) | plan.pool("reserved").cpus
    return available(plan) - taken


def of_plan(plan: NodePlan) -> Iterator[BalloonType]:
    """All types, in the order in which the policy matches containers to them.

    Each says its priority: the API server would make it high, and other types would take the
    reserved CPUs (vectors/nri, rule of start).
    """
    reserved = plan.pool("reserved")
    size = len(reserved.cpus)
    yield BalloonType(RESERVED, _exactly(size, "normal"), reserved.because)
    for fixed_set in fixed(plan):
        yield from _of_fixed(plan, fixed_set)
    yield from _of_others(plan)


def _of_others(plan: NodePlan) -> Iterator[BalloonType]:
    """Balloons that grow from the other CPUs: one for each Guaranteed container, one for the rest.

    The latter is as large as the requests in it, and may use what is idle beside.
    """
    rest = plan.pool(ISOLATED)
    own: dict[str, Value] = {
        "matchExpressions": (_of_class("Guaranteed"),),
        "allocatorPriority": "normal",
        "preferNewBalloons": True,
        "preferSpreadingPods": True,
    }
    if isolated(plan) & unassigned(plan):
        own["preferIsolCpus"] = True
    yield BalloonType(ISOLATED, own, rest.because)
    idle: dict[str, Value] = {
        "minBalloons": 1,
        "maxBalloons": 1,
        "allocatorPriority": "low",
        "shareIdleCPUsInSame": "system",
    }
    yield BalloonType(DEFAULT, idle, rest.because)


def _of_fixed(plan: NodePlan, fixed_set: Fixed) -> Iterator[BalloonType]:
    """One type at its only device, or a type for each device and their composite."""
    matching: dict[str, Value] = {}
    if fixed_set.name == BEST_EFFORT:
        matching = {"matchExpressions": (_of_class("BestEffort"),)}
    name, because = fixed_set.name, fixed_set.because
    one_balloon: dict[str, Value] = {"minBalloons": 1, "maxBalloons": 1}
    parts = list(_parts(plan, fixed_set))
    if len(parts) == 1:
        yield BalloonType(name, {**matching, **one_balloon, **parts[0].fields}, because)
        return
    yield from parts
    components: Value = tuple({"balloonType": part.name} for part in parts)
    size = _exactly(len(fixed_set.cpus), "high")
    fields = {**matching, **one_balloon, **size, "components": components}
    yield BalloonType(name, fields, because)


def _parts(plan: NodePlan, fixed_set: Fixed) -> Iterator[BalloonType]:
    """A type for each NUMA node that the set has wholly, and for each core of others.

    All types are far from CPUs that the kernel isolates unless they prefer them: those of a device
    would come after reserved ones.
    """
    reserved, topology, apart = plan.pool("reserved").cpus, plan.topology, isolated(plan)
    for node, cpus in topology.numa_nodes.items():
        inside = cpus & fixed_set.cpus
        is_whole = inside == (cpus & available(plan)) - reserved
        if inside and is_whole and not topology.kubelet.no_numa_nodes:
            device = f"{NODE_FOLDER}/node{node}"
            yield _part(fixed_set, f"node{node}", device, inside, apart)
            continue
        for core, siblings in topology.cores.items():
            if threads := siblings & inside:
                there = (siblings - plan.pool("offlined").cpus).first
                device = f"{CPU_FOLDER}/cpu{there}/cache/index0"
                yield _part(fixed_set, f"core{core}", device, threads, apart)


def _part(whole: Fixed, place: str, device: str, cpus: CpuSet, apart: CpuSet) -> BalloonType:
    fields = {**_exactly(len(cpus), "high"), "preferCloseToDevices": (device,)}
    if cpus <= apart:
        fields["preferIsolCpus"] = True
    return BalloonType(f"{whole.name}-{place}", fields, whole.because)


def _exactly(size: int, priority: str) -> dict[str, Value]:
    sizes: dict[str, Value] = {"minCPUs": size, "maxCPUs": size} if size else {}
    return {**sizes, "allocatorPriority": priority}


def _of_class(name: str) -> dict[str, Value]:
    """Not `pod/qosclass`, which never matches."""
    return {"key": "qosclass", "operator": "Equals", "values": (name,)}


NAME = rows.BALLOONS
KIND = "BalloonsPolicy"
#: The annotation of pods by which they come to a balloon, for all of their containers.
ANNOTATION = BALLOON


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the object; those of a type together."""
    if not plan.node_class.target.has_balloons:
        return
    yield from policies.settings(plan, rows.BALLOONS_POLICY)
    only_cpus = of_mechanism(plan, "it gives out CPUs only: memory stays the kernel's")
    yield from emit(plan, rows.BALLOONS_POLICY.pin_memory, False, (only_cpus,))
    yield from policies.agent(plan, rows.BALLOONS_POLICY)
    because = of_mechanism(plan)
    for known in of_plan(plan):
        why = (*known.because, because)
        yield from emit(plan, rows.BALLOON_TYPE, known.fields, why, type=known.name)


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods come to the balloon of a pool or set; empty where there is none for it."""
    if not plan.node_class.target.has_balloons:
        return ""
    if name.startswith(PARTITION):
        return f"those with the annotation {ANNOTATION}: {name}"
    others = {
        RESERVED: f"those of {policies.reserved_namespaces_text(plan)}",
        BEST_EFFORT: "BestEffort pods, except those of partitions",
    }
    return others.get(name, "")


def policy_inputs(plan: NodePlan) -> "PolicyInputs[Config]":
    """The planned machine, and the object as it is written: the API server adds nothing to it."""
    return PolicyInputs(policies.planned_machine(plan), config_of(tuple(settings(plan))))


def config_of(given: Sequence[Setting]) -> "Config":
    """What the policy reads in the object of these settings."""
    from cpuplan.upstream.nri.balloons.setup import decode_object

    return decode_object(document(given))


def started(plan: NodePlan) -> "Policy":
    """The policy on the planned machine; NriError or PanicError where it does not start."""
    from cpuplan.upstream.nri.balloons.balloons_policy import Policy  # for few plans

    return Policy(*policy_inputs(plan))


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    return policies.document(settings, KIND)


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return policies.render(settings, KIND)


#: The same fields of an object's YAML.
parse = policies.parse
