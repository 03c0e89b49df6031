"""Objects of others: the same findings, whatever says that they are there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.fleet import cluster_objects
from cpuplan.language.read import kustomize
from cpuplan.pipeline import judge, load

NODES = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: m}
spec: {vendor: GenuineIntel, regular: {sockets: 1, coresPerSocket: 8, memoryPerNumaNode: 64Gi}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  hardware: m
  labels: {node-role.kubernetes.io/cnf: ""}
  nodes: [{name: w-0}]
"""
PROFILE = """\
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: low}
spec:
  cpu: {isolated: 2-7, reserved: 0-1}
  nodeSelector: {node-role.kubernetes.io/cnf: ""}
"""
GROUP = "machineconfiguration.openshift.io"
POOL: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "MachineConfigPool",
    "metadata": {"name": "cnf", "labels": {"for": "cnf"}},
    "spec": {
        "machineConfigSelector": {"matchLabels": {f"{GROUP}/role": "cnf"}},
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/cnf": ""}},
    },
}


def machine_config(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {f"{GROUP}/role": "cnf"}},
        "spec": spec,
    }


def with_files(name: str, *paths: str) -> dict[str, Any]:
    files = [{"path": path, "contents": {"source": "data:,"}} for path in paths]
    config = {"ignition": {"version": "3.2.0"}, "storage": {"files": files}}
    return machine_config(name, config=config)


KUBELET = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "KubeletConfig",
    "metadata": {"name": "site"},
    "spec": {"machineConfigPoolSelector": {"matchLabels": {"for": "cnf"}}},
}
#: Objects, and the code of each finding about them.
OBJECTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "arguments": (
        machine_config("10-a", kernelArguments=["isolcpus=4-7", "maxcpus=2"]),
        ["CP238"] * 2,
    ),
    "real time": (machine_config("10-a", kernelType="realtime"), ["CP238"]),
    "a later file": (with_files("99-a", "/etc/crio/crio.conf.d/99-runtimes.conf"), ["CP238"]),
    "an earlier file": (with_files("10-a", "/etc/crio/crio.conf.d/99-runtimes.conf"), []),
    "CRI-O": (with_files("10-a", "/etc/crio/crio.conf.d/99-z.conf"), ["CP588"]),
    "a drop-in": (with_files("10-a", "/etc/openshift/kubelet.conf.d/a/z.conf"), ["CP5400"]),
    "no drop-in": (with_files("10-a", "/etc/openshift/kubelet.conf.d/z.yaml"), []),
    "pinning": (with_files("10-a", "/etc/kubernetes/openshift-workload-pinning"), ["CP5401"]),
    "a KubeletConfig": (KUBELET, ["CP298"]),
    "harmless": (machine_config("10-a", kernelArguments=["console=ttyS0"]), []),
}


def findings(folder: Path, *given: str) -> list[tuple[str, str, str]]:
    """Code, message and place of each finding, with the files `given` beside the project's."""
    project = load(folder, [folder / name for name in given])
    _, diagnostics = judge(project)
    # Profiles name no release, and the newest one is not proven.
    others = [known for known in diagnostics if known.code != "CP5625"]
    return [(known.code, known.message, str(known.position)) for known in others]


def in_policy(item: dict[str, Any], compliance: str = "musthave") -> dict[str, Any]:
    group = "policy.open-cluster-management.io/v1"
    template = {"complianceType": compliance, "objectDefinition": item}
    inner = {
        "apiVersion": group,
        "kind": "ConfigurationPolicy",
        "metadata": {"name": "inner"},
        "spec": {"object-templates": [template]},
    }
    spec = {"policy-templates": [{"objectDefinition": inner}]}
    return {"apiVersion": group, "kind": "Policy", "metadata": {"name": "outer"}, "spec": spec}


def project(folder: Path, *extra: dict[str, Any]) -> Path:
    """A project with nodes, a profile beside it, and one more file of these objects."""
    write(folder / "inventories/nodes.yaml", NODES)
    write(folder / "given/profile.yaml", PROFILE)
    write(folder / "given/objects.yaml", yaml.safe_dump_all(extra))
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


GIVEN = ("given/profile.yaml", "given/objects.yaml")


@pytest.mark.parametrize("name", OBJECTS)
def test_files_are_read_as_a_cluster_document(tmp_path: Path, name: str) -> None:
    item, codes = OBJECTS[name]
    known = cluster_objects.KINDS[item["kind"]]
    entries = {known.field: [cluster_objects.entry(item["kind"], item)]}
    document = {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "lab"},
        "spec": entries,
    }
    stated = project(tmp_path / "stated", POOL)
    write(stated / "inventories/cluster.yaml", yaml.safe_dump(document))
    wanted = findings(stated, *GIVEN)
    assert [code for code, _, _ in wanted] == codes
    bundle = {"apiVersion": "v1", "kind": "List", "items": [item]}
    for door, given in {"file": item, "list": bundle, "policy": in_policy(item)}.items():
        folder = project(tmp_path / door, POOL, given)
        told = findings(folder, *GIVEN)
        assert [known[:2] for known in told] == [known[:2] for known in wanted]
        assert all(place.startswith("given/objects.yaml:") for _, _, place in told)


def test_a_finding_stands_where_its_value_stands(tmp_path: Path) -> None:
    folder = project(tmp_path, POOL, OBJECTS["arguments"][0])
    lines = (folder / "given/objects.yaml").read_text().splitlines()
    for _, message, place in findings(folder, *GIVEN):
        _, line, column = place.split(":")
        value = lines[int(line) - 1][int(column) - 1 :]
        assert value in message


def test_a_policy_that_forbids_an_object(tmp_path: Path) -> None:
    policy = in_policy(OBJECTS["arguments"][0], "mustNotHave")
    assert findings(project(tmp_path, POOL, policy), *GIVEN) == []


def test_objects_of_operators_and_unknown_ones_are_left_alone(tmp_path: Path) -> None:
    generated = machine_config("99-cnf-generated-kubelet", kernelArguments=["maxcpus=2"])
    generated["metadata"]["annotations"] = {f"{GROUP}/generated-by-controller-version": "abc"}
    rendered = machine_config("rendered-cnf-0123", kernelArguments=["maxcpus=2"])
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    state = {"apiVersion": f"{GROUP}/v1", "kind": "MachineConfigNode", "metadata": {"name": "w-0"}}
    folder = project(tmp_path, POOL, generated, rendered, namespace, state)
    assert findings(folder, *GIVEN) == []


def test_the_object_of_a_file_counts_before_that_of_the_document(tmp_path: Path) -> None:
    folder = project(tmp_path, POOL, machine_config("10-a", kernelArguments=["console=ttyS0"]))
    document = """\
apiVersion: cpuplan.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  machineConfigs:
  - {name: 10-a, labels: {machineconfiguration.openshift.io/role: cnf}, kernelArguments: [nosmp]}
  - {name: 11-a, labels: {machineconfiguration.openshift.io/role: cnf}, kernelArguments: [nosmp]}
"""
    write(folder / "inventories/cluster.yaml", document)
    ((code, message, place),) = findings(folder, *GIVEN)
    assert (code, place) == ("CP238", "inventories/cluster.yaml:7:91")
    assert "11-a" in message


@pytest.mark.parametrize(
    ("release", "role", "is_read"),
    [
        ("4.20", "cnf", False),
        ("4.21", "cnf", True),
        ("4.22", "master", False),
        ("4.23", "master", True),
    ],
)
def test_roles_and_releases_whose_kubelets_have_drop_ins(
    tmp_path: Path, release: str, role: str, is_read: bool
) -> None:
    folder = project(tmp_path)
    for name in ("inventories/nodes.yaml", "given/profile.yaml"):
        text = (folder / name).read_text().replace("kubernetes.io/cnf", f"kubernetes.io/{role}")
        write(folder / name, text)
    item = with_files("10-a", "/etc/openshift/kubelet.conf.d/z.conf")
    item["metadata"]["labels"] = {f"{GROUP}/role": role}
    version = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "status": {"desired": {"version": f"{release}.1"}},
    }
    write(folder / "given/objects.yaml", yaml.safe_dump_all([item, version]))
    codes = [code for code, _, _ in findings(folder, *GIVEN)]
    assert codes == (["CP5400"] if is_read else [])


def test_yaml_that_others_read_otherwise(tmp_path: Path) -> None:
    """`0644` is no mistake in a file of others, and an anchor none in an unknown object."""
    folder = project(tmp_path)
    text = yaml.safe_dump(OBJECTS["harmless"][0]) + "  osImageURL: 0644\n---\n"
    text += "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: &a b, c: *a, d: 010}\n"
    write(folder / "given/objects.yaml", text + "---\n[{op: remove, path: /spec/a}]\n")
    assert findings(folder, *GIVEN) == []


KUSTOMIZATION = """\
resources: [profile.yaml, ../site, sub]
patches: [{path: patch.yaml}, {patch: "- {op: remove, path: /a}"}]
patchesStrategicMerge: [merge.yaml]
configMapGenerator: [{name: a, files: [key=values.txt.yaml, other.yaml]}]
helmCharts: [{name: a, valuesFile: values.yaml, additionalValuesFiles: [more.yaml]}]
"""


def test_files_of_kustomize_are_no_documents() -> None:
    aside = ("patch", "merge", "values.txt", "other", "values", "more")
    texts = {f"git/{name}.yaml": b"a: 1" for name in (*aside, "profile", "sub/pool", "mine")}
    left, (problem,) = kustomize.set_aside(
        texts | {"git/kustomization.yaml": KUSTOMIZATION.encode()}
    )
    assert list(left) == ["git/profile.yaml", "git/sub/pool.yaml", "git/mine.yaml"]
    assert problem.message == (
        "git/kustomization.yaml has patches, patchesStrategicMerge and helmCharts, which are not "
        "applied here; it names ../site, which is not read here"
    )
    assert "kustomize build --enable-helm git" in problem.remedy


def test_a_kustomization_that_only_lists_files_is_no_finding() -> None:
    texts = {"kustomization.yaml": b"resources: [a.yaml]\nnamespace: x\n", "a.yaml": b"a: 1"}
    assert kustomize.set_aside(texts) == ({"a.yaml": b"a: 1"}, [])


def test_a_chart_is_named_and_left_alone() -> None:
    texts = {f"git/chart/{name}": b"{{" for name in ("Chart.yaml", "templates/a.yaml")}
    left, problems = kustomize.set_aside(texts | {"git/a.yaml": b""})
    assert (list(left), [known.code for known in problems]) == (["git/a.yaml"], ["CP2402"])


def test_files_beside_the_project_that_are_no_objects(tmp_path: Path) -> None:
    """Values, patches and templates lie in repositories; below intents/ all is the project's."""
    texts = {
        "values.yaml": "mode: 0755\nspec: {a: 1}\n",
        "list.yaml": "[1, 2]\n",
        "site.yaml": "apiVersion: site/v1\nkind: Site\nmetadata: {name: a}\nspec: {}\n",
    }
    folder = project(tmp_path)
    for name, text in texts.items():
        write(folder / "given" / name, text)
    names = [f"given/{name}" for name in texts]
    assert findings(folder, "given/profile.yaml", *names) == []
    write(folder / "intents/values.yaml", texts["values.yaml"])
    assert {code for code, _, _ in findings(folder, "given/profile.yaml")} >= {"CP103", "CP205"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("apiVersion: cpuplan.io/v1alpha1\nkind: Intnt\n", "CP205"),
        ("kind: Intent\nmetadata: {name: a}\nspec: {}\n", "CP204"),
        ("metadata: {name: a}\nspec: {}\n", "CP205"),
    ],
)
def test_documents_that_are_meant_as_ours(tmp_path: Path, text: str, code: str) -> None:
    folder = project(tmp_path)
    write(folder / "given/a.yaml", text)
    assert code in {known for known, _, _ in findings(folder, "given/a.yaml")}


@pytest.mark.parametrize(
    ("reserved", "is_template"), [("$reserved", True), ("0-$last", True), ("0-1", False)]
)
def test_sources_of_generators(tmp_path: Path, reserved: str, is_template: bool) -> None:
    folder = project(tmp_path)
    write(folder / "given/profile.yaml", PROFILE.replace("0-1", reserved))
    codes = [code for code, _, _ in findings(folder, "given/profile.yaml")]
    assert codes == (["CP2401", "CP221"] if is_template else [])
