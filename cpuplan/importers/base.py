"""What importers share: nodes, what an import results in, and what a format is."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.diagnostics import Diagnostic
from cpuplan.importers.machine import Machine

_SUFFIX = re.compile(r"\.(tar|tgz|txz|tbz2?|gz|xz|bz2|json|txt|xml|yaml|yml)\Z")
#: What collectors call their files, or people after a command; the rest of the name, or the folder,
#: names the machine.
_GENERIC = re.compile(
    r"(^|[-_.])(sysroot|sysinfo|(ghw-)?snapshot|sys|root|lscpu(-[a-z0-9.]+)*|hwloc(-[a-z0-9]+)?"
    r"|lstopo|topology|machineinfo|ironic(-numa)?|nrt(-[a-z]+)?)\Z"
)


class Node(NamedTuple):
    """One node: its machine's facts, and what the cluster knows of it.

    The format of a `partial` node leaves much open; `join.open_points` lists what is left open in
    the end.
    """

    name: str
    machine: Machine
    labels: dict[str, str]
    cluster: str | None = None
    partial: bool = False
    cluster_from: str = ""  # what the cluster's name was derived from, where nobody gave it
    #: Fields of the Cluster document of its cluster.
    cluster_facts: Mapping[str, Any] = {}


class Zone(NamedTuple):
    """A NUMA node in a cluster's object: its sizes, and how many CPUs it has, but not which.

    Memory in bytes, huge pages by size in kB, distances by NUMA node.
    """

    id: int
    cpus: int | None
    memory: int | None
    huge_pages: dict[int, int]
    distances: dict[int, int]


class NodeObject(NamedTuple):
    """A node in a cluster's objects: labels that people select by, architecture as in uname(1).

    The capacity is that of a Node object (CPUs online, memory in bytes, huge pages by size in kB),
    the zones are a NodeResourceTopology's.
    """

    name: str
    labels: dict[str, str]
    architecture: str | None = None
    cluster: str | None = None
    cpus: int | None = None
    memory: int | None = None
    huge_pages: dict[int, int] = {}
    zones: tuple[Zone, ...] = ()
    core_types: dict[int, str] = {}


class Imported(NamedTuple):
    """What was read. `remarks` are sentences on what the input does not contain."""

    nodes: tuple[Node, ...]
    remarks: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    objects: tuple[NodeObject, ...] = ()


def _holds_none(_folder: Path) -> bool:
    return False


class Format(NamedTuple):
    """A format: what it looks like, and how it is read.

    `read` raises nothing: what is wrong with an input is among the diagnostics. A module that
    defines a format is imported for its look, so `read` imports the parser when it is called.
    """

    name: str
    summary: str  # for the help of `cpuplan import`
    read: Callable[[Path], Imported]
    text: re.Pattern[str] | None = None  # how a text begins
    is_folder: Callable[[Path], bool] = _holds_none
    packs_files: bool = False  # a tar archive is taken for one
    #: Reads the files that give a node one name, which are parts of it.
    read_parts: Callable[[Sequence[Path]], Imported] | None = None


def node_name(path: Path) -> str:
    """worker-0 for `worker-0.tgz`, `worker-0/sysinfo.tgz` and `worker-0.lscpu.json`."""
    path = path.absolute()
    stem = path.name
    while short := _SUFFIX.sub("", stem):
        if short == stem:
            break
        stem = short
    stem = _GENERIC.sub("", stem) or path.parent.name
    return naming.name_from(stem, "host", naming.LONGEST_NODE)
