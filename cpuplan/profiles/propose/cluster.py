"""A must-gather as a cluster: its pools, their nodes and machines, and whether these are alike.

Rules for the nodes of a pool: openshift/machine-config-operator pkg/controller/node (pools of a
node), and the creator's own for taints.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.emit import to_json
from cpuplan.base.naming import fold_names, is_subdomain
from cpuplan.base.text import counted, joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet import openshift
from cpuplan.fleet.openshift import ClusterNode, MachineConfigPool
from cpuplan.importers import data
from cpuplan.importers.base import Machine, NumaFacts
from cpuplan.importers.must_gather import NODES, images, snapshot_path
from cpuplan.importers.must_gather import contents as must_gather
from cpuplan.importers.must_gather.contents import INFRASTRUCTURES, cluster_name
from cpuplan.importers.trees import FolderTree

#: What a layout depends on: architecture, CPUs by NUMA node, cores. Not the kernel's core ids, nor
#: memory or devices.
Facts: TypeAlias = tuple[str, tuple[tuple[int, CpuSet], ...], tuple[CpuSet, ...]]


def check_equality(pool: str, machines: Sequence[tuple[str, Machine]]) -> Iterator[Diagnostic]:
    """A diagnostic for each kind of nodes that differs from the first one."""
    kinds: dict[Facts, list[str]] = {}
    for name, machine in machines:
        kinds.setdefault(layout_facts(machine), []).append(name)
    (first, alike), *others = kinds.items()
    for facts, names in others:
        actual, wanted = next(_differences(facts, first))
        yield diagnose(
            "CP282",
            pool=pool,
            nodes=_names(names),
            found=actual,
            first=_names(alike),
            wanted=wanted,
        )


def cpu_models(machines: Iterable[Machine]) -> set[tuple[str | None, int | None]]:
    """The CPU models (vendor, model number), on which boot arguments depend."""
    return {(machine.vendor, machine.model_number) for machine in machines}


def equality_remarks(machines: Sequence[tuple[str, Machine]]) -> Iterator[str]:
    """Nodes with another CPU model than the first node, and those whose cores have other ids."""
    _, first = machines[0]
    names = [name for name, machine in machines if len(cpu_models((first, machine))) > 1]
    if names:
        yield (
            f"{_names(names)} and {machines[0][0]} have CPUs of different models; the layout "
            "is common to both"
        )
    names = [name for name, machine in machines if machine.core_ids != first.core_ids]
    if names:
        yield (
            f"{_names(names)} and {machines[0][0]} number their cores in different ways; one "
            "list of CPUs fits both"
        )


def layout_facts(machine: Machine) -> Facts:
    """What a layout depends on."""
    nodes = tuple((node.id, node.cpus & machine.online) for node in machine.numa_nodes)
    return machine.architecture, nodes, machine.siblings


def _differences(facts: Facts, other: Facts) -> Iterator[tuple[str, str]]:
    """(what `one` has, what `other` has), the most important difference first."""
    if facts[0] != other[0]:
        yield facts[0], other[0]
    nodes, others = dict(facts[1]), dict(other[1])
    if nodes.keys() != others.keys():
        yield f"the NUMA nodes {_numbers(nodes)}", _numbers(others)
    for node, cpus in nodes.items():
        theirs = others.get(node, CpuSet())
        mine = sum(core <= cpus for core in facts[2])
        wanted = sum(core <= theirs for core in other[2])
        if mine != wanted:
            yield f"{mine} cores on NUMA node {node}", str(wanted)
        if cpus != theirs:
            yield f"{cpus_text(cpus)} on NUMA node {node}", cpus_text(theirs)
    core = next(core for core in facts[2] if core not in other[2])
    theirs = next((siblings for siblings in other[2] if siblings & core), CpuSet())
    yield f"{cpus_text(core)} in one core", cpus_text(theirs)


def _names(names: Iterable[str]) -> str:
    return ", ".join(fold_names(names))


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


#: On a hosted cluster, the label of each node with its node pool (openshift/hypershift, api
#: NodePoolLabel).
NODE_POOL = "hypershift.openshift.io/nodePool"
_POOLS = "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools"
_VERSIONS = (
    "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
    "cluster-scoped-resources/config.openshift.io/clusterversions.yaml",
)


class Dump:
    """The cluster of a must-gather. Snapshots of nodes are unpacked one by one, in memory.

    All images of one must-gather describe one cluster: an object that two of them contain must be
    the same in both.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.diagnostics: list[Diagnostic] = []
        self.remarks: list[str] = []
        self.name: str | None = None
        self._machines: dict[str, tuple[Machine | None, list[Diagnostic]]] = {}
        self._objects: dict[tuple[str, str], dict[str, Any]] = {}
        self._trees = [FolderTree(image) for image in images(path)] if path.is_dir() else []
        for tree in self._trees:
            self._read(tree)
        if not self._trees:
            self.diagnostics.append(diagnose("CP124", path=path))
        objects = list(self._objects.values())
        self.pools: list[MachineConfigPool] = sorted(
            openshift.listed_pools(objects), key=lambda pool: pool.name
        )
        self.nodes: list[ClusterNode] = sorted(openshift.nodes(objects), key=lambda node: node.name)
        if self._trees and not self.nodes:
            self.remarks.append(
                f"there are no Node objects ({NODES}), which determine the nodes of a pool"
            )
        self.facts = openshift.facts(objects)
        self.release = self.facts.version if "ClusterVersion" in self._kinds() else None
        self.hosted = self._is_hosted()

    @property
    def is_empty(self) -> bool:
        """Whether the folder has no image of a must-gather; `diagnostics` reports it."""
        return not self._trees

    def machine(self, name: str) -> Machine | None:
        """The machine of a node; None if the snapshot is missing or damaged (see `problems`)."""
        return self._node(name)[0]

    def problems(self, name: str) -> list[Diagnostic]:
        """What is wrong with a node's snapshot."""
        return self._node(name)[1]

    def _node(self, name: str) -> tuple[Machine | None, list[Diagnostic]]:
        if name not in self._machines:
            self._machines[name] = self._read_machine(name)
        return self._machines[name]

    def _read_machine(self, name: str) -> tuple[Machine | None, list[Diagnostic]]:
        """Read the first whole snapshot; those of other images must have the same CPUs."""
        problems: list[Diagnostic] = []
        first: Machine | None = None
        for tree in self._trees if is_subdomain(name) else ():
            findings: list[Diagnostic] = []
            node = must_gather.read_node(tree, name, None, [], findings)
            if first is None and node is not None:
                first, problems = node.machine, findings
            elif first is None:
                problems += findings
            elif node is not None and layout_facts(node.machine) != layout_facts(first):
                path = f"{tree.name}/{snapshot_path(name)}"
                problems.append(diagnose("CP286", path=path, kind="the CPUs of", name=name))
        return first, problems or ([] if first else [diagnose("CP285", node=name, path=self.path)])

    def _read(self, tree: FolderTree) -> None:
        self.name = self.name or cluster_name(tree)[0]
        for path in _paths(tree):
            for item in _items(self._load(tree, path)):
                self._add(item, f"{tree.name}/{path}")

    def _load(self, tree: FolderTree, path: str) -> dict[str, Any]:
        """The object in a file; {} if there is none.

        A damaged one is an error, because it may be the pool of any node.
        """
        text = tree.read(path)
        try:
            documents = data.parse(text) if text else []
        except data.DataError as error:
            self.diagnostics.append(diagnose("CP121", path=f"{tree.name}/{path}", problem=error))
            return {}
        return data.mapping(documents[0] if documents else None)

    def _add(self, item: dict[str, Any], path: str) -> None:
        name = data.mapping(item.get("metadata")).get("name")
        kind = item.get("kind")
        if not isinstance(kind, str) or not isinstance(name, str):
            return
        if not is_subdomain(name):
            problem = f"it is not a valid name of a {kind}"
            self.diagnostics.append(
                diagnose("CP125", path=path, text=data.clip(name), problem=problem)
            )
            return
        first = self._objects.setdefault((kind, name), item)
        if _meaning(first) != _meaning(item):
            self.diagnostics.append(diagnose("CP286", path=path, kind=kind, name=name))

    def _kinds(self) -> set[str]:
        return {kind for kind, _ in self._objects}

    def _is_hosted(self) -> bool:
        """Whether the control plane is elsewhere, so that node pools replace MachineConfigPools."""
        if ("Infrastructure", "cluster") in self._objects:
            return self.facts.control_plane_topology == "External"
        if self._trees:
            self.remarks.append(
                "there is no Infrastructure object: the pools show whether the control plane "
                "is elsewhere"
            )
        return not self.pools and any(NODE_POOL in node.labels for node in self.nodes)


def _paths(tree: FolderTree) -> Iterator[str]:
    yield from INFRASTRUCTURES
    yield from _VERSIONS
    for folder in (_POOLS, NODES):
        yield from (f"{folder}/{name}" for name in tree.names(folder) if name.endswith(".yaml"))


def _items(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The object, or those of a list, which may lack their kind."""
    kind = str(document.get("kind", ""))
    if not kind.endswith("List"):
        return [document]
    return [
        {"kind": kind.removesuffix("List"), **item} for item in data.items(document.get("items"))
    ]


def _meaning(item: dict[str, Any]) -> object:
    """The parts of an object that are compared; counters and times change all the time."""
    return openshift.listed_pools([item]), list(openshift.nodes([item])), openshift.facts([item])


class Members(NamedTuple):
    """The nodes of a pool, ascending by name, and remarks on others that its selector fits."""

    nodes: tuple[ClusterNode, ...]
    remarks: tuple[str, ...] = ()


def pool_names(dump: Dump) -> list[str]:
    """The pools of the cluster: node pools where it is hosted."""
    if dump.hosted:
        return sorted({node.labels[NODE_POOL] for node in dump.nodes if NODE_POOL in node.labels})
    return [pool.name for pool in dump.pools]


def members(dump: Dump, name: str) -> Members:
    """The nodes of the pool `name`, which must exist."""
    if dump.hosted:
        return Members(tuple(node for node in dump.nodes if node.labels.get(NODE_POOL) == name))
    pool = next(pool for pool in dump.pools if pool.name == name)
    nodes: list[ClusterNode] = []
    remarks: list[str] = []
    for node in dump.nodes:
        problem = _why_not(node, pool, dump.pools)
        if problem is None:
            nodes.append(node)
        elif pool.selects(node.labels):
            remarks.append(f"node {node.name} is not in pool {name}: {problem}")
    return Members(tuple(nodes), tuple(remarks))


def _why_not(
    node: ClusterNode, pool: MachineConfigPool, pools: Sequence[MachineConfigPool]
) -> str | None:
    """Why a node is not in a pool; None if it is."""
    if node.labels.get("kubernetes.io/os") == "windows":
        return "it runs Windows"
    fitting = [
        known.name for known in pools if not known.selects_all and known.selects(node.labels)
    ]
    custom = [name for name in fitting if name not in ("master", "worker")]
    if len(custom) > 1:
        return f"it matches several custom pools, {joined(custom)}"
    if custom and "master" in fitting:
        return f"a control plane node cannot be in the custom pool {custom[0]}"
    # A custom pool is made of workers, so both selectors fit its nodes; a master may be a worker
    # too.
    owner = next(iter(custom or [name for name in ("master", "worker") if name in fitting]), None)
    if owner != pool.name:
        return f"it is in pool {owner}"
    if any(pool.selects({key: value}) for key, value in node.taints.items()):
        return "its taint keeps pods away"
    return None


def own_label(pool: MachineConfigPool, pools: Sequence[MachineConfigPool]) -> dict[str, str]:
    """A label that only this pool has, by which a KubeletConfig finds it; empty if there is none.

    If there are several, the first one whose key ends with the pool's name, else the first one.
    """
    others = [other.labels for other in pools if other.name != pool.name]
    taken = set(chain.from_iterable(labels.items() for labels in others))
    own = sorted(pool.labels.items() - taken)
    named = [item for item in own if item[0].endswith(pool.name)]
    return dict([*named, *own][:1])


#: Nodes by pool, and machines by node; None where a snapshot cannot be read.
Listing: TypeAlias = dict[str, dict[str, Machine | None]]


def listed_pools(dump: Dump) -> Listing:
    """Every pool with all of its nodes, ascending by name."""
    return {name: _machines(dump, name) for name in pool_names(dump)}


def _machines(dump: Dump, pool: str) -> dict[str, Machine | None]:
    return {node.name: dump.machine(node.name) for node in members(dump, pool).nodes}


def listing_json(listing: Listing) -> str:
    """NUMA nodes by the kernel's ids; CPU lists, and cores as the CPUs of each."""
    return to_json({pool: _nodes(nodes) for pool, nodes in listing.items()})


def _nodes(nodes: dict[str, Machine | None]) -> dict[str, Any]:
    return {name: machine and _machine(machine) for name, machine in nodes.items()}


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "online": str(machine.online),
        "offline": str(machine.offline),
        "numaNodes": {str(node.id): _numa_node(machine, node) for node in machine.numa_nodes},
    }


def _numa_node(machine: Machine, node: NumaFacts) -> dict[str, Any]:
    return {
        "cpus": str(node.cpus & machine.online),
        "cores": [str(core) for core in machine.siblings if core <= node.cpus],
    }


def listing_text(listing: Listing) -> str:
    """A line for each pool, node and NUMA node."""
    return "".join(f"{line}\n" for line in _lines(listing))


def _lines(listing: Listing) -> Iterator[str]:
    for pool, nodes in listing.items():
        yield f"pool {pool}: {counted(len(nodes), 'node')}"
        for name, machine in nodes.items():
            if machine is None:
                yield f"  {name}: not readable"
                continue
            smt = "SMT" if len(machine.siblings) < len(machine.online) else "no SMT"
            offline = f", offline: {machine.offline}" if machine.offline else ""
            yield (
                f"  {name}: {len(machine.online)} CPUs, {len(machine.siblings)} cores, "
                f"{smt}{offline}"
            )
            for node in machine.numa_nodes:
                cores = " ".join(f"({core})" for core in machine.siblings if core <= node.cpus)
                yield f"    NUMA node {node.id}: {node.cpus & machine.online or 'no CPUs'}"
                if cores and smt == "SMT":
                    yield f"      cores {cores}"
