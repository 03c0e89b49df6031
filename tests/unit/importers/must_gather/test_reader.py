"""Must-gathers: nodes at any depth, some without snapshots, some damaged."""

from pathlib import Path

import pytest

from cpuplan import importers
from cpuplan.importers.documents import cluster_of, derived_clusters, hardware_documents
from cpuplan.language.model.cluster import ClusterSpec
from tests.machines import trees

NODES = "cluster-scoped-resources/core/nodes"
INFRASTRUCTURE = "cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml"
NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    beta.kubernetes.io/arch: amd64
    feature.node.kubernetes.io/cpu-model.id: "106"
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: {name}
    node-role.kubernetes.io/worker: ""
    node.openshift.io/os_id: rhcos
    example.com/rack: "7"
    tier: gold
"""
LABELS = {
    "kubernetes.io/arch": "amd64",
    "node-role.kubernetes.io/worker": "",
    "example.com/rack": "7",
    "tier": "gold",
}


def gather(
    root: Path, image: str, *names: str, server: str = "https://api.lab.example.com:6443"
) -> Path:
    folder = root / image
    trees.put({f"{NODES}/{name}.yaml": NODE.format(name=name) for name in names}, folder)
    trees.put(
        {INFRASTRUCTURE: f"status: {{apiServerURL: '{server}', infrastructureName: lab-x7k2p}}\n"},
        folder,
    )
    for name in names:
        snapshot = folder / "nodes" / name / "sysinfo.tgz"
        snapshot.parent.mkdir(parents=True)
        snapshot.write_bytes(trees.tar(trees.server()))
    return folder


@pytest.mark.parametrize(
    "image", [".", "quay-io-image-sha256-1", "must-gather.local.1/more/quay-io-image"]
)
def test_any_depth(tmp_path: Path, image: str) -> None:
    gather(tmp_path, image, "worker-0", "worker-1")
    imported = importers.run(None, [tmp_path])
    assert [(node.name, node.cluster, node.labels) for node in imported.nodes] == [
        ("worker-0", "lab", LABELS),
        ("worker-1", "lab", LABELS),
    ]
    assert imported.diagnostics == ()


GATES = "cluster-scoped-resources/config.openshift.io/featuregates/cluster.yaml"
CUSTOM = "spec: {featureSet: CustomNoUpgrade, customNoUpgrade: {enabled: [B, A, [x]]}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec: {featureSet: TechPreviewNoUpgrade}", {"featureSet": "TechPreviewNoUpgrade"}),
        (CUSTOM, {"featureSet": "CustomNoUpgrade", "enabledFeatureGates": ["A", "B"]}),
        ("spec: {featureSet: OKD}", {"featureSet": "OKD"}),
        ("spec: {featureSet: Other}", {}),
        ("spec: {}", {}),
        ("spec: [", {}),
    ],
)
def test_feature_set(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    folder = gather(tmp_path, "image", "worker-0")
    trees.put({GATES: text}, folder)
    imported = importers.run(None, [tmp_path])
    assert [node.cluster_facts for node in imported.nodes] == [expected]
    specs = [
        document["spec"]
        for document in hardware_documents(imported)
        if document["kind"] == "Cluster"
    ]
    assert specs == ([expected] if expected else [])


NODE_CONFIG = "cluster-scoped-resources/config.openshift.io/nodes"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (f"{NODE_CONFIG}/cluster.yaml", "spec: {cgroupMode: v1}", {"cgroupMode": "v1"}),
        (f"{NODE_CONFIG}.yaml", "items: [{spec: {cgroupMode: v2}}]", {"cgroupMode": "v2"}),
        (f"{NODE_CONFIG}/cluster.yaml", "spec: {cgroupMode: v3}", {}),
        (f"{NODE_CONFIG}/cluster.yaml", 'spec: {cgroupMode: ""}', {}),
    ],
)
def test_cgroups(tmp_path: Path, path: str, text: str, expected: dict[str, str]) -> None:
    trees.put({path: text}, gather(tmp_path, "image", "worker-0"))
    assert importers.run(None, [tmp_path]).nodes[0].cluster_facts == expected


def test_cluster_name(tmp_path: Path) -> None:
    gather(tmp_path / "a", "image", "w", server="")
    assert importers.run(None, [tmp_path / "a"]).nodes[0].cluster == "lab-x7k2p"
    (gather(tmp_path / "b", "image", "w") / INFRASTRUCTURE).unlink()
    imported = importers.run(None, [tmp_path / "b"])
    assert imported.nodes[0].cluster is None
    assert imported.remarks[0].endswith(
        "does not contain the cluster's name: its Infrastructure object has none, or is missing"
    )
    assert importers.run(None, [tmp_path / "b"], "mine").nodes[0].cluster == "mine"


def test_a_node_without_snapshot_is_a_remark(tmp_path: Path) -> None:
    folder = gather(tmp_path, "image", "w0", "w1")
    (folder / "nodes/w0/sysinfo.tgz").unlink()
    imported = importers.run("must-gather", [tmp_path])
    assert [node.name for node in imported.nodes] == ["w1"]
    assert "node w0 has no sysinfo.tgz: it is left out" in imported.remarks
    assert imported.diagnostics == ()


def test_a_damaged_snapshot_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = gather(tmp_path, "image", "w0", "w1") / "nodes/w0/sysinfo.tgz"
    path.write_bytes(path.read_bytes()[:-50])
    imported = importers.run(None, [tmp_path])
    assert [node.name for node in imported.nodes] == ["w1"]
    assert [d.code for d in imported.diagnostics] == ["CP121"]
    assert str(path) in imported.diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        "labels: [",
        "metadata: {labels: !!int x}",
        "- 1",
        "metadata: 7",
        "metadata: {labels: [1]}",
        "",
    ],
)
def test_a_damaged_node_object_costs_its_labels(tmp_path: Path, text: str) -> None:
    folder = gather(tmp_path, "image", "w0")
    (folder / NODES / "w0.yaml").write_text(text)
    imported = importers.run(None, [tmp_path])
    assert [node.labels for node in imported.nodes] == [{}]
    assert [d.code for d in imported.diagnostics] == (
        ["CP125"] if text.startswith(("labels", "metadata: {labels: !")) else []
    )


def test_a_node_that_two_images_have_is_read_once(tmp_path: Path) -> None:
    gather(tmp_path, "image-a", "w0")
    gather(tmp_path, "image-b", "w0", "w1")
    assert [node.name for node in importers.run(None, [tmp_path]).nodes] == ["w0", "w1"]


def test_nothing_there(tmp_path: Path) -> None:
    assert [d.code for d in importers.run("must-gather", [tmp_path]).diagnostics] == ["CP124"]


def test_objects_that_grow(tmp_path: Path) -> None:
    """Lists of aliases grow by a factor for each line; written out they would fill the memory."""
    lists = "".join(f"l{n}: &l{n} [{f'*l{n - 1},' * 9 if n else 'x'}]\n" for n in range(30))
    image = gather(tmp_path, "image", "worker-0")
    files = {
        f"{NODES}/worker-0.yaml": "metadata: {name: worker-0, labels: {a: *l29, tier: gold}}\n",
        INFRASTRUCTURE: "status: {apiServerURL: *l29, infrastructureName: Lab}\n",
    }
    trees.put({path: lists + text for path, text in files.items()}, image)
    imported = importers.run(None, [tmp_path])
    assert [(node.labels, node.cluster) for node in imported.nodes] == [({}, None)]
    assert [
        "more than 3,000,000 keys and values" in problem.message for problem in imported.diagnostics
    ] == [True]


MCO = "cluster-scoped-resources/machineconfiguration.openshift.io"
LOGS = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: {name}
  labels: {{machineconfiguration.openshift.io/role: worker}}
  annotations: {{{annotation}}}
spec:
  kernelArguments: [console=ttyS0]
  kernelType: {kernel}
  extensions: [usbguard]
  config:
    storage:
      files: [{{path: /etc/logs, contents: {{source: "data:,"}}}}, {{path: /etc/logs}}]
      links: [{{path: /etc/link, target: /etc/logs}}]
      directories: [{{path: /var/logs}}]
    systemd: {{units: [{{name: logs.service}}, {{name: logs.service}}]}}
"""
GENERATED = "machineconfiguration.openshift.io/generated-by-controller-version"
KUBELET = """\
kind: KubeletConfig
metadata: {{name: {name}, creationTimestamp: "{created}"}}
spec: {{machineConfigPoolSelector: {{matchLabels: {{custom: {name}}}}}}}
"""


POLICY = """\
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  managementState: Managed
  nodeDisruptionPolicy:
    files:
    - {path: /etc/crio, actions: [{type: Restart, restart: {serviceName: crio.service}}]}
    units: []
status: {nodeDisruptionPolicyStatus: {}}
"""


@pytest.mark.parametrize("stated", [True, False])
def test_node_disruption_policies(tmp_path: Path, stated: bool) -> None:
    folder = gather(tmp_path, ".", "worker-0")
    text = POLICY if stated else "metadata: {name: cluster}\nspec: {}\n"
    place = "cluster-scoped-resources/operator.openshift.io/machineconfigurations"
    trees.put({f"{place}/cluster.yaml": text}, folder)
    trees.put(
        {f"{MCO}/kubeletconfigs/a.yaml": KUBELET.format(name="a", created="2026-01-01")}, folder
    )
    (*_, cluster) = hardware_documents(importers.run(None, [tmp_path]))
    action = {"type": "Restart", "restart": {"serviceName": "crio.service"}}
    policy = {"files": [{"path": "/etc/crio", "actions": [action]}]}
    assert cluster["spec"].get("nodeDisruptionPolicy") == (policy if stated else None)


def test_objects_that_cpuplan_does_not_write(tmp_path: Path) -> None:
    folder = gather(tmp_path, ".", "worker-0")
    configs = {
        # Whoever syncs with Argo CD writes such a wave.
        "99-logs": ('argocd.argoproj.io/sync-wave: "1"', "realtime"),
        "00-worker": (f'{GENERATED}: "1"', "default"),
        "50-performance-du": ("example.com/a: b", "default"),
        "50-nto-worker": ("example.com/a: b", "default"),
        "40-cpuplan": (
            "argocd.argoproj.io/sync-options: 'Prune=confirm,Delete=confirm'",
            "default",
        ),
    }
    trees.put(
        {
            f"{MCO}/machineconfigs/{name}.yaml": LOGS.format(
                name=name, annotation=annotation, kernel=kernel
            )
            for name, (annotation, kernel) in configs.items()
        },
        folder,
    )
    trees.put(
        {
            f"{MCO}/kubeletconfigs/{name}.yaml": KUBELET.format(name=name, created=created)
            for name, created in (("a-late", "2026-02-01"), ("z-early", "2026-01-01"))
        },
        folder,
    )
    runtime = (
        "spec: {machineConfigPoolSelector: {}, containerRuntimeConfig: {defaultRuntime: crun}}"
    )
    text = f"metadata: {{name: runtime}}\n{runtime}\n"
    trees.put({f"{MCO}/containerruntimeconfigs/runtime.yaml": text}, folder)
    (*_, cluster) = hardware_documents(importers.run(None, [tmp_path]))
    assert cluster["spec"] == {
        "containerRuntimeConfigs": [
            {"name": "runtime", "machineConfigPoolSelector": {}, "defaultRuntime": "crun"}
        ],
        "machineConfigs": [
            {
                "name": "99-logs",
                "labels": {"machineconfiguration.openshift.io/role": "worker"},
                "kernelArguments": ["console=ttyS0"],
                "kernelType": "realtime",
                "extensions": ["usbguard"],
                "files": ["/etc/link", "/etc/logs", "/var/logs"],
                "units": ["logs.service"],
            }
        ],
        "kubeletConfigs": [
            {"name": name, "machineConfigPoolSelector": {"matchLabels": {"custom": name}}}
            for name in ("z-early", "a-late")
        ],
    }
    ClusterSpec.model_validate(cluster["spec"])


TUNED = """\
kind: Tuned
metadata: {{name: {name}{more}}}
spec:
  profile:
  - name: {name}
    data: |
      [main]
      include=openshift-node-performance-du
  recommend:
  - profile: {name}
    priority: 18
    match: [{{label: rack, match: [{{label: row, type: node}}]}}]
    machineConfigLabels: {{role: du}}
    operand: {{debug: false}}
"""


def test_tuned_objects_of_others(tmp_path: Path) -> None:
    """The operator's own are left out."""
    folder = gather(tmp_path, ".", "worker-0")
    owner = ", ownerReferences: [{kind: PerformanceProfile, name: du}]"
    made = {"site": "", "default": "", "openshift-node-performance-du": owner}
    place = "namespaces/openshift-cluster-node-tuning-operator/tuned.openshift.io/tuneds"
    trees.put(
        {f"{place}/{name}.yaml": TUNED.format(name=name, more=more) for name, more in made.items()},
        folder,
    )
    (*_, cluster) = hardware_documents(importers.run(None, [tmp_path]))
    [read] = ClusterSpec.model_validate(cluster["spec"]).tuneds
    assert (read.name, read.profile[0].data) == (
        "site",
        "[main]\ninclude=openshift-node-performance-du\n",
    )
    [recommended] = read.recommend
    assert recommended.machine_config_labels == {"role": "du"}
    assert recommended.match is not None
    assert recommended.match[0].match == ({"label": "row", "type": "node"},)


def nameless(root: Path, name: str, *nodes: str) -> Path:
    gather(root, f"{name}/quay-io-image", *nodes)
    (root / name / "quay-io-image" / INFRASTRUCTURE).unlink()
    return root / name


@pytest.mark.parametrize("apart", [True, False])
def test_two_without_a_name_are_two_clusters(tmp_path: Path, apart: bool) -> None:
    """The folder is all that tells them apart, also where their nodes have the same names."""
    first, two = nameless(tmp_path, "north", "w0", "w1"), nameless(tmp_path, "south", "w0")
    imported = importers.run(None, [first, two] if apart else [tmp_path])
    assert not imported.diagnostics
    places = [(cluster_of(node), node.name) for node in imported.nodes]
    assert sorted(places) == [("north", "w0"), ("north", "w1"), ("south", "w0")]
    told = [sentence for sentence in derived_clusters(imported.nodes) if "folder" in sentence]
    assert len(told) == 2


def test_folders_of_one_name_are_two_clusters(tmp_path: Path) -> None:
    paths = [nameless(tmp_path / place, "gathered", "w0") for place in ("a", "b")]
    imported = importers.run(None, paths)
    names = {cluster_of(node) for node in imported.nodes}
    assert len(names) == 2
    assert {name[:10] for name in names} == {"a-gathered", "b-gathered"}


def test_a_name_in_one_image_is_that_of_the_must_gather(tmp_path: Path) -> None:
    gather(tmp_path, "image-a", "w0")
    gather(tmp_path, "image-b", "w1")
    (tmp_path / "image-a" / INFRASTRUCTURE).unlink()
    imported = importers.run(None, [tmp_path])
    assert {cluster_of(node) for node in imported.nodes} == {"lab"}
