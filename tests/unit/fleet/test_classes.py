"""Which nodes there are, who claims them, and which are the same."""

from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet
from tests.projects import make_project


def edit(project: Path, name: str, old: str, new: str) -> None:
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new))


def classes(project: Path) -> list[tuple[str, tuple[str, ...]]]:
    loaded = pipeline.load(project)
    assert not [finding.code for finding in loaded.diagnostics if finding.severity.value == "error"]
    return [(node_class.name, node_class.nodes) for node_class in loaded.classes]


SITE = "inventories/site.yaml"
INTENT = "intents/main.yaml"


def test_nodes_of_one_hardware_are_one_class(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert classes(project) == [("main-small", ("worker-0", "worker-1"))]


def test_groups_of_one_hardware_are_joined(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    edit(
        project,
        SITE,
        "labels: {role: worker}",
        "labels: {role: worker}\n  - {name: extra, labels: {role: worker}}",
    )
    assert classes(project) == [("main-small", ("extra", "worker-0", "worker-1"))]


def test_offline_cpus_make_a_class_of_their_own(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    group = '  - {name: odd, labels: {role: worker}, offline: "3,11"}'
    edit(project, SITE, "labels: {role: worker}", "labels: {role: worker}\n" + group)
    assert classes(project) == [
        ("main-small", ("worker-0", "worker-1")),
        ("main-small-offline-3.11", ("odd",)),
    ]
    odd = pipeline.load(project).classes[1].topology
    assert str(odd.online) == "0-2,4-10,12-15"
    assert str(odd.offline) == "3,11"


@pytest.mark.parametrize(
    ("selector", "nodes"),
    [
        ("{}", ("worker-0", "worker-1")),
        ("{clusters: [lab]}", ("worker-0", "worker-1")),
        ("{nodes: [worker-1]}", ("worker-1",)),
        ('{nodes: ["worker-[0-7]"]}', ("worker-0", "worker-1")),
        ('{nodes: ["*-0"]}', ("worker-0",)),
        ("{matchLabels: {role: worker}, nodes: [worker-0]}", ("worker-0",)),
    ],
)
def test_selectors(tmp_path: Path, selector: str, nodes: tuple[str, ...]) -> None:
    project = make_project(tmp_path)
    edit(project, INTENT, "selector:\n    matchLabels: {role: worker}", f"selector: {selector}")
    assert classes(project) == [("main-small", nodes)]


def test_the_first_target_of_a_cluster_is_taken(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    targets = (
        '  - {platform: openshift, version: "4.20", pool: du, clusters: [other]}\n'
        "  - platform: kubernetes"
    )
    edit(project, INTENT, "  - platform: kubernetes", targets)
    (only,) = pipeline.load(project).classes
    assert only.target.platform == "kubernetes"


@pytest.mark.parametrize(
    ("reserved", "online"),
    [("{cores: 1, per: numaNode}", "0-7"), ('"0,4"', "0-7"), ('"0,8"', "0-8")],
)
def test_nosmt_leaves_one_thread_of_each_core(tmp_path: Path, reserved: str, online: str) -> None:
    """And the threads that somebody lists, so that what is wrong with them can be said (CP523)."""
    project = make_project(tmp_path)
    edit(project, INTENT, "{cores: 1, per: numaNode}", reserved)
    edit(project, INTENT, "  pools:", "  kernel: {extraArguments: [nosmt]}\n  pools:")
    (only,) = pipeline.load(project).classes
    assert str(only.topology.online) == online
    assert only.topology.online | only.topology.offline == CpuSet(range(16))


POOL = '  - {platform: openshift, version: "4.20", pool: du}\n'
#: A second server model, of the same two sockets.
OTHER = """\
---
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: other}
spec:
  vendor: %s
  topology:
    cores: [{threads: [0-7, 8-15], ids: ["0,2,4,6,0,2,4,6"]}]
    sockets: [{id: 0, cpus: "0-3,8-11"}, {id: 1, cpus: "4-7,12-15"}]
    numaNodes:
    - {id: 0, cpus: "0-3,8-11", memory: %s}
    - {id: 1, cpus: "4-7,12-15", memory: 16Gi}
"""


@pytest.mark.parametrize(
    ("vendor", "memory", "wanted"),
    [
        ("GenuineIntel", "16Gi", []),
        ("GenuineIntel", "64Gi", []),
        ("AuthenticAMD", "16Gi", ["CP227"]),
        # the first NUMA node has no room for all that is reserved
        ("GenuineIntel", "512Mi", ["CP227"]),
    ],
)
def test_nodes_of_a_pool_must_get_the_same_files(
    tmp_path: Path, vendor: str, memory: str, wanted: list[str]
) -> None:
    """Core ids and memory may differ."""
    project = make_project(tmp_path)
    site = (project / SITE).read_text()
    group = "  - {name: odd, hardware: other, labels: {role: worker}}\n"
    (project / SITE).write_text(site + group + OTHER % (vendor, memory))
    text = (project / INTENT).read_text()
    head, _, _ = text.partition("  - platform: kubernetes")
    restricted = (
        "  kubelet: {topologyManagerPolicy: restricted}\n  pools:\n"
        "    reserved: {cores: 1, per: numaNode}\n"
    )
    (project / INTENT).write_text(head + POOL + restricted)
    compiled = pipeline.compile_project(pipeline.load(project))
    assert [
        finding.code for finding in compiled.diagnostics if finding.severity.value == "error"
    ] == wanted


SAME_FAULT = '  - {name: odder, labels: {role: worker}, offline: "99"}\n'


@pytest.mark.parametrize(
    ("groups", "codes"),
    [
        ('  - {name: odd, hardware: none, labels: {role: worker}, offline: "3"}\n', ["CP222"]),
        # Of machines with the same fault, the first is named.
        (
            '  - {name: "odd-[0-1]", labels: {role: worker}, offline: "99"}\n' + SAME_FAULT,
            ["CP231"],
        ),
    ],
)
def test_nodes_without_a_machine_are_in_no_class(
    tmp_path: Path, groups: str, codes: list[str]
) -> None:
    project = make_project(tmp_path)
    site = (project / SITE).read_text()
    (project / SITE).write_text(site + groups)
    loaded = pipeline.load(project)
    assert [finding.code for finding in loaded.diagnostics] == codes
    assert [node_class.nodes for node_class in loaded.classes] == [("worker-0", "worker-1")]


@pytest.mark.parametrize(
    ("near", "number"),
    [
        ("  pools:\n    shared: {cores: 1, near: {class: gpu}}\n", 2),
        ("  pools:\n    shared: {cores: 1, perDevice: {class: gpu}}\n", 2),
        ("  qos: {bestEffort: {cores: 1, near: {class: gpu}}}\n  pools:\n", 2),
        ("  qos: {other: {cores: 1, near: {class: gpu}}}\n  pools:\n", 2),
        ("  pools:\n    shared: {cores: 1}\n", 1),
    ],
)
def test_devices_of_some_nodes_matter_where_something_is_near_one(
    tmp_path: Path, near: str, number: int
) -> None:
    project = make_project(tmp_path)
    device = "{address: '0000:10:00.0', class: gpu, numaNode: 1}"
    site = (project / SITE).read_text()
    group = f"  - {{name: odd, labels: {{role: worker}}, devices: [{device}]}}\n"
    (project / SITE).write_text(site + group)
    edit(project, INTENT, "  pools:\n", near)
    assert len(pipeline.load(project).classes) == number


def test_of_a_pool_that_cannot_be_split_only_that_is_said(tmp_path: Path) -> None:
    """CP288 has the cause of what CP227 would say."""
    project = make_project(tmp_path)
    site = (project / SITE).read_text()
    group = "  - {name: odd, hardware: other, labels: {role: worker}}\n"
    (project / SITE).write_text(site + group + OTHER % ("AuthenticAMD", "16Gi"))
    master = POOL.replace("pool: du", "pool: master, mixedHardware: split")
    target = '  - platform: kubernetes\n    version: "1.33"\n    runtime: crio\n'
    edit(project, INTENT, target, master)
    codes = [finding.code for finding in pipeline.load(project).diagnostics]
    assert codes == ["CP288"]


@pytest.mark.parametrize(
    ("labels", "target", "said"),
    [
        (
            {"worker": "", "worker-cnf": ""},
            "pool: worker-cnff",
            ["did you mean 'worker-cnf'? Otherwise `kubectl label node w-0"],
        ),
        (
            {"worker": ""},
            "pool: gpu",
            ["`kubectl label node w-0 node-role.kubernetes.io/gpu=`, and the same in inventories/"],
        ),
        ({"worker": "", "worker-cnf": ""}, "pool: worker-cnf", []),
        ({"worker": ""}, "pool: gpu, nodeSelector: {site: a}", []),
        ({"worker": ""}, "pool: gpu, nodeSelector: {site: b}", ["`kubectl label node w-0 site=b`"]),
        ({}, "pool: gpu", []),
    ],
)
def test_nodes_have_the_labels_of_their_pool(
    tmp_path: Path, labels: dict[str, str], target: str, said: list[str]
) -> None:
    """As far as the inventory tells: of nodes without a role it tells nothing."""
    roles = "".join(
        f', node-role.kubernetes.io/{role}: "{value}"' for role, value in labels.items()
    )
    for path, text in {
        "inventories/site.yaml": f"""\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {{name: small}}
spec: {{regular: {{coresPerSocket: 8}}}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {{name: lab}}
spec: {{cluster: lab, hardware: small, labels: {{site: a{roles}}}, nodes: [{{name: "w-[0-1]"}}]}}
""",
        "intents/main.yaml": f"""\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {{name: main}}
spec:
  selector: {{matchLabels: {{site: a}}}}
  targets: [{{platform: openshift, version: "4.20", {target}}}]
  pools: {{reserved: {{cores: 1}}}}
""",
    }.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    project = pipeline.load(tmp_path)
    assert [
        (finding.code, text in finding.remedy)
        for finding, text in zip(project.diagnostics, said, strict=True)
    ] == [("CP291", True) for _ in said]
