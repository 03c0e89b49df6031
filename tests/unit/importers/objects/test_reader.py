"""Kubernetes objects: koordlet's CPUs, the exporters' zones, Node objects; alone and together."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.importers import objects
from cpuplan.importers.base import Imported, Machine, NumaFacts, Zone
from tests.machines import trees

ROWS = [{"id": cpu, "core": cpu % 4, "socket": cpu % 2, "node": cpu % 2} for cpu in range(8)]


def node(name: str = "w0", **capacity: str) -> dict[str, Any]:
    labels = {"kubernetes.io/arch": "arm64", "kubernetes.io/hostname": name, "tier": "gold"}
    status = {
        "capacity": capacity,
        "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}],
        "nodeInfo": {"machineID": "4d4fa0cd", "architecture": "arm64"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


def zone(number: int, costs: dict[int, int] | None = None, **resources: object) -> dict[str, Any]:
    return {
        "name": f"node-{number}",
        "type": "Node",
        "costs": [
            {"name": f"node-{other}", "value": cost} for other, cost in (costs or {}).items()
        ],
        "resources": [
            {"name": name.replace("_", "-"), "capacity": amount}
            for name, amount in resources.items()
        ],
    }


def topology(
    *zones: dict[str, Any], rows: object = None, name: str = "w0", **more: Any
) -> dict[str, Any]:
    text = json.dumps({"detail": rows}) if isinstance(rows, list) else rows
    annotations = {} if text is None else {objects.CPU_TOPOLOGY: text}
    metadata = {"name": name, "annotations": annotations}
    return {"kind": "NodeResourceTopology", "metadata": metadata, "zones": list(zones), **more}


def read(tmp_path: Path, *documents: object) -> Imported:
    (tmp_path / "objects.json").write_text("\n".join(map(json.dumps, documents)))
    return importers.run("objects", [tmp_path / "objects.json"])


def machine(imported: Imported) -> Machine:
    assert [imported_node.name for imported_node in imported.nodes] == ["w0"]
    return imported.nodes[0].machine


def codes(imported: Imported) -> list[str]:
    return [diagnostic.code for diagnostic in imported.diagnostics]


def test_koordlet(tmp_path: Path) -> None:
    imported = read(
        tmp_path,
        topology(zone(0, cpu="4", memory="1Gi"), zone(1, cpu=4, memory=1 << 30), rows=ROWS),
    )
    facts = machine(imported)
    assert [str(core) for core in facts.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert facts.sockets == {cpu: cpu % 2 for cpu in range(8)}
    assert facts.core_ids == {}
    assert [(numa.id, str(numa.cpus), numa.memory) for numa in facts.numa_nodes] == [
        (0, "0,2,4,6", 1 << 30),
        (1, "1,3,5,7", 1 << 30),
    ]
    assert imported.diagnostics == ()
    first, second = imported.remarks
    assert first.endswith(
        "koordlet does not report offline CPUs, dies, "
        "clusters and kinds of cores; sockets are as in lscpu"
    )
    assert second == (
        "w0: missing, and left open: the architecture (other is written: "
        "replace it with one of aarch64, loongarch64, ppc64le, riscv64, s390x, x86_64), "
        "the CPU model, the kernel's core ids, "
        "caches, NUMA distances, huge page sizes, PCI devices, boot arguments"
    )


def test_a_core_is_a_pair_of_socket_and_number(tmp_path: Path) -> None:
    rows = [{"id": cpu, "core": 0, "socket": cpu, "node": 0} for cpu in range(2)]
    assert [str(core) for core in machine(read(tmp_path, topology(rows=rows))).siblings] == [
        "0",
        "1",
    ]


def test_cores_of_many_cpus_are_doubted(tmp_path: Path) -> None:
    rows = [{"id": cpu, "core": cpu % 5, "socket": 0, "node": 0} for cpu in range(20)]
    remarks = read(tmp_path, topology(rows=rows)).remarks
    assert any(
        "may have numbered the cores of each CPU type from 0" in remark for remark in remarks
    )


@pytest.mark.parametrize(
    ("rows", "online", "complaints"),
    [
        ([*ROWS, {"id": 0, "core": 9, "socket": 0, "node": 0}], "0-7", 1),
        ([*ROWS, {"id": 8}], "0-7", 1),
        ([*ROWS, {"id": 9999, "core": 0, "socket": 0, "node": 0}, 7, None], "0-7", 1),
        ([{"id": 0, "core": 0, "socket": 0, "node": -1}], "0", 0),
        ([{"id": [[]], "core": {}, "socket": None}] * 100, "", 20),
        ("{", "", 1),
        ("[" * 100_000, "", 1),
        ("[]", "", 0),
        (7, "", 0),
    ],
)
def test_annotations_that_are_not_as_koordlet_writes_them(
    tmp_path: Path, rows: object, online: str, complaints: int
) -> None:
    imported = read(tmp_path, topology(rows=rows))
    assert codes(imported)[:complaints] == ["CP125"] * complaints
    assert str(machine(imported).online if imported.nodes else CpuSet()) == online


def test_zones_alone_are_no_machine(tmp_path: Path) -> None:
    names = ("w0", "w1", "w2")
    imported = read(tmp_path, *(topology(zone(0, cpu="4"), name=name) for name in names))
    assert codes(imported) == ["CP130"]
    assert "the only source for w[0-2] is" in imported.diagnostics[0].message
    assert imported.nodes == ()


def test_zones_complete_a_machine(tmp_path: Path) -> None:
    """Memory, huge pages, distances, and the memory-only node that lscpu does not see."""
    costs = {0: {0: 10, 1: 21, 4: 17}, 1: {0: 21, 1: 10, 4: 28}, 4: {0: 17, 1: 28, 4: 10}}
    amounts = {"memory": "1Gi", "hugepages_2Mi": "4Mi", "hugepages_1Gi": "0"}
    zones = [zone(0, costs[0], cpu="4", **amounts), zone(1, costs[1], cpu="4", **amounts)]
    imported = read(
        tmp_path, topology(rows=ROWS), topology(*zones, zone(4, costs[4], memory="2Gi"))
    )
    pages = {2048: 2, 1048576: 0}
    assert machine(imported).numa_nodes == (
        NumaFacts(0, CpuSet((0, 2, 4, 6)), 1 << 30, (10, 21, 17), pages),
        NumaFacts(1, CpuSet((1, 3, 5, 7)), 1 << 30, (21, 10, 28), pages),
        NumaFacts(4, CpuSet(), 2 << 30, (17, 28, 10), {}),
    )
    assert imported.diagnostics == ()
    assert not any("NUMA distances" in remark for remark in imported.remarks)


def test_distances_that_do_not_cover_every_node_are_left_open(tmp_path: Path) -> None:
    imported = read(
        tmp_path, topology(zone(0, {0: 10, 1: 21}, cpu="4"), zone(1, {1: 10}, cpu="4"), rows=ROWS)
    )
    assert [numa.distances for numa in machine(imported).numa_nodes] == [(), ()]


def test_nothing_is_taken_from_zones_of_another_machine(tmp_path: Path) -> None:
    imported = read(tmp_path, topology(zone(0, cpu="8", memory="9Gi"), rows=ROWS))
    assert codes(imported) == ["CP131"]
    assert (
        imported.diagnostics[0].message
        == "node w0 has 4 CPUs in NUMA node 0, but 8 according to its NodeResourceTopology"
    )
    assert [numa.memory for numa in machine(imported).numa_nodes] == [None, None]


def test_kinds_of_cores_of_a_hybrid(tmp_path: Path) -> None:
    attributes = [
        {"name": "cpu_core", "value": "0-3"},
        {"name": "cpu_atom", "value": "4-7"},
        {"name": "x"},
        7,
    ]
    facts = machine(read(tmp_path, topology(rows=ROWS, attributes=attributes)))
    assert facts.core_types == {
        **dict.fromkeys(range(4), "performance"),
        **dict.fromkeys(range(4, 8), "efficient"),
    }
    assert machine(read(tmp_path, topology(rows=ROWS, attributes=attributes[:1]))).core_types == {}
    broken = read(tmp_path, topology(rows=ROWS, attributes=[{"name": "cpu_core", "value": "all"}]))
    assert codes(broken) == ["CP125"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("node-0", 0),
        ("node-00", 0),
        ("node-", 1),
        ("numa-node-0", 1),
        ("node--1", 1),
        ("node-4096", 1),
        (None, 1),
        ([], 1),
    ],
)
def test_names_of_zones(tmp_path: Path, name: object, complaint: int) -> None:
    document = topology({"name": name, "type": "Node"})
    (tmp_path / "nrt.json").write_text(json.dumps(document))
    imported = objects.read(tmp_path / "nrt.json")
    assert codes(imported) == ["CP125"] * complaint
    assert imported.objects[0].zones == (() if complaint else (Zone(0, None, None, {}, {}),))


def test_zones_of_another_type_are_no_numa_nodes(tmp_path: Path) -> None:
    (tmp_path / "nrt.json").write_text(json.dumps(topology({"name": "gpu-0", "type": "Device"})))
    assert objects.read(tmp_path / "nrt.json").objects[0].zones == ()


def test_a_node_object_beside(tmp_path: Path) -> None:
    capacity = {
        "cpu": "8",
        "memory": "2Gi",
        "hugepages-1Gi": "2Gi",
        "hugepages-2Mi": "0",
        "pods": "250",
    }
    imported = read(tmp_path, topology(rows=ROWS), {"kind": "List", "items": [node(**capacity)]})
    facts = machine(imported)
    assert facts.architecture == "aarch64"
    assert facts.huge_page_sizes == (2048, 1048576)
    assert imported.nodes[0].labels == {"kubernetes.io/arch": "arm64", "tier": "gold"}
    assert imported.diagnostics == ()
    assert "192.0.2.7" not in repr(imported)
    assert "4d4fa0cd" not in repr(imported)


def test_capacity_of_a_machine_with_one_numa_node(tmp_path: Path) -> None:
    rows = [{"id": 0, "core": 0, "socket": 0, "node": 0}]
    capacity = {"cpu": "1", "memory": "2097152Ki", "hugepages-1Gi": "1Gi"}
    facts = machine(read(tmp_path, topology(rows=rows), node(**capacity)))
    assert facts.numa_nodes == (NumaFacts(0, CpuSet((0,)), 2 << 30, (), {1048576: 1}),)


@pytest.mark.parametrize(
    ("capacity", "messages"),
    [
        ({"cpu": "8", "memory": "2Gi"}, []),
        ({"cpu": "8", "memory": "2090000Ki"}, []),
        ({"cpu": "6"}, ["node w0 has 8 CPUs online, but 6 according to its Node object"]),
        ({"memory": "3Gi"}, ["node w0 has 2Gi of memory, but 3Gi according to its Node object"]),
        (
            {"hugepages-1Gi": "3Gi"},
            ["node w0 has 2 huge pages of 1Gi, but 3 according to its Node object"],
        ),
        ({"hugepages-1Gi": "2Gi", "hugepages-2Mi": "2Mi"}, []),
        ({"cpu": "lots", "memory": "-1", "hugepages-2Mi": "x", "hugepages-0Mi": "1"}, []),
    ],
)
def test_capacity_that_contradicts(
    tmp_path: Path, capacity: dict[str, str], messages: list[str]
) -> None:
    zones = [zone(number, cpu="4", memory="1Gi", hugepages_1Gi="1Gi") for number in (0, 1)]
    imported = read(tmp_path, topology(*zones, rows=ROWS), node(**capacity))
    assert [diagnostic.message for diagnostic in imported.diagnostics] == messages


def test_a_system_root_and_its_node_object(tmp_path: Path) -> None:
    files = {**trees.server(), "proc/sys/kernel/hostname": "w0\n"}
    (tmp_path / "w0.tgz").write_bytes(trees.tar(files))
    (tmp_path / "nodes.json").write_text(
        json.dumps({"kind": "NodeList", "items": [node(cpu="7"), node("w1")]})
    )
    imported = importers.run(None, [tmp_path])
    assert codes(imported) == ["CP131"]
    assert machine(imported).architecture == "aarch64"
    assert "node w1 has a Node object but no source of its CPUs: it is left out" in imported.remarks


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "NodeList", "items": [{"metadata": {"name": "w0"}}]},
        {
            "kind": "List",
            "items": [{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "w0"}}]}],
        },
        {"kind": "Node", "metadata": {"name": "w0"}},
    ],
)
def test_lists(tmp_path: Path, document: object) -> None:
    (tmp_path / "nodes.json").write_text(json.dumps(document))
    assert [node_object.name for node_object in objects.read(tmp_path / "nodes.json").objects] == [
        "w0"
    ]


def test_a_yaml_stream(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: w0}\n---\nkind: Pod\n---\n"
        "kind: Node\nmetadata: {name: w1}\n"
    )
    assert [node_object.name for node_object in objects.read(tmp_path / "nodes.yaml").objects] == [
        "w0",
        "w1",
    ]


@pytest.mark.parametrize("name", ["W0", "w_0", "", 7, None, "-", ["w0"], "../w0"])
def test_names_that_no_node_has(tmp_path: Path, name: object) -> None:
    imported = read(tmp_path, {"kind": "Node", "metadata": {"name": name}})
    assert codes(imported) == ["CP125"]


def test_partial_views_of_one_node_complete_each_other(tmp_path: Path) -> None:
    own = [
        {"id": 0, "size": 32768, "type": "Data", "level": 1},
        {"id": 7, "size": 1 << 20, "level": 2},
    ]
    cores = [
        {
            "core_id": cpu,
            "thread_ids": [cpu, cpu + 4],
            "socket_id": cpu % 2,
            "caches": own,
            "uncore_caches": None,
        }
        for cpu in range(4)
    ]
    nodes = [
        {
            "node_id": node,
            "memory": 1 << 30,
            "cores": cores[node::2],
            "distances": [10, 21][:: 1 - 2 * node],
        }
        for node in (0, 1)
    ]
    (tmp_path / "w0.machineinfo.json").write_text(json.dumps({"num_cores": 8, "topology": nodes}))
    (tmp_path / "nrt.json").write_text(json.dumps(topology(rows=ROWS)))
    (tmp_path / "w0.tgz").write_bytes(
        trees.tar({**trees.server(), "proc/sys/kernel/hostname": "w0\n"})
    )
    koordlet, info, root = (
        tmp_path / name for name in ("nrt.json", "w0.machineinfo.json", "w0.tgz")
    )
    facts = machine(importers.run(None, [koordlet, info]))
    assert (facts.core_ids, len(facts.caches)) == ({cpu: cpu % 4 for cpu in range(8)}, 4)
    assert [(numa.memory, numa.distances) for numa in facts.numa_nodes] == [
        (1 << 30, (10, 21)),
        (1 << 30, (21, 10)),
    ]
    joined = importers.run(None, [koordlet, root])
    assert joined.diagnostics == ()
    assert machine(joined).model == "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz"


def test_views_of_unlike_machines(tmp_path: Path) -> None:
    imported = read(tmp_path, topology(rows=ROWS), topology(rows=ROWS[:2]))
    assert [diagnostic.message for diagnostic in imported.diagnostics] == [
        f"node w0 has CPUs 0-7 online, but CPUs 0-1 according to {tmp_path}/objects.json"
    ]
    assert len(machine(imported).online) == 8


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["node-0", "Node"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "kind",
                    "metadata",
                    "name",
                    "items",
                    "zones",
                    "costs",
                    "resources",
                    "capacity",
                    "status",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.sampled_from(["metadata", "zones", "attributes", "status", "items", "kind"]),
        JUNK
        | st.sampled_from(
            [{"name": "w0", "annotations": {objects.CPU_TOPOLOGY: '{"detail": [{"id": 0}]}'}}]
        ),
    ),
    st.sampled_from(["Node", "NodeResourceTopology", "List", "NodeList"]),
)
def test_junk_is_never_raised(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any], kind: str
) -> None:
    path = tmp_path_factory.mktemp("junk") / "objects.json"
    path.write_text(json.dumps({"kind": kind, "metadata": {"name": "w0"}, **values}))
    importers.run("objects", [path])
