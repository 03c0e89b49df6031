"""Imported machines as documents: short, grouped, and the same machine when they are read back."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet import hardware
from cpuplan.importers import documents
from cpuplan.importers.base import DeviceFacts, Imported, Machine, Node
from cpuplan.importers.documents.hardware import sequence
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import TarTree
from cpuplan.language.read import documents as read_documents
from cpuplan.language.read import yaml
from tests.machines import trees

SERVER = """\
# schema: hardware
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata:
  name: xeon-gold-6330-2s-4c-8t
spec:
  architecture: x86_64
  vendor: GenuineIntel
  model: Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz
  modelNumber: 106
  topology:
    cores:
    - threads: [0-3, 4-7]
    sockets:
    - {id: 0, cpus: "0-6:1/2"}
    - {id: 1, cpus: "1-7:1/2"}
    numaNodes:
    - {id: 0, cpus: "0-6:1/2", memory: 1Gi, distances: [10, 21]}
    - {id: 1, cpus: "1-7:1/2", memory: 1Gi, distances: [21, 10]}
    caches:
    - {level: 3, size: 32Mi, per: socket, ids: 0-1}
  hugePageSizes: [2Mi]
"""
NODES = """\
# schema: nodes
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata:
  name: lab
spec:
  cluster: lab
  hardware: xeon-gold-6330-2s-4c-8t
  labels:
    tier: gold
  nodes:
  - {name: "worker-[0-2]"}
  - name: worker-9
    labels:
      spare: ""
"""


def server(**values: int) -> Machine:
    read, _, _ = sysroot.read_machine(TarTree(trees.tar(trees.server(**values)), "a"))
    assert read is not None
    return read


def hardware_names(*machines: Machine) -> list[str]:
    nodes = tuple(Node(f"n{index}", machine, {}) for index, machine in enumerate(machines))
    made = documents.hardware_documents(Imported(nodes))
    return [document["metadata"]["name"] for document in made if document["kind"] == "Hardware"]


def test_documents() -> None:
    machine = server()
    labels = {"tier": "gold"}
    nodes = [Node(f"worker-{number}", machine, labels, "lab") for number in range(3)]
    nodes.append(Node("worker-9", machine, {**labels, "spare": ""}, "lab"))
    assert documents.render(Imported(tuple(nodes)), "schema: {kind}\n") == {
        "hardware-xeon-gold-6330-2s-4c-8t.yaml": SERVER,
        "nodes-lab.yaml": NODES,
    }


def test_read_back() -> None:
    texts = documents.render(Imported((Node("n", server(), {}),)))
    sources = [source for name, text in texts.items() for source in yaml.parse(name, text)[0]]
    written, problems = read_documents.from_sources(sources)
    assert not problems
    topology, wrong = hardware.build(written.of_kind("Hardware")[0].spec)
    assert not wrong
    assert topology is not None
    assert [
        (c.cpu, c.core, c.socket, c.numa_node, c.uncore_cache, c.core_id) for c in topology.cpus
    ][:3] == [
        (0, 0, 0, 0, 0, 0),
        (1, 1, 1, 1, 1, 0),
        (2, 2, 0, 0, 0, 1),
    ]


def test_a_little_memory_makes_no_other_hardware() -> None:
    assert hardware_names(server(), server(memory_kb=1024 * 1024 - 9000)) == [
        "xeon-gold-6330-2s-4c-8t"
    ]
    made = documents.hardware_documents(
        Imported((Node("a", server(), {}), Node("b", server(memory_kb=1024 * 1024 - 4), {})))
    )
    assert made[0]["spec"]["topology"]["numaNodes"][0].data["memory"] == "1048572Ki"


def test_names_that_clash_get_a_digest() -> None:
    names = hardware_names(server(), server(memory_kb=4096))
    assert [name[:24] for name in names] == ["xeon-gold-6330-2s-4c-8t-"] * 2
    assert len(set(names)) == 2


def test_what_software_sets_makes_no_other_hardware() -> None:
    plain = server()
    node = plain.numa_nodes[0]
    port = DeviceFacts("0000:31:00.0", 0x020000, "0x8086", "0x1593", 0, "ice", ("ens1f0",), 64, 0)
    first = plain._replace(devices=(port,))
    other = plain._replace(
        devices=(port._replace(driver="vfio-pci", interfaces=()),),
        numa_nodes=(node._replace(huge_pages={2048: 7}), plain.numa_nodes[1]),
    )
    made = documents.hardware_documents(Imported((Node("a", first, {}), Node("b", other, {}))))
    assert [document["kind"] for document in made] == ["Hardware", "Nodes"]
    (device,) = made[0]["spec"]["devices"]
    assert device.data == {
        "address": "0000:31:00.0",
        "class": "network",
        "vendor": "0x8086",
        "device": "0x1593",
        "numaNode": 0,
        "functions": 64,
    }


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", "xeon-gold-6330"),
        ("AMD EPYC 7763 64-Core Processor", "epyc-7763"),
        ("Intel(R) Xeon(R) Platinum 8480+", "xeon-platinum-8480"),
        ("POWER10 (architected), altivec supported", "power10"),
        ("!!!", "x86-64"),
        (None, "x86-64"),
    ],
)
def test_hardware_names(model: str | None, name: str) -> None:
    assert hardware_names(server()._replace(model=model)) == [f"{name}-2s-4c-8t"]


@pytest.mark.parametrize(
    ("pci_class", "vendor", "expected"),
    [
        (0x020000, "0x8086", "network"),
        (0x030200, "0x10de", "gpu"),
        (0x030000, "0x1a03", "other"),  # a management controller's graphics
        (0x0B4000, "0x8086", "accelerator"),
        (0x120000, "0x1002", "accelerator"),
        (0x010802, "0x144d", "storage"),
    ],
)
def test_device_classes(pci_class: int, vendor: str, expected: str) -> None:
    device = DeviceFacts("0000:00:00.0", pci_class, vendor, None, None)
    made = documents.hardware_documents(
        Imported((Node("n", server()._replace(devices=(device,)), {}),))
    )
    assert made[0]["spec"]["devices"][0].data["class"] == expected


def test_virtual_functions_are_not_written() -> None:
    virtual = DeviceFacts("0000:31:01.0", 0x020000, None, None, 0, physical_function="0000:31:00.0")
    made = documents.hardware_documents(
        Imported((Node("n", server()._replace(devices=(virtual,)), {}),))
    )
    assert "devices" not in made[0]["spec"]


def test_unlike_cores() -> None:
    """Four cores of which one has one thread, siblings with ids of their own, and a type."""
    machine = server()._replace(
        online=CpuSet(range(7)),
        siblings=tuple(map(CpuSet, ([0, 4], [1, 5], [2, 6], [3]))),
        core_ids={0: 0, 4: 1, 1: 2, 5: 3, 2: 4, 6: 5, 3: 9},
        core_types=dict.fromkeys([0, 1, 2, 4, 5, 6], "performance") | {3: "efficient"},
    )
    made = documents.hardware_documents(Imported((Node("n", machine, {}),)))
    cores = made[0]["spec"]["topology"]["cores"]
    assert [
        {key: getattr(value, "data", value) for key, value in entry.items()} for entry in cores
    ] == [
        {"type": "performance", "threads": ["0-2", "4-6"], "ids": ["0,2,4", "1,3,5"]},
        {"type": "efficient", "threads": ["3"], "ids": ["9"]},
    ]


def test_sequence() -> None:
    assert sequence([0, 1, 2, 0, 1, 2, 7]) == "0-2,0-2,7"
    assert hardware.numbers(sequence([3, 3, 4, 9, 8])) == [3, 3, 4, 9, 8]
