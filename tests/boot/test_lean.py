"""Guests without systemd hold what was compiled, and do what their plans say."""

import re

import pytest

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.host import check
from cpuplan.check.roots.openings import root_of
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import nowhere
from cpuplan.components import derived
from cpuplan.diagnostics import Diagnostic
from cpuplan.plan import ConfiguredPlan
from tests import checked
from tests.boot import guests
from tests.boot.lean import booted

pytestmark = pytest.mark.boot
CPU = "sys/devices/system/cpu"


@pytest.fixture(params=booted.NODES)
def name(request: pytest.FixtureRequest) -> str:
    """A guest."""
    return str(request.param)


@pytest.fixture
def plan(name: str) -> ConfiguredPlan:
    """Its plan."""
    return guests.plan(name)


@pytest.fixture
def root(name: str, lean: booted.Lean) -> Root:
    """Its root, in the snapshot that the shipped script took."""
    return root_of(lean.seen(name) / booted.SNAPSHOT, name)


def test_every_script_of_a_unit_succeeds(name: str, lean: booted.Lean) -> None:
    assert not (lean.seen(name) / "failed").exists()


def test_the_script_of_snapshots_says_nothing(name: str, lean: booted.Lean) -> None:
    assert (lean.seen(name) / "said").read_text() == ""


def test_check_finds_nothing(name: str, plan: ConfiguredPlan, root: Root) -> None:
    expected = checked.expected(plan)
    answers = check(root, expected, name, nowhere)
    found = [answer.finding for answer in answers if answer.finding]
    isolated = expected.cpus(derived.ISOLATED)
    assert [finding for finding in found if not _is_moving(root, finding, isolated)] == []


def _is_moving(root: Root, finding: Diagnostic, isolated: CpuSet) -> bool:
    """Whether a finding is about interrupts that were moved and have not come since.

    The kernel moves one when it comes, which a guest without traffic may never see.
    """
    numbers = re.findall(r"(\d+) \(", finding.message) if finding.code == "CP873" else []
    wanted = [_cpus(root, f"proc/irq/{number}/smp_affinity_list") for number in numbers]
    return bool(wanted) and not any(cpus & isolated for cpus in wanted)


def test_the_snapshot_knows_its_node(name: str, root: Root) -> None:
    assert root.host_names()[0] == name


def test_the_kernel_has_the_cpus_of_the_plan(plan: ConfiguredPlan, root: Root) -> None:
    offlined = plan.pool("offlined").cpus
    assert _cpus(root, f"{CPU}/online") == plan.topology.online - offlined
    ticks = plan.settings.values("kernel").get("nohz_full", EMPTY)
    assert _cpus(root, f"{CPU}/nohz_full") == ticks
    apart = _cpus(root, f"{CPU}/isolated")
    assert apart == (EMPTY if plan.spec.isolation.by == "partitions" else _unbalanced(plan))


def test_interrupts_go_to_the_reserved_cpus(plan: ConfiguredPlan, root: Root) -> None:
    mask = root.read("proc/irq/default_smp_affinity")
    assert mask is not None
    assert CpuSet.parse_mask(mask) == plan.pool("reserved").cpus


def test_pages_are_on_their_numa_nodes(plan: ConfiguredPlan, root: Root) -> None:
    planned = checked.expected(plan).facts["huge pages"]
    assert isinstance(planned, dict)
    for node, sizes in planned.items():
        assert isinstance(sizes, dict)
        folder = f"sys/devices/system/node/node{node}/hugepages"
        found = {kib: root.read(f"{folder}/hugepages-{kib}kB/nr_hugepages") for kib in sizes}
        assert found == {kib: f"{count}\n" for kib, count in sizes.items()}


def _unbalanced(plan: ConfiguredPlan) -> CpuSet:
    if plan.spec.isolation.domain:
        return plan.pool("isolated").cpus | plan.pool("isolcpus").cpus
    return plan.pool("isolcpus").cpus


def _cpus(root: Root, path: str) -> CpuSet:
    text = (root.read(path) or "").strip()
    return CpuSet.parse_kernel("" if text == "(null)" else text)
