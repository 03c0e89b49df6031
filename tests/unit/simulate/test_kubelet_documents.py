"""KubeletConfigurations and flags are told by the documents of a file, and judged at its lines."""

import json

import pytest

from cpuplan.simulate.files import kubelet_configuration
from cpuplan.simulate.files.kubelet_documents import Documents, documents
from cpuplan.simulate.files.kubelet_owners import Owner

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
RELEASE = (1, 34)


def findings(known: Documents) -> list[tuple[str, int]]:
    """The code and line of each finding."""
    reported = []
    for part in known.judged:
        for finding in kubelet_configuration.check(
            part.main,
            RELEASE,
            part.drop_ins,
            command=part.command,
            is_partial=part.is_partial,
        ):
            assert finding.position is not None
            reported.append((finding.code, finding.position.line))
    return reported


def block(text: str, indent: int) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubelet-config}\ndata:\n"
KUBEADM = "apiVersion: kubeadm.k8s.io/v1beta4\n"
FILES = {
    "one line of JSON": (
        json.dumps({"kind": "KubeletConfiguration", "cpuManagerPolicy": "static"}),
        "the kubelet",
        [("CP710", 1)],
    ),
    "JSON": (
        json.dumps(
            {
                "kind": "KubeletConfiguration",
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "cpuManagerPolicy": "static",
            }
        ),
        "the kubelet",
        [("CP703", 1)],
    ),
    "flow style": (
        "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, maxPod: 1}",
        "the kubelet",
        [("CP709", 1)],
    ),
    "kubeadm": (
        (
            f"{KUBEADM}kind: InitConfiguration\n---\n{KUBEADM}kind: ClusterConfiguration\n---\n"
            f"{HEAD}cpuManagerPolicy: static\n"
        ),
        "kubeadm",
        [("CP703", 9)],
    ),
    "kubeadm with the reservation in a flag": (
        (
            f"{KUBEADM}kind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
            "  - {name: reserved-cpus, value: 0-1}\n---\n"
            f"{HEAD}cpuManagerPolicy: static\n"
        ),
        "kubeadm",
        [],
    ),
    "kubeadm with a flag of old": (
        (
            f"{KUBEADM}kind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
            "    cpu-manager-policy: dynamic\n"
        ),
        "kubeadm",
        [("CP703", 4)],
    ),
    "a flag that nobody knows": (
        (
            f"{KUBEADM}kind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
            "    system-reserved: memory\n"
        ),
        "kubeadm",
        [("CP703", 4)],
    ),
    "a ConfigMap": (
        f"{CONFIG_MAP}  kubelet: |\n{block(HEAD + 'reservedCpus: 0-4', 4)}",
        "the kubelet (ConfigMap)",
        [("CP709", 8)],
    ),
    "a ConfigMap in quotes": (
        f"{CONFIG_MAP}  kubelet: {json.dumps(HEAD + 'cpuManagerPolicy: dynamic')}\n",
        "the kubelet (ConfigMap)",
        [("CP703", 5)],
    ),
    "a list": (
        (
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kubelet.config.k8s.io/v1beta1\n"
            "  kind: KubeletConfiguration\n  memoryManagerPolicy: Static\n"
        ),
        "the kubelet (List)",
        [("CP703", 6)],
    ),
    "configz": (
        json.dumps({"kubeletconfig": {"cpuManagerPolicy": "dynamic"}}, indent=1),
        "the kubelet (configz)",
        [("CP703", 3)],
    ),
    "kind, whose base may reserve": (
        (
            "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nkubeadmConfigPatches:\n- |\n"
            "  kind: KubeletConfiguration\n  cpuManagerPolicy: static\n  maxPod: 1\n"
        ),
        "kind",
        [("CP709", 7)],
    ),
    "Cluster API": (
        (
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\n"
            "spec:\n  template:\n    spec:\n      joinConfiguration:\n        nodeRegistration:\n"
            "          kubeletExtraArgs:\n            topology-manager-policy: single\n"
        ),
        "Cluster API",
        [("CP703", 8)],
    ),
    "K3s": (
        (
            "write-kubeconfig-mode: '0644'\nkubelet-arg:\n- cpu-manager-policy=static\n"
            "- topology-manager-scope=node\n"
        ),
        "K3s or RKE2",
        [("CP703", 2)],
    ),
    "RKE2 without flags": ("write-kubeconfig-mode: '0644'\ntoken: a\n", "K3s or RKE2", []),
    "Talos": (
        (
            "version: v1alpha1\nmachine:\n  kubelet:\n    extraConfig:\n"
            "      cpuManagerPolicy: static\n      maxPods: many\n"
        ),
        "Talos",
        [("CP710", 6)],
    ),
    "EKS, which has cgroups of its own": (
        (
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n"
            "      reservedSystemCPUs: 0-1\n"
        ),
        "EKS",
        [("CP703", 6)],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str) -> None:
    text, owner, expected = FILES[name]
    known = documents("file.yaml", text)
    assert known is not None
    assert (known.owner, findings(known)) == (owner, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [",
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: KubeletConfig}\n",
        (
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
            "spec: {kubeletConfig: {kind: KubeletConfiguration}}\n"
        ),
        f"apiVersion: cpuplan.io/v1alpha1\nkind: Intent\n---\n{HEAD}",
        "- KubeletConfiguration\n",
        "comment: see KubeletConfiguration\n",
    ],
)
def test_other_files(text: str) -> None:
    assert documents("file.yaml", text) is None


INIT = "kind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:"
REFUSED = {
    "a version of kubeadm": (
        "apiVersion: kubeadm.k8s.io/v1beta9\nkind: InitConfiguration\n",
        1566,
        1,
    ),
    "a kind of kubeadm": (f"{KUBEADM}kind: InitConfigration\n", 1566, 2),
    "a kind of EKS": ("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfigs\n", 1566, 2),
    "a version of kind": ("apiVersion: kind.x-k8s.io/v1\nkind: Cluster\n", 1566, 1),
    "a map in v1beta4": (f"{KUBEADM}{INIT} {{max-pods: '9'}}\n", 1567, 4),
    "a list in v1beta3": (
        f"apiVersion: kubeadm.k8s.io/v1beta3\n{INIT} [{{name: max-pods, value: '9'}}]\n",
        1567,
        4,
    ),
    "a text that is no YAML": (
        f"{CONFIG_MAP}  kubelet: |\n{block(HEAD + 'maxPods: [', 4)}",
        101,
        5,
    ),
    "a document that is no YAML": (f"{KUBEADM}kind: InitConfiguration\n---\na: [\n", 101, 4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_its_program_refuses_of_a_document(name: str) -> None:
    text, code, line = REFUSED[name]
    known = documents("file.yaml", text)
    assert known is not None
    (fault,) = known.faults
    assert fault.code == f"CP{code}"
    assert fault.position
    assert fault.position.line == line


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n", "CP710"),
        ("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfigration\n", "CP710"),
        (f"{HEAD}maxPods: 1\n---\n", ""),
        (f"\ufeff{HEAD}maxPods: 1\n".replace("\n", "\r\n"), ""),
    ],
)
def test_a_kubelets_own_file(text: str, code: str) -> None:
    known = documents("file.yaml", text.removeprefix("\ufeff"))
    assert known is not None
    assert known.owner is Owner.KUBELET
    assert [given for given, _ in findings(known)] == [code] * bool(code)


@pytest.mark.parametrize(
    ("path", "text", "owner", "line"),
    [
        ("kubeletconfiguration.yaml", "cpuManagerPolicy: dynamic\n", Owner.PATCH, 1),
        ("a/kubeletconfiguration0+merge.yaml", "cpuManagerPolicy: dynamic\n", Owner.PATCH, 1),
        (
            "kubeletconfiguration1+json.yaml",
            "- op: add\n  path: /cpuManagerPolicy\n  value: dynamic\n",
            Owner.PATCH,
            3,
        ),
        (
            "user-data.toml",
            '[settings.kubernetes]\nmax-pods = 9\ncpu-manager-policy = "dynamic"\n',
            Owner.BOTTLEROCKET,
            3,
        ),
        (
            "kubelet",
            "# flags\n--max-pods=9\n--cpu-manager-policy=dynamic\n",
            Owner.MICROK8S,
            2,
        ),
    ],
)
def test_files_that_are_no_documents(path: str, text: str, owner: Owner, line: int) -> None:
    known = documents(path, text)
    assert known is not None
    assert known.owner is owner
    assert findings(known) == [("CP703", line)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n"),
        ("broken.toml", "[settings"),
        ("kubelet", "--max-pods=9\nsomething else\n"),
        ("kubeletconfiguration+json.yaml", "a: [\n"),
    ],
)
def test_files_that_are_none_of_these(path: str, text: str) -> None:
    assert documents(path, text) is None
