"""One fact in every notation: an argument is judged the same, through whichever door it comes."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cpuplan import importers
from cpuplan.backends.openshift import checks as openshift
from cpuplan.components import derived, hugepages
from cpuplan.components.checks import kernel as checks
from cpuplan.diagnostics import Severity
from cpuplan.diagnostics.source import Position
from cpuplan.importers.documents import hardware_documents
from cpuplan.plan import ConfiguredPlan, boot_arguments
from cpuplan.simulate.planned import planned
from tests import checked, hosts
from tests.machines.plans import no_position, plan, regular
from tests.machines.trees import put
from tests.projects import run_in
from tests.unit.importers.must_gather.test_reader import MCO, gather

ROLE = "machineconfiguration.openshift.io/role"
#: Arguments without which the plan holds, and words of what is said of each; one line has all of a
#: row, for of some only the last one of a line counts.
BREAKING = [
    {
        "nosmt": "CPUs 4-7",
        "mitigations=auto,nosmt": "CPUs 4-7",
        "l1tf=full,force": "CPUs 4-7",
        "mds=full,nosmt": "CPUs 4-7",
        "tsx_async_abort=full,nosmt": "CPUs 4-7",
        "mmio_stale_data=full,nosmt": "CPUs 4-7",
        "retbleed=auto,nosmt": "CPUs 4-7",
        "maxcpus=4": "CPUs 4-7",
        "nr_cpus=6": "CPUs 6-7",
        "possible_cpus=2": "CPUs 2-7",
        "nosmp": "CPUs 1-7",
        "nolapic": "CPUs 1-7",
        "numa=off": "one NUMA node",
        "cgroup_disable=cpuset": "no control groups for cpuset",
        "systemd.unified_cgroup_hierarchy=0": "version 1",
        "acpi=off": "without ACPI",
        "noapic": "the oldest controller",
    },
    {
        "nosmt=force": "CPUs 4-7",
        "l1tf=flush,nosmt": "CPUs 4-7",
        "retbleed=unret,nosmt": "CPUs 4-7",
        "maxcpus=0": "CPUs 1-7",
        "numa=fake=4": "NUMA nodes are made up",
        "cgroup_disable=memory,cpu": "no control groups for memory, cpu",
    },
]
#: Those that cost what the plan is for; the plan holds.
COSTING = {
    "mem=64G": "no memory beyond it",
    "memmap=64G": "no memory beyond it",
    "notsc": "does not trust its clock",
    "clocksource=hpet": "reading the time is slow",
    "pci=nomsi": "one interrupt each",
}


def node(*arguments: str, spec: Mapping[str, Any] | None = None, **facts: object) -> ConfiguredPlan:
    """Two NUMA nodes with two cores of two threads each: siblings are 0 and 4.

    Its CPUs, Skylake servers, have every bug whose mitigation takes siblings.
    """
    return plan(
        topology=regular(sockets=2, cores=2, threads=2),
        reserved="0,4",
        isolated="1-3,5-7",
        model=85,
        facts=facts,
        spec={"kernel": {"extraArguments": list(arguments)}, **(spec or {})},
        target={"pool": "fast"},
    )


def of_own(arguments: list[str], _folder: Path) -> Iterator[tuple[str, str]]:
    made = node(*arguments)
    for problem in checks.problems(made, boot_arguments.own(made.node_class)):
        if problem.code in ("CP523", "CP5300"):
            yield problem.argument.text, problem.effect


INVENTORY = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: m}
spec:
  vendor: GenuineIntel
  modelNumber: 85
  regular: {sockets: 2, coresPerSocket: 2, threadsPerCore: 2, memoryPerNumaNode: 64Gi}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  hardware: m
  labels: {node-role.kubernetes.io/fast: ""}
  nodes: [{name: w-0}]
"""
PROFILE = """\
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: fast}
spec:
  cpu: {isolated: "1-3,5-7", reserved: "0,4"}
  nodeSelector: {node-role.kubernetes.io/fast: ""}
  additionalKernelArgs:
"""


def of_profile(
    arguments: list[str], folder: Path, capture: pytest.CaptureFixture[str]
) -> Iterator[tuple[str, str]]:
    """Each finding with the line that it points at."""
    lines = "".join(f"  - '{argument}'\n" for argument in arguments)
    put({"inventories/m.yaml": INVENTORY, "profile.yaml": PROFILE + lines}, folder)
    code, out, err = run_in(folder, ["validate", "profile.yaml"], capture)
    assert code == 1
    pattern = r"error\[CP(?:523|5300)\]: the argument (\S+) (.*)\n  --> .*\n +\d+ \|\s+- '(.*)'"
    for argument, effect, line in re.findall(pattern, out + err):
        assert argument == line
        yield argument, effect


def of_cluster_document(arguments: list[str], _folder: Path) -> Iterator[tuple[str, str]]:
    config = {"name": "60-site", "labels": {ROLE: "fast"}, "kernelArguments": arguments}
    yield from contradictions(node(machineConfigs=[config]))


def contradictions(made: ConfiguredPlan) -> Iterator[tuple[str, str]]:
    for diagnostic in openshift.check_pools([made], no_position):
        if diagnostic.code == "CP238":
            text = diagnostic.message.partition("pool fast ")[2].partition(", which contra")[0]
            yield text, diagnostic.label


MACHINE_CONFIG = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: 60-site, labels: {{machineconfiguration.openshift.io/role: fast}}}}
spec: {{kernelArguments: {arguments}}}
"""


def of_must_gather(arguments: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    gather(folder, ".", "worker-0")
    put({f"{MCO}/machineconfigs/60-site.yaml": MACHINE_CONFIG.format(arguments=arguments)}, folder)
    (*_, cluster) = hardware_documents(importers.run(None, [folder]))
    yield from contradictions(node(**cluster["spec"]))


def of_node(arguments: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    made = node()
    root = hosts.make_root(made, folder / "root")
    line = root / "proc/cmdline"
    line.write_text(line.read_text().rstrip() + " " + " ".join(arguments) + "\n")
    for diagnostic in checked.findings(root, made):
        if diagnostic.code == "CP815":
            text, _, effect = diagnostic.message.partition("booted with ")[2].partition(": ")
            yield text, effect


Door = Callable[[list[str], Path], Iterator[tuple[str, str]]]
DOORS: list[Door] = [of_own, of_cluster_document, of_must_gather]


@pytest.mark.parametrize("row", BREAKING)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_names_what_undoes_the_plan(
    door: Door, row: dict[str, str], tmp_path: Path
) -> None:
    told = dict(door(list(row), tmp_path))
    assert {argument: row[argument] in told[argument] for argument in told} == dict.fromkeys(
        row, True
    )


@pytest.mark.parametrize("row", BREAKING)
def test_a_profile_names_it_at_its_line(
    row: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = dict(of_profile(list(row), tmp_path, capsys))
    assert {argument: row[argument] in told[argument] for argument in told} == dict.fromkeys(
        row, True
    )


@pytest.mark.parametrize("row", BREAKING)
def test_a_node_names_it_by_its_effect(row: dict[str, str], tmp_path: Path) -> None:
    told = dict(of_node(list(row), tmp_path))
    assert told.keys() == row.keys()
    for argument, words in row.items():
        assert words in told[argument] or words.startswith("CPUs ")


@pytest.mark.parametrize("argument", COSTING)
def test_what_costs_is_a_warning_through_every_door(argument: str, tmp_path: Path) -> None:
    effect = COSTING[argument]
    config = {"name": "60-site", "labels": {ROLE: "fast"}, "kernelArguments": [argument]}
    of_others = openshift.check_pools([node(machineConfigs=[config])], no_position)
    own = checks.check(node(argument), no_position)
    codes = [
        (finding.code, finding.severity, effect in finding.message)
        for finding in (*of_others, *own)
        if finding.code in ("CP5301", "CP238")
    ]
    assert codes == [("CP5301", Severity.WARNING, True)] * 2
    assert effect in dict(of_node([argument], tmp_path))[argument]


@pytest.mark.parametrize(
    "argument",
    ["nosmt", "mitigations=auto,nosmt", "maxcpus=8", "nr_cpus=0", "numa=off", "mem=256G", "mem=0"],
)
def test_no_alarm_where_nothing_is_lost(argument: str) -> None:
    """One thread to a core, one NUMA node; a limit that the machine does not reach."""
    made = plan(
        topology=regular(sockets=1, cores=8),
        spec={"kernel": {"extraArguments": [argument]}},
    )
    assert list(checks.problems(made, boot_arguments.own(made.node_class))) == []


@pytest.mark.parametrize(
    ("vendor", "model", "argument", "codes"),
    [
        ("GenuineIntel", 143, "mitigations=auto,nosmt", []),  # Sapphire Rapids has none of the bugs
        ("GenuineIntel", 106, "mitigations=auto,nosmt", ["CP523"]),  # Ice Lake: MMIO stale data
        ("GenuineIntel", 106, "l1tf=full,force", []),
        ("GenuineIntel", None, "l1tf=full,force", ["CP523"]),
        ("AuthenticAMD", None, "mds=full,nosmt", []),
        ("AuthenticAMD", None, "mitigations=auto,nosmt", ["CP5301"]),
        ("GenuineIntel", 85, "mitigations=auto", []),
        ("GenuineIntel", 85, "l1tf=flush", []),
    ],
)
def test_mitigations_take_siblings_of_cpus_with_the_bug(
    vendor: str, model: int | None, argument: str, codes: list[str]
) -> None:
    made = plan(
        topology=regular(sockets=1, cores=4, threads=2),
        vendor=vendor,
        model=model,
        spec={"kernel": {"extraArguments": [argument]}},
    )
    told = [problem.code for problem in checks.problems(made, boot_arguments.own(made.node_class))]
    assert told == codes


def test_the_last_one_holds_where_the_kernel_takes_the_last() -> None:
    made = node("mitigations=auto,nosmt", "mitigations=auto", "maxcpus=2", "maxcpus=8")
    assert list(checks.problems(made, boot_arguments.own(made.node_class))) == []
    made = node("nr_cpus=2", "nr_cpus=8")
    assert [
        problem.argument.text
        for problem in checks.problems(made, boot_arguments.own(made.node_class))
    ] == ["nr_cpus=2"]


@pytest.mark.parametrize("door", ["own", "of others"])
def test_memory_is_what_mem_leaves_of_the_last_numa_nodes(door: str) -> None:
    """The kernel cuts off the highest addresses; of several limits the smallest holds."""
    arguments = ["mem=80G", "memmap=96G"]
    config = {"name": "60-site", "labels": {ROLE: "fast"}, "kernelArguments": arguments}
    made = node(*arguments) if door == "own" else node(machineConfigs=[config])
    gib = 1024**3
    assert [fact.memory for fact in made.topology.numa_facts.values()] == [64 * gib, 16 * gib]
    assert [zone.memory for zone in planned(made).machine.memory] == [64 * gib, 16 * gib]


PAGES = ["default_hugepagesz=1GB", "hugepagesz=1048576k", "hugepages=41"]


@pytest.mark.parametrize("door", ["own", "of others", "field"])
def test_huge_pages_are_counted_in_every_notation(door: str) -> None:
    config = {"name": "60-site", "labels": {ROLE: "fast"}, "kernelArguments": PAGES}
    if door == "field":
        made = node(spec={"hugePages": {"pages": [{"size": "1G", "count": 41}]}})
    else:
        made = node(*PAGES) if door == "own" else node(machineConfigs=[config])
    facts = derived.facts(made)
    assert facts[derived.HUGE_PAGES] == {"0": {"1048576": 21}, "1": {"1048576": 20}}
    assert facts[derived.ANYWHERE] == {"1048576": 41}
    assert derived.amounts(made)["hugepages-1Gi"] == {"capacity": "41Gi", "allocatable": "41Gi"}
    assert [dict(zone.hugepages) for zone in planned(made).machine.memory] == [
        {1048576: 21},
        {1048576: 20},
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "column"),
    [
        (["hugepagesz=1G", "hugepages=140"], "CP543", 1),
        (["hugepagesz=1G", "hugepages=0:70,1:4"], "CP543", 1),
        (["hugepagesz=1G", "hugepages=0:4,2:4"], "CP542", 1),
        (["hugepagesz=3G", "hugepages=4"], "CP540", 0),
        (["hugepagesz=1G", "hugepages=4", "hugepages=8"], "CP536", 2),
        (["hugepagesz=1G", "hugepages=4", "hugepagesz=1G", "hugepages=8"], "CP536", 2),
        (["mem=32G", "hugepagesz=1G", "hugepages=40"], "CP543", 2),
    ],
)
@pytest.mark.parametrize("door", ["own", "of others"])
def test_pages_that_cannot_be(arguments: list[str], code: str, column: int, door: str) -> None:
    config = {"name": "60-site", "labels": {ROLE: "fast"}, "kernelArguments": arguments}
    made = node(*arguments) if door == "own" else node(machineConfigs=[config])
    places: list[str] = []

    def locate(place: str) -> Position:
        places.append(place)
        return Position(place, 1, 1)

    own, others = "Intent/ran:spec.kernel.extra", "machineConfigs.0.kernel"
    told = [finding for finding in hugepages.check(made, locate) if finding.code == code]
    assert told[0].position
    assert told[0].position.path.endswith(f"Arguments.{column}")
    assert (own if door == "own" else others) in told[0].position.path


@pytest.mark.parametrize("again", ["default_hugepagesz=1048576k", "hugepagesz=1GB"])
def test_a_node_is_not_accused_of_the_same_size_again(again: str, tmp_path: Path) -> None:
    """A profile may say both: the kernel takes the first, and the other changes nothing."""
    made = node(*PAGES)
    root = hosts.make_root(made, tmp_path)
    line = root / "proc/cmdline"
    line.write_text(f"{line.read_text().rstrip()} {again}\n")
    told = checked.findings(root, made)
    assert not [finding for finding in told if finding.code in ("CP812", "CP813", "CP815")]
