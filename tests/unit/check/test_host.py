"""A node that holds everything has no finding; a node with one fact changed has exactly one, at that fact."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.check.host import check
from cpuplan.check.root import Root
from cpuplan.diagnostics import Diagnostic
from cpuplan.pipeline import Project
from cpuplan.plan import NodePlan
from tests.hosts import CPU, make_root
from tests.projects import REPOSITORY


@pytest.fixture(scope="module")
def sample() -> tuple[Project, dict[str, NodePlan]]:
    """The sample project and its plans by node."""
    project = pipeline.load(REPOSITORY)
    plan, problems = pipeline.solve(project)
    assert not problems
    return project, {node: found for (_, node), found in plan.by_node.items()}


Sample = tuple[Project, dict[str, NodePlan]]
NODES = ["worker1.internal", "worker2.internal", "master.internal", "du-00", "core-0"]


def findings(sample: Sample, node: str, root: Path) -> list[Diagnostic]:
    project, plans = sample
    return check(Root(root), plans[node], project.locate)


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
MUTATIONS = [
    ("CP801", "worker1.internal", remove(f"{CPU}/online"), None),
    ("CP802", "worker1.internal", write(f"{CPU}/present", "0-78\n"), f"{CPU}/present:1:1"),
    ("CP803", "core-0", write(f"{CPU}/online", "0-127\n"), f"{CPU}/online:1:1"),
    ("CP804", "worker1.internal", write(f"{CPU}/cpu9/topology/thread_siblings_list", "8-9\n"), None),
    ("CP810", "worker1.internal", remove("proc/cmdline"), None),
    ("CP811", "worker1.internal", replace("proc/cmdline", " nosoftlockup", ""), "proc/cmdline:1:1"),
    ("CP812", "worker1.internal", replace("proc/cmdline", "rcu_nocbs=5,7-39", "rcu_nocbs=5,7-38"), None),
    ("CP812", "worker1.internal", replace("proc/cmdline", "hugepages=32", "hugepages=16"), None),
    ("CP813", "du-00", replace("proc/cmdline", "ro ", "ro nohz_full=1-3 "), None),
    ("CP814", "du-00", write(f"{CPU}/isolated", "\n"), f"{CPU}/isolated:1:1"),
    ("CP820", "worker1.internal", remove(KUBELET), None),
    ("CP821", "worker1.internal", write("etc/kubernetes/kubelet.conf.d/99.conf", "a: ["), None),
    ("CP822", "worker1.internal", replace(KUBELET, "cpuManagerPolicy: static\n", ""), None),
    ("CP823", "worker1.internal", replace(KUBELET, "ManagerPolicy: single-", "ManagerPolicy: x-"), None),
    ("CP823", "du-00", write("etc/kubernetes/kubelet.conf.d/99.conf", "evictionHard: {memory.available: 5%}"), None),
    ("CP831", "worker1.internal", write(f"{CRIO}/backup~", "# once\nthis is no TOML"), f"{CRIO}/backup~:2:6"),
    ("CP833", "worker1.internal", write(f"{CRIO}/zz", '[crio.runtime]\nshared_cpuset = "4"\n'), f"{CRIO}/zz:2:1"),
    ("CP832", "worker1.internal", replace(f"{CRIO}/99-runtimes.conf", "shared_cpuset", "shared_cpu_set"), None),
    ("CP840", "worker1.internal", remove(MIXED), None),
    ("CP841", "worker1.internal", write(MIXED, "{"), f"{MIXED}:1:2"),
    ("CP842", "worker1.internal", replace(MIXED, "256", "25"), f"{MIXED}:3:6"),
]


@pytest.mark.parametrize(("code", "node", "mutate", "place"), MUTATIONS, ids=lambda value: str(value)[:12])
def test_one_changed_fact(
    sample: Sample, tmp_path: Path, code: str, node: str, mutate: Callable[[Path], None], place: str | None
) -> None:
    root = make_root(sample[1][node], tmp_path)
    (root / "etc/kubernetes/kubelet.conf.d").mkdir(parents=True, exist_ok=True)
    mutate(root)
    found = findings(sample, node, root)
    assert [finding.code for finding in found] == [code]
    if place:
        assert str(found[0].position) == f"{root}/{place}"


def test_a_finding_names_the_statement_that_it_contradicts(sample: Sample, tmp_path: Path) -> None:
    root = make_root(sample[1]["worker1.internal"], tmp_path)
    write(f"{CRIO}/zz", '[crio.runtime]\nshared_cpuset = "4"\n')(root)
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
    assert root.read("etc/loop") is None


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (replace("proc/cmdline", "isolcpus=managed_irq,", "isolcpus=managed_irq,0,"), ["CP812"]),
        (replace("proc/cmdline", " isolcpus=domain,", " x="), ["CP812"]),
        (replace("proc/cmdline", " isolcpus=domain,", " isolcpus=domain,1 isolcpus=domain,"), ["CP812"]),
        (replace("proc/cmdline", "ro ", "ro isolcpus=nohz,1 "), ["CP812"]),
        (write(f"{CPU}/isolated", "\n"), ["CP814"]),
    ],
)
def test_isolcpus_has_a_list_for_each_flag(tmp_path: Path, change: Callable[[Path], None], codes: list[str]) -> None:
    project = pipeline.load(REPOSITORY / "tests/cases/kernel-isolated")
    plan, _ = pipeline.solve(project)
    node = plan.nodes[0]
    root = make_root(node, tmp_path)
    assert check(Root(root), node, project.locate) == []
    change(root)
    assert [each.code for each in check(Root(root), node, project.locate)] == codes
