"""How much less or more memory than built in is no difference.

It is 1/32 and 256 MiB, and 512 MiB of a crash kernel.
"""

from pathlib import Path

import pytest

from cpuplan.check.machine.presence import memory
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked
from tests.hosts import CPU
from tests.machine_root import NODES, make_machine
from tests.machines.plans import plan, regular

MIB = 1024**2
BUILT_IN = 16 * 1024


def node() -> ConfiguredPlan:
    return plan(regular(memory=BUILT_IN * MIB), platform="kubernetes", version="1.34")


def answer(root: Path, mib: int, arguments: str = "") -> Answer:
    """The answer of a node whose kernel counts so much."""
    make_machine(node(), root)
    (root / f"{NODES}/node0/meminfo").write_text(f"Node 0 MemTotal: {mib * 1024} kB\n")
    (root / "proc/cmdline").write_text(f"ro {arguments}\n")
    (only,) = memory(checked.subject(root, node()))
    return only


@pytest.mark.parametrize(
    ("mib", "arguments", "is_held"),
    [
        (BUILT_IN, "", True),
        (BUILT_IN - 512 - 256, "", True),
        (BUILT_IN - 512 - 257, "", False),
        (BUILT_IN - 512 - 257, "crashkernel=auto", True),
        (BUILT_IN - 512 - 256 - 512, "crashkernel=512M", True),
        (BUILT_IN - 512 - 257 - 512, "crashkernel=512M", False),
        (BUILT_IN + 512 + 256, "", True),
        (BUILT_IN + 512 + 257, "", False),
        (BUILT_IN + 512 + 256 + 512, "crashkernel=512M", True),
        (BUILT_IN + 512 + 257 + 512, "crashkernel=512M", False),
    ],
)
def test_what_the_kernel_keeps_for_itself(
    tmp_path: Path, mib: int, arguments: str, is_held: bool
) -> None:
    assert (answer(tmp_path, mib, arguments).verdict is Verdict.HELD) is is_held


def test_a_module_less_is_said_in_whole_units(tmp_path: Path) -> None:
    finding = answer(tmp_path, BUILT_IN - 4096).finding
    assert finding
    assert "NUMA node 0 has 12Gi of memory instead of 16Gi" in finding.message


def test_both_amounts_are_shown_where_they_agree(tmp_path: Path) -> None:
    held = answer(tmp_path, BUILT_IN - 256)
    assert (held.expected, held.observed) == ("16Gi", "16128Mi")


def test_another_machine_says_nothing_of_memory(tmp_path: Path) -> None:
    make_machine(node(), tmp_path)
    (tmp_path / f"{CPU}/present").write_text("0-63\n")
    assert list(memory(checked.subject(tmp_path, node()))) == []
