"""Plans on small machines, made by hand: for tests of everything that only reads plans."""

from collections.abc import Mapping
from typing import Any

from cpuplan.backends import configure
from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.topology import Cpu, NumaNodeFacts, Topology
from cpuplan.diagnostics import Reason
from cpuplan.fleet import cluster_facts
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.language.model.intent import IntentSpec
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan, Pool

GIB = 1024**3


def regular(
    *,
    sockets: int = 1,
    numa_nodes: int = 1,
    cores: int = 8,
    threads: int = 1,
    memory: int | None = 64 * GIB,
    offline: CpuSet = EMPTY,
) -> Topology:
    """A machine of `sockets` with `numa_nodes` and `cores` each.

    First threads of all cores come before second ones. `memory` is in bytes for each NUMA node.
    Distances are 10, 12 within a socket and 21 beyond.
    """
    total, nodes = sockets * cores, sockets * numa_nodes
    cpus = [
        Cpu(
            cpu=core + thread * total,
            core=core,
            socket=core // cores,
            die=0,
            numa_node=core * nodes // total,
            uncore_cache=core // cores * cores,
            core_id=core % cores,
        )
        for core in range(total)
        for thread in range(threads)
        if core + thread * total not in offline
    ]
    facts = [
        NumaNodeFacts(node, memory, distances(node, nodes, numa_nodes)) for node in range(nodes)
    ]
    return Topology(cpus, facts, offline)


def distances(node: int, nodes: int, per_socket: int) -> tuple[int, ...]:
    """A row of the matrix that `regular` describes."""
    return tuple(
        10 if other == node else 12 if other // per_socket == node // per_socket else 21
        for other in range(nodes)
    )


def class_of(topology: Topology, intent: str, spec: Mapping[str, Any], **facts: Any) -> NodeClass:
    """The class of an intent with this spec, as it is in YAML.

    `facts` are further fields of the class. Unless given otherwise, it is `<intent>-<hardware>` on
    site-a.
    """
    read = IntentSpec.model_validate({"selector": {}, **spec})
    facts = {"name": f"{intent}-{facts['hardware']}", "cluster": "site-a", **facts}
    made = NodeClass(intent=intent, spec=read, target=read.targets[0], topology=topology, **facts)
    cluster_facts.settle([made])
    return made


def plan(
    topology: Topology | None = None,
    *,
    reserved: str = "0-1",
    shared: str = "",
    isolated: str | None = None,
    isolcpus: str = "",
    offlined: str = "",
    sets: Mapping[str, str] | None = None,
    platform: str = "openshift",
    version: str = "5.1",
    vendor: str = "GenuineIntel",
    architecture: str = "x86_64",
    model: int | None = 106,
    target: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> ConfiguredPlan:
    """A plan of intent `ran`, class `ran-server`, with these pools.

    `isolated` is the rest unless given. `spec` holds further keys of the intent's spec, `target` of
    its target, and `facts` those of a Cluster document, as they are in YAML. `sets` are the CPUs of
    partitions and QoS sets.
    """
    topology = topology or regular()
    pools = {
        "reserved": reserved,
        "shared": shared,
        "isolated": isolated,
        "isolcpus": isolcpus,
        "offlined": offlined,
    }
    taken = {name: CpuSet.parse(cpus or "") for name, cpus in pools.items()}
    if isolated is None:
        taken["isolated"] = topology.online - union(taken.values())
    qos = {name: cpus for name, cpus in (sets or {}).items() if "." not in name}
    given_target = {"platform": platform, "version": version, **(target or {})}
    if platform == "openshift":
        given_target.setdefault("pool", "worker-cnf")
    document = {
        "targets": [given_target],
        "pools": {name: str(cpus) for name, cpus in taken.items() if cpus},
        **({"qos": qos} if qos else {}),
        **(spec or {}),
    }
    document["pools"].setdefault("reserved", {"count": 0})
    node_class = class_of(
        topology,
        "ran",
        document,
        hardware="server",
        nodes=("worker-0", "worker-1"),
        cpu_vendor=vendor,
        architecture=architecture,
        cpu_model_number=model,
        cluster_facts=ClusterSpec.model_validate(facts or {}),
    )
    made = [
        Pool(name, cpus, (Reason(f"{name} is {cpus}", f"Intent/ran:spec.pools.{name}"),))
        for name, cpus in taken.items()
        if cpus
    ]
    over = tuple(
        Pool(name, CpuSet.parse(cpus), (Reason(f"{name} is {cpus}", _place_of_set(name)),))
        for name, cpus in (sets or {}).items()
    )
    return configure(NodePlan(node_class, tuple(made), over))


def _place_of_set(name: str) -> str:
    partition = name.partition("isolated.")[2]
    inside = f"pools.isolated.partitions.{partition}" if partition else f"qos.{name}"
    return f"Intent/ran:spec.{inside}"


def no_position(_origin: str) -> None:
    """A `locate` for plans that were never in a file."""
