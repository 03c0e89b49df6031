"""Random parts of a fleet, imported in random order: no node gets facts of other nodes.

Each fact of a node is in one of its own sources, and a label that left the cluster is named.
"""

import json
import random
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.change.restore import restore
from cpuplan.importers.base import Imported
from cpuplan.importers.documents import hardware_documents
from cpuplan.importers.documents.kinds import kinds_of
from cpuplan.write.inventory import nodes as inventory
from cpuplan.write.inventory.merge import plain
from cpuplan.write.inventory.nodes import groups_of, hardware_of
from cpuplan.write.inventory.update import Update, update
from tests.machines import trees

ROLE = "node-role.kubernetes.io"
LABELS = (f"{ROLE}/worker", f"{ROLE}/worker-cnf", "tier", "example.com/rack")
DEVICES = {
    "0000:18:00.0": ("0x020000", "0x8086", "0x1592"),
    "0000:3b:00.0": ("0x030200", "0x10de", "0x20b5"),
}


class Server(NamedTuple):
    """What is true of a node."""

    name: str
    cluster: str
    cores: int
    gigabytes: int
    offline: CpuSet
    devices: tuple[str, ...]
    labels: dict[str, str]


def fleet(choice: random.Random) -> list[Server]:
    kinds = [(choice.choice((2, 4)), choice.choice((1, 2))) for _ in range(2)]
    servers = []
    for number in range(choice.randint(2, 4)):
        cores, gigabytes = choice.choice(kinds)
        off = [cpu for cpu in range(1, 2 * cores) if choice.random() < 0.1]
        servers.append(
            Server(
                f"w{number}",
                "lab",
                cores,
                gigabytes,
                CpuSet(off),
                tuple(address for address in DEVICES if choice.random() < 0.5),
                {key: choice.choice(("", "x")) for key in LABELS if choice.random() < 0.5},
            )
        )
    return servers


def files_of(server: Server) -> dict[str, str]:
    files = trees.server(server.cores, server.gigabytes * 1024 * 1024)
    if server.offline:
        files = trees.switched_off(files, server.offline)
    for address in server.devices:
        folder = f"sys/bus/pci/devices/{address}"
        for name, text in zip(("class", "vendor", "device"), DEVICES[address], strict=True):
            files[f"{folder}/{name}"] = f"{text}\n"
        files[f"{folder}/numa_node"] = "1\n"
    return files | {"proc/sys/kernel/hostname": f"{server.name}\n"}


def table(server: Server, *, with_offline: bool) -> str:
    lines = ["CPU NODE SOCKET CORE L3 ONLINE"]
    for cpu in range(2 * server.cores):
        if cpu not in server.offline:
            core = cpu % server.cores
            lines.append(f"{cpu} {cpu % 2} {cpu % 2} {core} {cpu % 2} yes")
        elif with_offline:
            lines.append(f"{cpu} - - - - no")
    return "\n".join(lines) + "\n"


def numactl(server: Server) -> str:
    lines = ["available: 2 nodes (0-1)"]
    for node in range(2):
        cpus = CpuSet(range(node, 2 * server.cores, 2)) - server.offline
        lines.append(f"node {node} cpus: {' '.join(map(str, cpus))}")
        lines.append(f"node {node} size: {server.gigabytes * 1024} MB")
    return "\n".join([*lines, "node distances:", "node 0 1", "0: 10 21", "1: 21 10", ""])


def node_object(server: Server) -> dict[str, Any]:
    metadata = {"name": server.name, "labels": server.labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def source(server: Server, kind: str, folder: Path) -> Path:
    """A file or folder about the node, of this kind."""
    root = folder / server.name
    if kind in ("sysroot", "sysroot-without-devices"):
        files = files_of(server)
        if kind != "sysroot":
            files = {path: text for path, text in files.items() if "/pci/" not in path}
        return trees.put(files, root / kind)
    texts = {
        "table": table(server, with_offline=False),
        "table-a": table(server, with_offline=True),
        "numactl": numactl(server),
        "object": json.dumps(node_object(server)),
    }
    name = f"{server.name}.{'lscpu' if kind.startswith('table') else kind}.txt"
    return trees.put({f"{kind}/{name}": texts[kind]}, root) / kind / name


KINDS = ("sysroot", "sysroot-without-devices", "table", "table-a", "numactl", "object")


def gathered(servers: Iterable[Server], folder: Path) -> Path:
    for server in servers:
        path = f"cluster-scoped-resources/core/nodes/{server.name}.yaml"
        trees.put({path: json.dumps(node_object(server))}, folder)
        snapshot = folder / "nodes" / server.name / "sysinfo.tgz"
        snapshot.parent.mkdir(parents=True)
        snapshot.write_bytes(trees.tar(files_of(server)))
    return folder


def write(project: Path, imported: Imported) -> Update:
    folder = project / "inventories"
    known, problems = inventory.read(folder)
    assert not problems
    made = update(known, kinds_of(restore(imported, project)), folder, "")
    assert not made.diagnostics
    for path, (_, text) in made.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made


def facts(value: Any, path: str = "") -> Iterator[str]:
    """Each scalar of a Hardware document with the keys above it, and what names its entry."""
    if isinstance(value, dict):
        named = [str(value[key]) for key in ("address", "id", "level", "size") if key in value]
        for key, item in value.items():
            yield from facts(item, f"{path}.{key}{named if key != 'devices' else ''}")
    elif isinstance(value, list):
        for item in value:
            yield from facts(item, path)
    else:
        yield f"{path}={value}"


def told(specs: Iterable[dict[str, Any]]) -> set[str]:
    return {fact for spec in specs for fact in facts(plain(spec))}


def inventory_of(project: Path) -> dict[str, tuple[set[str], dict[str, str]]]:
    """By node: the facts of its hardware, and its labels."""
    known, problems = inventory.read(project / "inventories")
    assert not problems
    hardware = {document.name: document.spec for document in known if document.kind == "Hardware"}
    nodes: dict[str, tuple[set[str], dict[str, str]]] = {}
    for document in known:
        for group in groups_of(document.spec) if document.kind == "Nodes" else ():
            spec = hardware[hardware_of(document.spec, group) or ""]
            labels = (document.spec.get("labels") or {}) | (group.data.get("labels") or {})
            for name in group.names:
                assert name not in nodes, "a node has two entries"
                nodes[name] = told([spec]), labels
    return nodes


def specs_of(paths: list[Path]) -> list[dict[str, Any]]:
    documents = hardware_documents(importers.run(None, paths, "lab"))
    return [document["spec"] for document in documents if document["kind"] == "Hardware"]


def allowed_of(paths: list[Path]) -> set[str]:
    """What the sources of one node say, each alone and all together."""
    read = [specs_of([path]) for path in paths]
    return told(chain(specs_of(paths), *read))


def relabelled(server: Server, choice: random.Random) -> Server:
    kept = {key: value for key, value in server.labels.items() if choice.random() < 0.6}
    return server._replace(labels=kept)


def pick(choice: random.Random) -> list[str]:
    """Kinds of sources of one node, at most one dump of its CPUs and one table."""
    kinds = [choice.choice(KINDS[:4])]
    kinds += [kind for kind in KINDS[4:] if choice.random() < 0.5]
    return kinds


class Fleet:
    """Servers, what was imported of them so far, and their inventory."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.choice = random.Random(seed)  # noqa: S311 - a repeatable fleet
        self.servers = fleet(self.choice)
        self.folder, self.project = folder, folder / "project"
        names = [server.name for server in self.servers]
        self.sources: dict[str, list[Path]] = {name: [] for name in names}
        self.labels: dict[str, set[tuple[str, str]]] = {name: set() for name in names}

    def step(self, number: int) -> None:
        """Import some sources of some servers, twice; then some labels leave the cluster."""
        part = [server for server in self.servers if self.choice.random() < 0.6]
        paths, objects = self.collected(part or self.servers[:1], self.folder / str(number))
        made = write(self.project, importers.run(None, paths, "lab"))
        self.compare(objects, made.notes)
        again = write(self.project, importers.run(None, paths, "lab"))
        assert not again.files
        self.servers = [relabelled(server, self.choice) for server in self.servers]

    def collected(self, part: list[Server], folder: Path) -> tuple[list[Path], set[str]]:
        """The sources in random order, and the nodes whose Node objects are among them."""
        is_whole = self.choice.random() < 0.3
        paths, objects = [], set()
        for server in part:
            if is_whole:
                own, kinds = [gathered([server], folder / f"of-{server.name}")], ["object"]
            else:
                kinds = pick(self.choice)
                own = [source(server, kind, folder) for kind in kinds]
            paths += own
            self.sources[server.name] += own
            if "object" in kinds:
                objects.add(server.name)
                self.labels[server.name] |= server.labels.items()
        self.choice.shuffle(paths)
        return [gathered(part, folder / "all")] if is_whole else paths, objects

    def compare(self, objects: set[str], notes: Iterable[str]) -> None:
        """No fact but those of its own sources, and a note on each label that went."""
        servers = {server.name: server for server in self.servers}
        for name, (hardware, labels) in inventory_of(self.project).items():
            assert not hardware - allowed_of(self.sources[name])
            assert labels.items() <= self.labels[name]
            gone = labels.keys() - servers[name].labels if name in objects else ()
            for key in gone:
                assert any(f"the label {key}=" in note for note in notes)


@pytest.mark.parametrize("seed", range(6))
def test_no_import_invents(seed: int, tmp_path: Path) -> None:
    whole = Fleet(seed, tmp_path)
    for number in range(4):
        whole.step(number)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 200))
def test_no_import_invents_at_length(seed: int, tmp_path: Path) -> None:
    test_no_import_invents(seed, tmp_path)
