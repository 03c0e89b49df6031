"""The catalogue: every entry is a machine, stands alone, and is like the recorded machines."""

import json
from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.fleet import hardware
from cpuplan.language.read import documents, yaml
from cpuplan.language.read.documents import Document
from cpuplan.language.read.files import input_files
from tests.projects import REPOSITORY, SHARED, needs_shared

CORPUS = SHARED / "corpus"
ENTRIES = hardware.read_catalog()
FILES = sorted((REPOSITORY / "inventories/catalog").glob("*.yaml"))
#: Entry -> recorded machine, which may say less of NUMA nodes and memory: some were read from
#: CPUID.
RECORDED = {
    "altra-max-m128-30-2s": "syn-altramax-2s-256c",
    "epyc-7451-2s": "amd-epyc7451-2s-96c",
    "epyc-7742-2s-nps4": "amd-epyc7742-2s-nps4-256c-a100",
    "epyc-7763-2s-nps4": "syn-milan7763-2s-nps4-256c",
    "epyc-9654-1s-l3-as-numa": "syn-genoa9654-1s-l3-as-numa-192c",
    "epyc-9654-2s-nps1": "amd-epyc9654-2s-384c",
    "epyc-9754-2s-nps1": "syn-bergamo9754-2s-512c",
    "gh200-1s": "syn-gh200-72c-gpu-nodes",
    "grace-superchip-2s": "syn-grace-superchip-144c",
    "kunpeng-920-6426-2s": "arm64-kunpeng920-2s-128c",
    "xeon-6130-2s-interleaved": "intel-2s-32c-nosmt-ocp-worker2",
    "xeon-6230-2s-interleaved-snc2": "clx6230-2s-snc2-2lm-80c",
    "xeon-6230r-2s-interleaved": "intel-clx6230r-2s-ocp-sysinfo",
    "xeon-6330-2s-interleaved": "intel-2s-112c-ocp-master",
    "xeon-6338n-1s": "syn-telco-icx6338n-1s-smt-off",
    "xeon-6438n-2s-interleaved": "syn-telco-spr6438n-2s-alternate-128c",
    "xeon-6780e-2s": "syn-srf6780e-2s-288c",
    "xeon-6980p-2s-snc3": "syn-gnr6980p-2s-snc3-512c",
    "xeon-8480-2s": "syn-spr8480-2s-224c",
    "xeon-8480-2s-snc4": "intel-spr8480-2s-snc4-224c",
    "xeon-8490h-8s": "syn-8s-8490h-960c",
    "xeon-max-9462-2s-snc4-flat": "intel-xeonmax9462-2s-flat-16nodes",
}
#: Machines whose second threads were switched off: the CPUs that the entry has beside them.
WITHOUT_SECOND_THREADS = {"xeon-6130-2s-interleaved": "32-63", "xeon-6338n-1s": "32-63"}


def built(entry: Document, offline: str = "") -> Topology:
    topology, problems = hardware.build(entry.spec, CpuSet.parse(offline))
    assert topology is not None, problems
    return topology


def test_every_document_of_the_catalogue_is_an_entry() -> None:
    documents_written = sum(path.read_text().count("\nkind: Hardware\n") for path in FILES)
    assert len(ENTRIES) == documents_written
    assert len(ENTRIES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_names_its_sources(path: Path) -> None:
    comments = [line for line in path.read_text().splitlines() if line.startswith("# ")]
    assert any(line.startswith("# Cores") for line in comments)
    assert all(len(line) <= 120 for line in path.read_text().splitlines())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_stands_alone(entry: Document) -> None:
    topology = built(entry)
    assert f"-{len(topology.sockets)}s" in entry.name
    text = hardware.catalog_text(entry)
    sources, problems = yaml.parse("copy.yaml", text)
    assert not problems
    read, wrong = documents.from_sources(sources)
    assert not wrong
    assert [(document.name, document.spec) for document in read.of_kind("Hardware")] == [
        (entry.name, entry.spec)
    ]
    assert text.startswith("# yaml-language-server: $schema=../schemas/hardware.schema.json\n# ")


def test_no_project_reads_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    for root in (REPOSITORY, Path(), Path("tests/..")):
        names = [path.relative_to(root).as_posix() for path in input_files(root).files]
        assert "inventories/servers.yaml" in names
        assert not [name for name in names if name.startswith("inventories/catalog")]


@needs_shared
@pytest.mark.parametrize(("name", "machine"), RECORDED.items(), ids=list(RECORDED))
def test_like_the_recorded_machine(name: str, machine: str) -> None:
    entry = next(entry for entry in ENTRIES if entry.name == name)
    topology = built(entry, WITHOUT_SECOND_THREADS.get(name, ""))
    expected: dict[str, Any] = json.loads((CORPUS / machine / "expected.json").read_text())
    cpus = [cpu for cpu in expected["cpus"] if cpu["online"]]
    assert [cpu.cpu for cpu in topology.cpus] == [cpu["cpu"] for cpu in cpus]
    assert {str(topology.siblings(cpu["cpu"])) for cpu in cpus} == {cpu["siblings"] for cpu in cpus}
    assert [cpu.uncore_cache for cpu in topology.cpus] == [
        -1 if cpu["l3"] is None else cpu["l3"] for cpu in cpus
    ]
    assert _parted([cpu.socket for cpu in topology.cpus]) == _parted(
        [cpu["socket"] for cpu in cpus]
    )
    clusters = [(cpu["socket"], cpu.get("cluster")) for cpu in cpus]
    if entry.spec.regular.cores_per_cluster > 1:
        assert _parted([cpu.cluster for cpu in topology.cpus]) == _parted(clusters)
    if len(expected["numa"]) > 1:
        _compare_numa(topology, expected)
    if entry.spec.regular.core_ids and not expected.get("synthetic"):
        assert [cpu.core_id for cpu in topology.cpus] == [cpu["core"] for cpu in cpus]
    if entry.spec.model and expected["model"]:
        assert entry.spec.model == expected["model"]


def _compare_numa(topology: Topology, expected: dict[str, Any]) -> None:
    nodes = {node["id"]: node for node in expected["numa"]}
    assert list(topology.numa_facts) == sorted(nodes)
    for node, cpus in topology.numa_nodes.items():
        assert str(cpus) == nodes[node]["cpus"]
    for node, facts in topology.numa_facts.items():
        if facts.distances:
            assert list(facts.distances) == nodes[node]["distances"]
        if facts.memory is not None:
            assert facts.memory == nodes[node]["memory_bytes"]


def _parted(labels: list[Any]) -> list[int]:
    """Labels by the place of the first that is equal: the same for all names of the same parts."""
    first: dict[Any, int] = {}
    return [first.setdefault(label, place) for place, label in enumerate(labels)]
