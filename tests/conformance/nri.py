"""The NRI resource policies (vectors/nri) against the port `cpuplan.upstream.nri`."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri import cpuallocator
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.balloons.balloons_policy import Policy
from cpuplan.upstream.nri.balloons.config import BalloonType
from cpuplan.upstream.nri.balloons.instances import Balloon
from cpuplan.upstream.nri.balloons.setup import decode
from cpuplan.upstream.nri.cpuallocator import Topology
from cpuplan.upstream.nri.pods import Container, Pod, Resources, container
from cpuplan.upstream.nri.system import (
    CacheFiles,
    Cpu,
    CpuFiles,
    Files,
    Node,
    NodeFiles,
    System,
    discover,
)
from tests.conformance.comparing import judge_lines
from tests.conformance.operations import differences

Json = dict[str, Any]
VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nri"
_FILES = ("nri-*", "balloons*")


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case."""
    for path in sorted(paths) or [VECTORS]:
        names = [name for pattern in _FILES for name in sorted(path.glob(pattern))]
        for file in names if path.is_dir() else [path]:
            yield from judge_lines(file, _check)


def _check(case: Json) -> Iterator[str] | None:
    judge = KINDS.get(case["op"])
    return None if judge is None else differences("", case["expected"], judge(case["input"]))


@cache
def machines() -> dict[str, Files]:
    """The machines of the vectors, by name."""
    lines = (VECTORS / "machines.jsonl").read_text().splitlines()
    return {row["name"]: _files(row) for row in map(json.loads, lines)}


def _files(row: Json) -> Files:
    bases = _by_cpu(row.get("baseKHz", ()))
    preferences = _by_cpu(row.get("epp", ()))
    cpus = [
        CpuFiles(
            cpu, package, die, cluster, core, node, _bits(on), bases.get(cpu), preferences.get(cpu)
        )
        for cpu, _, package, die, cluster, core, node, on in row["cpus"]
    ]
    caches = [
        CacheFiles(level, kind, cache_id, parse_cpus(on))
        for level, kind, cache_id, on in row["caches"]
    ]
    rows = row["numa"]
    nodes = []
    for index, (node, on, memory, distances) in enumerate(rows):
        default = [10 if index == other else 20 for other in range(len(rows))]
        nodes.append(NodeFiles(node, parse_cpus(on), memory << 10, tuple(distances or default)))
    return Files(
        tuple(cpus),
        tuple(caches),
        tuple(nodes),
        parse_cpus(row["online"]),
        parse_cpus(row["possible"]),
        parse_cpus(row["isolated"]),
        _bits(row.get("cpuCore")),
        _bits(row.get("cpuAtom")),
        row["smt"],
    )


def _by_cpu(pairs: Iterable[Any]) -> dict[int, Any]:
    return {
        cpu: value
        for value, cpus in pairs
        for cpu in range(parse_cpus(cpus).bit_length())
        if parse_cpus(cpus) >> cpu & 1
    }


def _bits(text: str | None) -> int | None:
    return None if text is None else parse_cpus(text)


@cache
def _system(machine: str) -> System:
    return discover(machines()[machine])


@cache
def _allocator(machine: str) -> Topology:
    return cpuallocator.topology_of(_system(machine))


def _topology(given: Json) -> Json:
    try:
        system = _system(given["machine"])
        known = _allocator(given["machine"])
    except NriError as error:
        return {"error": str(error)}
    except PanicError as error:
        return {"panic": str(error)}
    return {
        "allocator": _groups(known),
        "cpuSet": to_text(system.all_cpus),
        "cpus": [_cpu(system, cpu) for cpu in system.cpus.values()],
        "isolated": to_text(system.isolated),
        "nodeInfo": [_node(system, node) for node in system.nodes.values()],
        "nodes": list(system.nodes),
        "offline": to_text(system.offline),
        "offlined": to_text(system.offline),
        "online": to_text(system.online),
        "packages": list(system.packages),
    }


def _groups(known: Topology) -> Json:
    return {
        "cacheGroups": [
            {**group._asdict(), "cpus": to_text(group.cpus)} for group in known.cache_groups
        ],
        "clusters": [
            {**cluster._asdict(), "cpus": to_text(cluster.cpus)} for cluster in known.clusters
        ],
        "coreKinds": len(known.system.kinds),
        "priorities": {name: to_text(cpus) for name, cpus in known.priorities._asdict().items()},
    }


def _cpu(system: System, cpu: Cpu) -> Json:
    return {
        "baseKHz": cpu.base_khz,
        "caches": [[entry.level, entry.id, to_text(entry.cpus)] for entry in cpu.caches],
        "cluster": cpu.cluster,
        "core": cpu.core,
        "cpu": cpu.cpu,
        "die": cpu.die,
        "epp": cpu.epp,
        "isolated": bool(system.isolated >> cpu.cpu & 1),
        "kind": cpu.kind,
        "node": cpu.node,
        "online": cpu.online,
        "package": cpu.package,
        "threads": to_text(cpu.threads),
    }


def _node(system: System, node: Node) -> Json:
    """The package of a node that spans several is a random one: the vectors leave it out."""
    on = {package.package for package in system.packages.values() if package.cpus & node.cpus}
    return {
        "cpus": to_text(node.cpus),
        "die": node.die,
        "distance": list(node.distances),
        "id": node.node,
        "memTotal": node.memory,
        "memoryType": node.memory_type,
        "normalMemory": True,
        "package": node.package if len(on) < 2 else None,
    }


def _allocate(given: Json) -> Json:
    known = _allocator(given["machine"])
    return {"steps": [_step(known, step) for step in given["steps"]]}


def _step(known: Topology, step: Json) -> Json:
    do, names = (
        (cpuallocator.allocate, ("cpus", "rest"))
        if step["do"] == "allocate"
        else (cpuallocator.release, ("kept", "released"))
    )
    wish = cpuallocator.PRIORITY_NAMES.index(step["priority"])
    try:
        sets = do(known, parse_cpus(step["from"]), step["count"], wish)
    except NriError as error:
        return {"error": str(error)}
    return dict(zip(names, map(to_text, sets), strict=True))


def _tree(given: Json) -> Json:
    """The policy with one CPU reserved; a line for each node of its tree."""
    policy = _started(given["machine"], "spec: {reservedResources: {cpu: '1'}}")
    if isinstance(policy, dict):
        error = policy.pop("configError", None)
        return policy if error is None else {"error": error}
    nodes = policy.state.tree.walk()
    return {"tree": sorted(f"{node.level} {node.name} {to_text(node.cpus)}" for node in nodes)}


def _started(machine: str, config: str) -> Policy | Json:
    """The policy on a machine, or what stops it."""
    try:
        return Policy(machines()[machine], decode(config))
    except NriError as error:
        return {"configError": str(error)}
    except PanicError as error:
        return {"panic": str(error)}


def _balloons(given: Json) -> Json:
    policy = _started(given["machine"], given["config"])
    if isinstance(policy, dict):
        return policy
    pods = {pod["name"]: pod for pod in given.get("pods", ())}
    start = _state(policy)
    types = [_type(known) for known in policy.state.config.types]
    steps = [_event(policy, pods, step) for step in given.get("steps") or ()]
    return {"types": types, "start": start, "steps": steps}


def _type(known: BalloonType) -> Json:
    return {
        "allocatorPriority": cpuallocator.PRIORITY_NAMES[known.priority],
        "closeTo": known.close_to,
        "farFrom": known.far_from,
        "maxBalloons": known.max_balloons,
        "maxCPUs": known.max_cpus,
        "minBalloons": known.min_balloons,
        "minCPUs": known.min_cpus,
        "name": known.name,
        "namespaces": known.namespaces,
    }


def _event(policy: Policy, pods: Json, step: Json) -> Json:
    outcome: Json = {}
    name = f"{step.get('pod')}/{step.get('container')}"
    try:
        if step["do"] == "create":
            made = _container(pods[step["pod"]], step["container"])
            outcome |= {"requestMilliCPU": made.request, "limitMilliCPU": made.limit}
            policy.create(made)
        elif step["do"] == "reconfigure":
            policy.reconfigure(decode(step["config"]))
        elif step["do"] == "restart":
            policy.restart()
        else:
            gone = [known for known in policy.containers if _name(known) == name]
            outcome |= {} if gone else {"skipped": True}
            for known in gone:
                policy.remove(known)
    except NriError as error:
        outcome["error"] = str(error)
    containers = {_name(known): _told(known) for known in policy.containers}
    return {**_state(policy), **outcome, "containers": containers}


def _container(pod: Json, name: str) -> Container:
    labels, annotations = pod.get("labels", {}), pod.get("annotations", {})
    known = Pod(pod["name"], pod["namespace"], pod["qos"], labels, annotations)
    given = next(row for row in pod["containers"] if row["name"] == name)
    resources = Resources(given["cpuShares"], given.get("cpuQuota", 0), given.get("cpuPeriod", 0))
    return container(known, name, resources)


def _name(known: Container) -> str:
    return f"{known.pod.name}/{known.name}"


def _told(known: Container) -> Json:
    return {"cpuset": known.cpus, "mems": known.mems, "cpuShares": known.shares}


def _state(policy: Policy) -> Json:
    balloons = [_balloon(balloon) for balloon in policy.state.balloons]
    return {"balloons": balloons, "free": to_text(policy.state.free)}


def _balloon(balloon: Balloon) -> Json:
    fields: Json = {
        "name": balloon.name,
        "cpus": to_text(balloon.cpus),
        "sharedIdle": to_text(balloon.shared_idle),
        "mems": to_text(balloon.mems),
        "containers": sorted(map(_name, balloon.containers)),
    }
    if balloon.components:
        fields["components"] = [_balloon(component) for component in balloon.components]
    return fields


KINDS: dict[str, Callable[[Json], Json]] = {
    "nri-topology": _topology,
    "nri-cpuallocator": _allocate,
    "nri-cputree": _tree,
    "balloons": _balloons,
    "balloons-curated": _balloons,
    "balloons-config": _balloons,
}
