"""Real machines, some CPUs of which a plan switched off: put back, or left off with the reason."""

import tarfile
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.emit import to_yaml
from cpuplan.change.restore import cpus, reductions
from cpuplan.change.restore.cpus import by_numbering
from cpuplan.change.restore.reductions import Planned
from cpuplan.importers import documents
from cpuplan.importers.base import Imported, Machine, Node
from cpuplan.importers.documents.hardware import hardware_spec
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import TarTree
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import from_sources
from tests.machines import trees
from tests.projects import SHARED, needs_shared

MACHINES = (
    "amd-epyc7451-2s-96c",
    "amd64-bulldozer-64c-compute-units",
    "intel-lakefield-hybrid-5c",
    "clx6230-2s-snc2-2lm-80c",
    "qemu-4p-8die-64c",
    "s390x-20c-books",
    "vmware-fpe-16c",
)


def read(files: dict[str, str]) -> Machine:
    machine, _, _ = sysroot.read_machine(TarTree(trees.tar(files, "w"), "a.tar"))
    assert machine is not None
    return machine


def recorded(name: str) -> dict[str, str]:
    path = next(Path(SHARED, "corpus", name).glob("sysroot.tar.*"))
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            inside = member.name.lstrip("./")
            if member.isfile() and inside.startswith(("sys/devices/system/", "proc/")):
                file = archive.extractfile(member)
                assert file is not None
                files[inside] = file.read().decode("utf-8", "replace")
    return files


def in_inventory(machine: Machine) -> HardwareSpec:
    rendered = documents.render(Imported((Node("w", machine, {}),)))
    sources = [source for path, text in rendered.items() for source in yaml.parse(path, text)[0]]
    spec: HardwareSpec = from_sources(sources)[0].of_kind("Hardware")[0].spec
    return spec


@needs_shared
@pytest.mark.parametrize("name", MACHINES)
def test_recorded_machines(name: str) -> None:
    files = recorded(name)
    machine = read(files)
    cores = machine.siblings
    second_threads = union(cores) - CpuSet(siblings.first for siblings in cores)
    for off in (
        cores[-1],
        union(cores[1::3]),
        machine.numa_nodes[-1].cpus & machine.online,
        second_threads,
    ):
        if off and off != machine.online:
            booted = read(trees.switched_off(files, off))
            by_inventory, _ = cpus.restore(booted, Planned("all", in_inventory(machine), off))
            assert to_yaml(hardware_spec(by_inventory)) == to_yaml(hardware_spec(machine))
            by_others, said = cpus.restore(booted, Planned(offlined=off))
            if by_others.online == machine.online:
                assert to_yaml(hardware_spec(by_others)) == to_yaml(hardware_spec(machine))
            else:
                assert by_others == booted
                assert "written as offline" in said[0]


def test_numbering_that_proves_nothing() -> None:
    """CPUs 4-7 of eight on a socket may be second threads or cores: threads where SMT is off."""
    files = trees.switched_off(trees.server(), CpuSet(range(4, 8)))
    files = {
        path: text.replace("1\n", "0\n") if "package" in path else text
        for path, text in files.items()
    }
    machine = read(files)._replace(sockets=dict.fromkeys(range(4), 0), caches=(), numa_nodes=())
    assert by_numbering(machine) is None
    whole = by_numbering(machine._replace(boot_arguments="quiet nosmt=force"))
    assert whole is not None
    assert [str(siblings) for siblings in whole.topology.cores.values()] == [
        "0,4",
        "1,5",
        "2,6",
        "3,7",
    ]


@pytest.mark.parametrize(
    ("line", "taken", "limit"),
    [
        ("quiet", 0, None),
        ("crashkernel=512M mem=4G", 512 << 20, 4 << 30),
        ("crashkernel=1G-4G:192M,4G-64G:256M,64G-:512M", 512 << 20, None),
        ("crashkernel=256M,high crashkernel=72M,low", 328 << 20, None),
        ("memmap=16G!4G memmap=64K$0x9f000,1M$2M", (16 << 30) + (64 << 10) + (1 << 20), None),
        ("mem=4G mem=8g mem=nopentium", 0, 4 << 30),
    ],
)
def test_memory_of_boot_arguments(line: str, taken: int, limit: int | None) -> None:
    assert (reductions.memory_taken(line), reductions.memory_limit(line)) == (taken, limit)


def test_huge_pages_of_boot_arguments() -> None:
    line = (
        "hugepages=3 default_hugepagesz=1G hugepagesz=2M "
        "hugepages=0:4,1:6 hugepagesz=1G hugepages=x"
    )
    assert reductions.huge_pages(line) == {2048: 10, 1048576: 3}
