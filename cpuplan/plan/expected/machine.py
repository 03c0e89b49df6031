"""What a class was made from: its machine as JSON, and its documents as a digest.

Both who compiles and who checks make the digest of documents, the latter from documents that nobody
validated.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from cpuplan.base.cpuset import MAX_CPU, CpuSet
from cpuplan.base.fits import Schema
from cpuplan.base.topology import Cpu, KubeletFacts, NumaNodeFacts, SharedCache, Topology

#: Fields of intents that change nothing on nodes: pods, which may lie in files of their own, and
#: how a change gets there.
_WITHOUT = ("paused", "rollout", "workloads")


def inputs_digest(
    spec_of: Callable[[str, str], Any], intent: str, hardware: str, cluster: str
) -> str:
    """SHA-256 over the specs; "" where there is no such intent or hardware.

    `spec_of` gives the spec of a document by kind and name, as YAML has it, or None.
    """
    named = (("Intent", intent), ("Hardware", hardware), ("Cluster", cluster))
    specs = [spec_of(kind, name) for kind, name in named]
    if None in specs[:2]:
        return ""
    text = json.dumps(list(map(_kept, specs)), sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()


def _kept(spec: Any) -> Any:
    if not isinstance(spec, dict):
        return spec
    return {key: value for key, value in spec.items() if key not in _WITHOUT}


#: The fields of a CPU's line that are numbers, in their order; the type of its core is the last.
_NUMBERS = (
    "cpu",
    "core",
    "socket",
    "die",
    "numa_node",
    "uncore_cache",
    "core_id",
    "cluster",
)


_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_SETS: Schema = {"anyOf": [{"type": "object", "additionalProperties": _TEXT}, {"type": "null"}]}
#: Above all numbers that firmware gives to a core, a cache, a socket.
_MOST = 2**63
_NUMBER: Schema = {"type": "integer", "minimum": -1, "maximum": _MOST}
#: The types of what `encode` gives.
FORM: Schema = {
    "type": "object",
    "required": ["cpus", "offline", "numaNodes", "kubelet"],
    "properties": {
        "cpus": _TEXTS,
        "offline": _TEXT,
        "numaNodes": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["memory", "distances"],
                "properties": {
                    "memory": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                    "distances": {"type": "array", "items": _NUMBER},
                },
            },
        },
        "kubelet": {
            "type": "object",
            "required": [
                *("caches", "unreadCaches", "unlabelled", "numaNodes", "hasNumaNodes", "sockets"),
                "places",
            ],
            "properties": {
                "caches": _TEXTS,
                "unreadCaches": _TEXT,
                "unlabelled": _TEXT,
                "numaNodes": _SETS,
                "hasNumaNodes": {"type": "boolean"},
                "sockets": {"anyOf": [_NUMBER, {"type": "null"}]},
                "places": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": _NUMBER},
                },
            },
        },
    },
}


def encode(topology: Topology) -> dict[str, Any]:
    """A topology for JSON."""
    kubelet = topology.kubelet
    return {
        "fields": " ".join((*_NUMBERS, "core_type")),
        "cpus": [_line(cpu) for cpu in topology.cpus],
        "offline": str(topology.offline),
        "numaNodes": {str(node): _node(facts) for node, facts in topology.numa_facts.items()},
        "kubelet": {
            "caches": [f"{cache.level} {cache.cpus} {_id(cache.id)}" for cache in kubelet.caches],
            "unreadCaches": str(kubelet.unread_caches),
            "unlabelled": str(kubelet.unlabelled),
            "numaNodes": _sets(kubelet.numa_nodes),
            "hasNumaNodes": not kubelet.no_numa_nodes,
            "sockets": kubelet.sockets,
            "places": {str(cpu): list(place) for cpu, place in kubelet.places.items()},
        },
    }


def _line(cpu: Cpu) -> str:
    words = [str(getattr(cpu, name)) for name in _NUMBERS]
    return " ".join((*words, cpu.core_type)).rstrip()


def _node(facts: NumaNodeFacts) -> dict[str, Any]:
    return {"memory": facts.memory, "distances": list(facts.distances)}


def _id(number: int | None) -> str:
    return "-" if number is None else str(number)


def _sets(nodes: Mapping[int, CpuSet] | None) -> dict[str, str] | None:
    return None if nodes is None else {str(node): str(cpus) for node, cpus in nodes.items()}


def decode(data: Mapping[str, Any]) -> Topology:
    """The topology of `encode`. Raises ValueError, KeyError or TypeError for anything else."""
    nodes = [
        NumaNodeFacts(_index(node), facts["memory"], tuple(facts["distances"]))
        for node, facts in data["numaNodes"].items()
    ]
    cpus = map(_cpu, data["cpus"])
    return Topology(cpus, nodes, CpuSet.parse(data["offline"]), _kubelet(data["kubelet"]))


def _number(text: str, most: int = _MOST) -> int:
    number = int(text)
    if not -1 <= number <= most:
        raise ValueError(f"{number} is no number of a part of a machine")
    return number


def _index(text: str) -> int:
    """The number of a CPU or NUMA node, of which others make rows."""
    return _number(text, MAX_CPU)


def _cpu(line: str) -> Cpu:
    *words, core_type = f"{line} ".split(" ", len(_NUMBERS))
    numbers = dict(zip(_NUMBERS, map(_number, words), strict=True))
    _ = _index(words[0]), _index(words[_NUMBERS.index("numa_node")])
    return Cpu(core_type=core_type.strip(), **numbers)


def _kubelet(data: Mapping[str, Any]) -> KubeletFacts:
    nodes = data["numaNodes"]
    return KubeletFacts(
        tuple(map(_cache, data["caches"])),
        CpuSet.parse(data["unreadCaches"]),
        CpuSet.parse(data["unlabelled"]),
        None if nodes is None else {_index(node): CpuSet.parse(nodes[node]) for node in nodes},
        not data["hasNumaNodes"],
        data["sockets"],
        {_index(cpu): (place[0], place[1]) for cpu, place in data["places"].items()},
    )


def _cache(text: str) -> SharedCache:
    level, cpus, number = text.split(" ")
    return SharedCache(_number(level), CpuSet.parse(cpus), None if number == "-" else int(number))
