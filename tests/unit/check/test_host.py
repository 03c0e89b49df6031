"""A node that holds everything has no finding.

A node with one fact changed has exactly one, at that fact.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.check.roots.root import Root
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.codes import successors
from cpuplan.pipeline import Project
from cpuplan.plan import ConfiguredPlan
from tests import checked
from tests.hosts import CPU, make_root
from tests.machines.plans import plan, regular
from tests.projects import REPOSITORY
from tests.unprivileged import unprivileged


@pytest.fixture(scope="module")
def sample() -> tuple[Project, dict[str, ConfiguredPlan]]:
    """The sample project and its plans by node."""
    project = pipeline.load(REPOSITORY)
    plan, problems = pipeline.solve(project)
    assert not problems
    return project, {node: expected for (_, node), expected in plan.by_node.items()}


Sample = tuple[Project, dict[str, ConfiguredPlan]]
NODES = ["worker1.internal", "worker2.internal", "master.internal", "du-00", "core-0"]


def findings(sample: Sample, node: str, root: Path) -> list[Diagnostic]:
    project, plans = sample
    return checked.findings(root, plans[node], project.locate)


@pytest.mark.parametrize("node", NODES)
def test_node_that_holds_everything(sample: Sample, node: str, tmp_path: Path) -> None:
    assert findings(sample, node, make_root(sample[1][node], tmp_path)) == []


def replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    """A change of one text in one file."""

    def change(root: Path) -> None:
        text = (root / path).read_text()
        assert old in text
        (root / path).write_text(text.replace(old, new, 1))

    return change


def remove(path: str) -> Callable[[Path], None]:
    return lambda root: (root / path).unlink()


def write(path: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).write_text(text)

    return change


CRIO = "etc/crio/crio.conf.d"
MIXED = "etc/kubernetes/openshift-workload-mixed-cpus"
KUBELET = "etc/kubernetes/kubelet.conf"
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MUTATIONS = [
    ("CP801", "worker1.internal", remove(f"{CPU}/online"), None),
    ("CP802", "worker1.internal", write(f"{CPU}/present", "0-78\n"), f"{CPU}/present:1:1"),
    ("CP803", "core-0", write(f"{CPU}/online", "0-127\n"), f"{CPU}/online:1:1"),
    (
        "CP804",
        "worker1.internal",
        write(f"{CPU}/cpu9/topology/thread_siblings_list", "8-9\n"),
        None,
    ),
    ("CP810", "worker1.internal", remove("proc/cmdline"), None),
    ("CP811", "worker1.internal", replace("proc/cmdline", " nosoftlockup", ""), "proc/cmdline:1:1"),
    (
        "CP812",
        "worker1.internal",
        replace("proc/cmdline", "rcu_nocbs=5,7-39", "rcu_nocbs=5,7-38"),
        None,
    ),
    ("CP812", "worker1.internal", replace("proc/cmdline", "hugepages=32", "hugepages=16"), None),
    ("CP813", "du-00", replace("proc/cmdline", "ro ", "ro nohz_full=1-3 "), None),
    ("CP814", "du-00", write(f"{CPU}/isolated", "\n"), f"{CPU}/isolated:1:1"),
    ("CP820", "worker1.internal", remove(KUBELET), None),
    ("CP821", "worker1.internal", write("etc/kubernetes/kubelet.conf.d/99.conf", "a: ["), None),
    ("CP822", "worker1.internal", replace(KUBELET, "cpuManagerPolicy: static\n", ""), None),
    (
        "CP823",
        "worker1.internal",
        replace(KUBELET, "ManagerPolicy: single-", "ManagerPolicy: x-"),
        None,
    ),
    (
        "CP823",
        "du-00",
        write("etc/kubernetes/kubelet.conf.d/99.conf", f"{HEAD}cpuManagerPolicy: none"),
        None,
    ),
    (
        "CP831",
        "worker1.internal",
        write(f"{CRIO}/backup~", "# once\nthis is no TOML"),
        f"{CRIO}/backup~:2:6",
    ),
    (
        "CP833",
        "worker1.internal",
        write(f"{CRIO}/zz.conf", '[crio.runtime]\nshared_cpuset = "4"\n'),
        f"{CRIO}/zz.conf:2:1",
    ),
    (
        "CP832",
        "worker1.internal",
        replace(f"{CRIO}/99-runtimes.conf", "shared_cpuset", "# shared_cpuset"),
        None,
    ),
    ("CP840", "worker1.internal", remove(MIXED), None),
    ("CP841", "worker1.internal", write(MIXED, "{"), f"{MIXED}:1:2"),
    ("CP842", "worker1.internal", replace(MIXED, "256", "25"), f"{MIXED}:3:6"),
]


def causes(reported: list[Diagnostic]) -> list[str]:
    """The codes, without the consequence that the kubelet does not start with what differs."""
    codes = [finding.code for finding in reported]
    return [code for code in codes if code != "CP829"] or codes


@pytest.mark.parametrize(
    ("code", "node", "mutate", "place"), MUTATIONS, ids=lambda value: str(value)[:12]
)
def test_one_changed_fact(
    sample: Sample,
    tmp_path: Path,
    code: str,
    node: str,
    mutate: Callable[[Path], None],
    place: str | None,
) -> None:
    root = make_root(sample[1][node], tmp_path)
    (root / "etc/kubernetes/kubelet.conf.d").mkdir(parents=True, exist_ok=True)
    mutate(root)
    reported = findings(sample, node, root)
    assert causes(reported) == [code]
    if place:
        assert str(reported[0].position) == f"{root}/{place}"


def test_a_finding_names_the_statement_that_it_contradicts(sample: Sample, tmp_path: Path) -> None:
    root = make_root(sample[1]["worker1.internal"], tmp_path)
    write(f"{CRIO}/zz.conf", '[crio.runtime]\nshared_cpuset = "4"\n')(root)
    (finding,) = findings(sample, "worker1.internal", root)
    assert finding.message == "shared_cpuset of CRI-O is 4; it should be 4,6,44,46"
    assert [str(label.position) for label in finding.labels] == ["intents/lab.yaml:41:14"]


def test_links_stay_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/real").write_text("inside")
    (tmp_path / "real").write_text("outside")
    (tmp_path / "root/etc/absolute").symlink_to("/real")
    (tmp_path / "root/etc/climbing").symlink_to("../../../../real")
    (tmp_path / "root/etc/loop").symlink_to("loop")
    root = Root(tmp_path / "root")
    assert root.read("etc/absolute") == "inside"
    assert root.read("etc/climbing") == "inside"
    assert not root.refused
    assert root.read("etc/loop") is None
    assert root.refused == {str(tmp_path / "root/etc/loop"): "its links are circular"}
    assert root.shown("etc/climbing") == str(tmp_path / "root/real")


def pipe(path: str) -> Callable[[Path], None]:
    return lambda root: os.mkfifo(root / path)


def link(path: str, target: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(target)

    return change


def device(path: str) -> Callable[[Path], None]:
    """A link to one, which the root has as the host has."""

    def change(root: Path) -> None:
        os.mkfifo(root / "zero")
        link(path, "/zero")(root)

    return change


UNVERIFIABLE = [
    ("worker1.internal", pipe(f"{CRIO}/99-z.conf"), "it is a pipe, not a file"),
    ("worker1.internal", device(f"{CRIO}/99-z.conf"), "it is a pipe, not a file"),
    ("worker1.internal", link(f"{CRIO}/99-z.conf", "99-z.conf"), "its links are circular"),
    ("worker1.internal", link(f"{CRIO}/99-z.conf", "."), "it is a folder, not a file"),
    (
        "worker1.internal",
        lambda root: os.truncate(root / KUBELET, 1 << 40),
        "it has more than 1,048,576 bytes",
    ),
    ("worker1.internal", link(KUBELET, "kubelet.conf"), "its links are circular"),
    ("worker1.internal", link("proc/cmdline", "../sys"), "it is a folder, not a file"),
    (
        "worker1.internal",
        write("proc/cmdline", "a=1 " * 20_000),
        "it is longer than any kernel's command line",
    ),
    ("worker1.internal", write(f"{CPU}/present", "no list"), "it holds no list of CPUs"),
    ("worker1.internal", write(f"{CPU}/isolated", "\x1b[2J"), "it holds no list of CPUs"),
    ("worker1.internal", write(f"{CPU}/online", "0-99999999"), "it holds no list of CPUs"),
]


@pytest.mark.parametrize(
    ("node", "mutate", "problem"), UNVERIFIABLE, ids=map(str, range(len(UNVERIFIABLE)))
)
def test_what_cannot_be_read_is_neither_right_nor_wrong(
    sample: Sample, tmp_path: Path, node: str, mutate: Callable[[Path], None], problem: str
) -> None:
    root = make_root(sample[1][node], tmp_path)
    mutate(root)
    reported = findings(sample, node, root)
    assert [finding.code for finding in reported] == ["CP805"]
    assert reported[0].message.endswith(f" exists but cannot be read: {problem}")


@pytest.mark.parametrize("path", ["var/lib/kubelet", f"{CRIO}", "proc", CPU, "sys", "etc", "."])
def test_folders_of_another_user(sample: Sample, tmp_path: Path, path: str) -> None:
    """/var/lib/kubelet is root's on every node."""
    made = make_root(sample[1]["du-00"], tmp_path / "node")
    (made / path).chmod(0o000)
    with unprivileged(tmp_path):
        reported = findings(sample, "du-00", made)
    (made / path).chmod(0o755)
    assert reported
    assert {finding.code for finding in reported} == {"CP805"}
    assert all("Permission denied" in finding.message for finding in reported)


def test_a_tree_of_links_is_not_walked(sample: Sample, tmp_path: Path) -> None:
    """CRI-O does not follow links to folders: two of them would be 2^40 ways."""
    root = make_root(sample[1]["worker1.internal"], tmp_path)
    for name in ("a", "b"):
        (root / CRIO / name).symlink_to(".")
    reported = findings(sample, "worker1.internal", root)
    assert [finding.code for finding in reported] == ["CP805", "CP805"]


@pytest.mark.parametrize(
    ("path", "code"), [(f"{CRIO}/z", "CP831"), ("etc/kubernetes/kubelet.conf.d/z.conf", "CP821")]
)
def test_a_drop_in_that_is_a_link_to_nothing_stops_its_program(
    sample: Sample, tmp_path: Path, path: str, code: str
) -> None:
    root = make_root(sample[1]["worker1.internal"], tmp_path)
    (root / path).parent.mkdir(exist_ok=True)
    link(path, "/nowhere")(root)
    assert [finding.code for finding in findings(sample, "worker1.internal", root)] == [code]


def test_drop_ins_below_the_folder_count(sample: Sample, tmp_path: Path) -> None:
    """Both programs walk their folders (filepath.Walk)."""
    for folder, text, code in (
        (f"{CRIO}/zz", '[crio.runtime]\nshared_cpuset = "4"\n', "CP833"),
        ("etc/kubernetes/kubelet.conf.d/zz", f"{HEAD}cpuManagerPolicy: none\n", "CP823"),
    ):
        root = make_root(sample[1]["worker1.internal"], tmp_path / code)
        (root / folder).mkdir(parents=True)
        write(f"{folder}/1.conf", text)(root)
        assert causes(findings(sample, "worker1.internal", root)) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "a: &a [*a]",
        "a: !!int ''",
        "a: !!bool x",
        "a: !!timestamp x",
        f"a: {'9' * 5000}",
    ],
)
def test_configurations_that_no_reader_can_take(sample: Sample, tmp_path: Path, text: str) -> None:
    root = make_root(sample[1]["worker1.internal"], tmp_path)
    write(KUBELET, text)(root)
    reported = findings(sample, "worker1.internal", root)
    assert reported[0].code == "CP821"


def test_a_kernel_without_the_file_of_an_argument(sample: Sample, tmp_path: Path) -> None:
    root = make_root(sample[1]["du-00"], tmp_path)
    (root / CPU / "nohz_full").unlink()
    assert [finding.code for finding in findings(sample, "du-00", root)] == ["CP806"]


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (replace("proc/cmdline", "isolcpus=managed_irq,", "isolcpus=managed_irq,0,"), ["CP812"]),
        (replace("proc/cmdline", " isolcpus=domain,", " x="), ["CP812"]),
        (
            replace("proc/cmdline", " isolcpus=domain,", " isolcpus=domain,1 isolcpus=domain,"),
            ["CP812"],
        ),
        (replace("proc/cmdline", "ro ", "ro isolcpus=nohz,1 "), ["CP812"]),
        (write(f"{CPU}/isolated", "\n"), ["CP814"]),
    ],
)
def test_isolcpus_has_a_list_for_each_flag(
    tmp_path: Path, change: Callable[[Path], None], codes: list[str]
) -> None:
    project = pipeline.load(REPOSITORY / "tests/cases/kernel-isolated")
    plan, _ = pipeline.solve(project)
    node = plan.nodes[0]
    root = make_root(node, tmp_path)
    assert checked.findings(root, node, project.locate) == []
    change(root)
    assert [finding.code for finding in checked.findings(root, node, project.locate)] == codes


def test_the_wanted_cpus_are_named_with_those_that_are_off(sample: Sample, tmp_path: Path) -> None:
    """CP802 tells every CPU that the hardware has."""
    node = "worker1.internal"
    root = make_root(sample[1][node], tmp_path)
    write(f"{CPU}/present", "0-78\n")(root)
    [finding] = [
        diagnostic for diagnostic in findings(sample, node, root) if diagnostic.code == "CP802"
    ]
    topology = sample[1][node].topology
    assert str(topology.online | topology.offline) in f"{finding.message} {finding.remedy}"


@pytest.mark.parametrize(
    ("listed", "codes"),
    [
        pytest.param("3", [], id="the kernel lists the siblings that are online"),
        pytest.param("2-3", ["CP804"], id="another core's"),
        pytest.param("3,7", ["CP804"], id="one that should be off"),
    ],
)
def test_an_offlined_cpu_is_no_sibling(tmp_path: Path, listed: str, codes: list[str]) -> None:
    node = plan(regular(cores=4, threads=2), offlined="7")
    root = make_root(node, tmp_path)
    write(f"{CPU}/cpu3/topology/thread_siblings_list", f"{listed}\n")(root)
    assert [finding.code for finding in checked.findings(root, node)] == codes


def test_siblings_of_a_cpu_that_is_off_are_not_compared(tmp_path: Path) -> None:
    """A file that stayed from before tells nothing."""
    node = plan(regular(cores=4, threads=2), offlined="7")
    root = make_root(node, tmp_path)
    path = root / CPU / "cpu7/topology/thread_siblings_list"
    path.parent.mkdir(parents=True)
    path.write_text("3,7\n")
    assert checked.findings(root, node) == []


def test_what_follows_from_a_boot_without_arguments_and_a_runtime_is_not_said_too(
    tmp_path: Path,
) -> None:
    """One cause is one finding."""
    node = plan(platform="kubernetes", version="1.34")
    root = make_root(node, tmp_path)
    for old in sorted((root / "etc/crio").rglob("*"), reverse=True):
        old.rmdir() if old.is_dir() else old.unlink()
    for path, text in {
        "proc/cmdline": "quiet\n",
        "sys/devices/virtual/workqueue/cpumask": "ff\n",
        "usr/bin/env": "ELF",
        "proc/irq/9/smp_affinity_list": "0-7\n",
        "proc/irq/9/effective_affinity_list": "7\n",
        "proc/interrupts": "     CPU0\n  9:  1  PCI-MSI  virtio1-req.0\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    codes = {finding.code for finding in checked.findings(root, node)}
    assert {"CP811", "CP830"} <= codes
    assert not codes & {"CP834", "CP837", "CP838", "CP868", *successors("CP872")}
