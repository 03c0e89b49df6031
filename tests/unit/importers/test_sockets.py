"""Sockets are what a format says of packages, whatever the NUMA nodes are: no format mixes them up.

Each machine is read as it is, and with NUMA nodes that contradict its packages: CPUs take turns.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers import machineinfo, objects
from cpuplan.importers.base import NumaFacts
from cpuplan.importers.data import Complaints
from cpuplan.importers.hwloc import reader as hwloc
from cpuplan.importers.hwloc import xml as hwloc_xml
from cpuplan.importers.hwloc.xml import Reader
from cpuplan.importers.hwloc.xml import read as read_objects
from cpuplan.importers.lscpu import numbering as lscpu_machine
from cpuplan.importers.lscpu import tables as lscpu_table
from cpuplan.importers.lscpu.tables import Table
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.sysroot import sysfs as sysfs_numa
from cpuplan.importers.trees import TarTree
from tests.machines import trees
from tests.machines.topologies import core, node, thing, topology

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
SOCKETS = {0: 7, 1: 7, 2: 9, 3: 9}
NODES = {0: 0, 1: 1, 2: 0, 3: 1}


def _sysroot() -> Mapping[int, int]:
    files: dict[str, str] = {"sys/devices/system/cpu/online": "0-3\n"}
    for cpu, socket in SOCKETS.items():
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{topology}/physical_package_id"] = f"{socket}\n"
        files[f"{topology}/core_id"] = f"{cpu}\n"
        files[f"{topology}/core_cpus_list"] = f"{cpu}\n"
    files["sys/devices/system/node/node0/cpulist"] = "0,2\n"
    files["sys/devices/system/node/node1/cpulist"] = "1,3\n"
    facts, _, _ = sysroot.read_machine(TarTree(trees.tar(files, "w"), "a.tar"))
    assert facts is not None
    return facts.sockets


def _parsable() -> Mapping[int, int]:
    lines = [f"{cpu},{cpu},{SOCKETS[cpu]},{NODES[cpu]}" for cpu in SOCKETS]
    return _of(lscpu_table.table_from_parsable("\n".join(["# CPU,Core,Socket,Node", *lines])))


def _extended() -> Mapping[int, int]:
    lines = [f"{cpu} {NODES[cpu]} {SOCKETS[cpu]} {cpu}" for cpu in SOCKETS]
    return _of(lscpu_table.table_from_extended("\n".join(["CPU NODE SOCKET CORE", *lines])))


def _json() -> Mapping[int, int]:
    rows = [
        {"cpu": cpu, "node": NODES[cpu], "socket": SOCKETS[cpu], "core": cpu} for cpu in SOCKETS
    ]
    return _of(lscpu_table.table_from_json(rows))


def _of(table: Table) -> Mapping[int, int]:
    return lscpu_machine.from_table(table, None).machine.sockets


def _machineinfo() -> Mapping[int, int]:
    nodes = []
    for number in (0, 1):
        cores = [
            {"core_id": cpu, "thread_ids": [cpu], "socket_id": SOCKETS[cpu]}
            for cpu in SOCKETS
            if NODES[cpu] == number
        ]
        nodes.append({"node_id": number, "memory": 1 << 30, "cores": cores})
    facts = machineinfo.machine_of({"num_cores": 4, "topology": nodes}, Complaints("a"))
    assert facts is not None
    return facts.sockets


def _koordinator() -> Mapping[int, int]:
    rows = [{"id": cpu, "core": cpu, "socket": SOCKETS[cpu], "node": NODES[cpu]} for cpu in SOCKETS]
    annotations = {objects.CPU_TOPOLOGY: json.dumps({"detail": rows})}
    facts, _ = objects.read_topology(
        "a", {"metadata": {"annotations": annotations}}, Complaints("a")
    )
    assert facts is not None
    return facts.sockets


def _hwloc() -> Mapping[int, int]:
    packages = "".join(
        thing("Package", text, "".join(core(cpu, cpu) for cpu in cpus), os_index=number)
        for number, text, cpus in ((7, "0-1", (0, 1)), (9, "2-3", (2, 3)))
    )
    return _of_hwloc(topology(thing("Machine", "0-3", packages + node(0, "0,2") + node(1, "1,3"))))


def _of_hwloc(text: str) -> Mapping[int, int]:
    reader = Reader("a.xml")
    document = read_objects(hwloc_xml.parse_xml(text.encode(), "a.xml"), reader)
    facts, _ = hwloc.machine_of(document, reader)
    assert facts is not None
    return facts.sockets


@pytest.mark.parametrize(
    "read", [_sysroot, _parsable, _extended, _json, _machineinfo, _koordinator, _hwloc]
)
def test_packages_that_contradict_the_numa_nodes(read: Callable[[], Mapping[int, int]]) -> None:
    assert read() == SOCKETS


def _recorded(pattern: str) -> list[Path]:
    return sorted(CORPUS.glob(f"*/{pattern}"))


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded machines at {CORPUS}")
def test_recorded_tables() -> None:
    tables = 0
    for path in [*_recorded("lscpu-p*.txt"), *_recorded("lscpu-e*.json")]:
        text = path.read_text()
        table = (
            lscpu_table.table_from_json(json.loads(text)["cpus"])
            if path.suffix == ".json"
            else lscpu_table.table_from_parsable(text)
        )
        turned = tuple(row._replace(node=row.cpu % 2) for row in table.rows)
        if any(row.socket is not None for row in table.rows):
            assert _of(table._replace(rows=turned)) == _of(table), path
            tables += 1
    assert tables > 100


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded machines at {CORPUS}")
def test_recorded_topologies_of_hwloc() -> None:
    """The NUMA nodes of hwloc 2 and later, which lie beside the packages, take turns."""
    topologies = 0
    for path in _recorded("hwloc-v[23].xml"):
        text = path.read_text()
        turned = re.sub(r'(<object type="NUMANode"[^>]*? cpuset=)"[^"]*"', r'\1"0x55555555"', text)
        assert _of_hwloc(turned) == _of_hwloc(text), path
        topologies += turned != text
    assert topologies > 50


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded machines at {CORPUS}")
@pytest.mark.parametrize("machine", ["intel-westmere-l5640-2s-ghw", "xeon-4s-16c-offline"])
def test_recorded_system_roots(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = next((CORPUS / machine).glob("sysroot.tar.*"))
    before, _, _ = sysroot.read_machine(TarTree.open(archive))
    monkeypatch.setattr(sysfs_numa, "numa_nodes", _turned)
    after, _, _ = sysroot.read_machine(TarTree.open(archive))
    assert before is not None
    assert after is not None
    assert before.numa_nodes != after.numa_nodes
    assert before.sockets == after.sockets
    assert len(set(before.sockets.values())) > 1


def _turned(_: object, cpus: CpuSet) -> tuple[NumaFacts, ...]:
    parts = [CpuSet(cpu for cpu in cpus if cpu % 2 == node) for node in (0, 1)]
    return tuple(NumaFacts(node, part, 1 << 30, (), {}) for node, part in enumerate(parts))
