"""Files that say what software did to a machine."""

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.components import units
from cpuplan.importers.base import Marks
from cpuplan.importers.sysroot import reader
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import TarTree
from tests.machines import trees

UNITS = reader.UNITS


def read(files: dict[str, str]) -> Marks:
    machine, _, problems = sysroot.read_machine(
        TarTree(trees.tar({**trees.server(), **files}, "w"), "a.tar")
    )
    assert machine is not None
    assert not problems
    return machine.marks


def test_names_are_those_that_are_emitted() -> None:
    assert f"/{UNITS}" == units.UNIT_FOLDER
    assert reader.OFFLINE_UNIT == units.OFFLINE_UNIT


def test_units() -> None:
    pages = (
        "[Service]\nEnvironment=HUGEPAGES_COUNT=5\nEnvironment=HUGEPAGES_SIZE=2048\n"
        "Environment=NUMA_NODE=1\n"
    )
    marks = read(
        {
            f"{UNITS}/{reader.OFFLINE_UNIT}": '[Service]\nEnvironment="OFFLINE_CPUS=2,6"\n',
            f"{UNITS}/hugepages-allocation-2048kB-NUMA1.service": pages,
            f"{UNITS}/hugepages-allocation-1048576kB-NUMA0.service": pages.replace("=5", "=many"),
            "sys/devices/system/cpu/smt/control": "forceoff\n",
            reader.GRUB_DROP_IN: 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX nosmt mem=4G"\n',
        }
    )
    assert marks == Marks(CpuSet((2, 6)), {(1, 2048): 5}, True, "nosmt mem=4G")
    assert (
        read({f"{UNITS}/{reader.OFFLINE_UNIT}": "Environment=OFFLINE_CPUS=all\n"}).switched_off
        == EMPTY
    )
