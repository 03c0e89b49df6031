"""The configuration in force: the file, drop-ins, flags; and every planned key in it."""

from pathlib import Path

import pytest

from cpuplan.check.kubelet.configuration import is_same
from cpuplan.plan.expected.evidence import Verdict
from tests.unit.check.kubelet.nodes import (
    DROP_INS,
    HEAD,
    NO_UNIT,
    UNIT,
    answers,
    codes,
    of,
    planned,
    running,
)

LATER = f"{DROP_INS}/99-site.conf"
RESERVED = "kubelet reservedSystemCPUs"
OPTIONS = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}


def test_every_planned_key_is_held(tmp_path: Path) -> None:
    checks = answers(tmp_path, planned(kubelet=OPTIONS), {})
    assert codes(checks) == []
    held = {answer.fact for answer in checks if answer.verdict is Verdict.HELD}
    assert {RESERVED, "kubelet cpuManagerPolicyOptions.full-pcpus-only"} < held


@pytest.mark.parametrize(
    "text",
    [
        'reservedSystemCPUs: "1,0"',
        'cpuManagerPolicyOptions: {full-pcpus-only: "1"}',
        "maxPods: 20",
        "RESERVEDSYSTEMCPUS: 0-1",
    ],
)
def test_an_equal_value_written_otherwise(tmp_path: Path, text: str) -> None:
    assert codes(answers(tmp_path, planned(kubelet=OPTIONS), {LATER: f"{HEAD}{text}\n"})) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (LATER, f"{HEAD}reservedSystemCPUs: 0-2\n", ["CP823"]),
        (LATER, f"{HEAD}cpuManagerPolicy: none\n", ["CP823", "CP829"]),
        (LATER, f'{HEAD}cpuManagerPolicyOptions: {{align-by-socket: "true"}}\n', ["CP703"]),
        (
            LATER,
            f'{HEAD}cpuManagerPolicyOptions: {{distribute-cpus-across-numa: "true"}}\n',
            ["CP823"],
        ),
        (LATER, f"{HEAD}reservedSystemCpus: 0-2\n", ["CP823"]),
        (LATER, f"{HEAD}reservedCPUs: 0-2\n", ["CP709"]),
        (LATER, f"{HEAD}featureGates: {{Unheard: true}}\n", ["CP702"]),
        (LATER, f"{HEAD}maxPods: many\n", ["CP821"]),
        (LATER, "maxPods: 20\n", ["CP821"]),
        (LATER, "", ["CP821"]),
        ("var/lib/kubelet/config.yaml", "apiVersion: v1\nkind: Config\n", ["CP821"]),
        (f"{DROP_INS}/99-site.yaml", f"{HEAD}reservedSystemCPUs: 0-2\n", []),
        (f"{DROP_INS}/50/1.conf", f"{HEAD}reservedSystemCPUs: 0-2\n", []),
        (f"{DROP_INS}/z/1.conf", f"{HEAD}reservedSystemCPUs: 0-2\n", ["CP823"]),
    ],
)
def test_files_that_are_read(tmp_path: Path, path: str, text: str, expected: list[str]) -> None:
    node = planned(kubelet=OPTIONS)
    checks = answers(tmp_path, node, {path: text})
    assert codes(checks) == expected


def test_files_of_a_kubelet_whose_flags_nobody_has_read(tmp_path: Path) -> None:
    config = {"var/lib/kubelet/config.yaml": "apiVersion: v1\nkind: Config\n"}
    checks = answers(tmp_path, planned(kubelet=OPTIONS), {**NO_UNIT, **config})
    assert codes(checks) == []
    settings = [answer for answer in checks if answer.fact.startswith("kubelet ")]
    assert {answer.verdict for answer in settings} == {Verdict.UNVERIFIABLE}
    later = {LATER: f"{HEAD}reservedSystemCPUs: 0-2\n"}
    assert codes(answers(tmp_path, planned(kubelet=OPTIONS), {**NO_UNIT, **later})) == ["CP823"]


def test_cgroups_of_the_base_are_emptied(tmp_path: Path) -> None:
    """The base configurations of EKS images, and of k0s."""
    cgroups = f"{HEAD}kubeReservedCgroup: /runtime\nsystemReservedCgroup: /system\n"
    base = {"var/lib/kubelet/config.yaml": cgroups}
    checks = answers(tmp_path, planned(), base)
    assert codes(checks) == []
    assert of(checks, "kubelet kubeReservedCgroup").verdict is Verdict.HELD
    later = {LATER: f"{HEAD}kubeReservedCgroup: /runtime\n"}
    differing = of(answers(tmp_path, planned(), later), "kubelet kubeReservedCgroup")
    assert differing.finding is not None
    assert differing.finding.code == "CP823"


def test_a_kubeconfig_of_kubeadm_is_no_configuration(tmp_path: Path) -> None:
    kubeconfig = "apiVersion: v1\nkind: Config\nclusters: []\n"
    checks = answers(tmp_path, planned(), {"etc/kubernetes/kubelet.conf": kubeconfig})
    assert codes(checks) == []


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--reserved-cpus=0-1", []),
        ("--reserved-cpus=0-2", ["CP824"]),
        ("--cpu-manager-policy=none", ["CP824", "CP829"]),
        ("--cpu-manager-policy-options=distribute-cpus-across-numa=true", ["CP824", "CP823"]),
        ("--max-pods=20", []),
        ("--max-pods=many", ["CP829"]),
        ("--feature-gates=Unheard=true", ["CP702"]),
    ],
)
def test_flags_of_a_running_kubelet(tmp_path: Path, flag: str, expected: list[str]) -> None:
    checks = answers(tmp_path, planned(kubelet=OPTIONS), running(flag))
    assert codes(checks) == expected


def test_flag_of_an_environment_file_of_the_unit(tmp_path: Path) -> None:
    """A snapshot of a node whose kubelet is down."""
    changes = {
        UNIT: (
            "[Service]\nEnvironmentFile=-/etc/default/kubelet\n"
            "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS\n"
        ),
        "etc/default/kubelet": 'KUBELET_EXTRA_ARGS="--v=2 --reserved-cpus=0"\n',
    }
    answer = of(answers(tmp_path, planned(), changes), RESERVED)
    assert answer.observed == "0"
    assert answer.finding is not None
    assert answer.finding.position is not None
    assert answer.finding.position.path.endswith("etc/default/kubelet")


def test_unit_that_runs_something_else_says_nothing(tmp_path: Path) -> None:
    changes = {**NO_UNIT, UNIT: "[Service]\nExecStart=/bin/sh -c 'sleep 1'\n"}
    checks = answers(tmp_path, planned(), changes)
    assert codes(checks) == []
    assert of(checks, "kubeletunit --config-dir").verdict is Verdict.UNVERIFIABLE
    assert of(checks, RESERVED).verdict is Verdict.UNVERIFIABLE


def test_folder_that_the_kubelet_does_not_read_is_one_finding(tmp_path: Path) -> None:
    changes = {
        "proc/901/comm": "kubelet\n",
        "proc/901/cmdline": "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0",
    }
    checks = answers(tmp_path, planned(), changes)
    assert codes(checks) == ["CP876"]
    assert of(checks, RESERVED).verdict is Verdict.DIFFERS


def test_file_of_the_command_line_that_does_not_exist(tmp_path: Path) -> None:
    changes = {
        "proc/901/comm": "kubelet\n",
        "proc/901/cmdline": f"kubelet\0--config=/etc/gone.yaml\0--config-dir=/{DROP_INS}\0",
    }
    checks = answers(tmp_path, planned(), changes)
    assert codes(checks) == ["CP820"]
    assert of(checks, RESERVED).verdict is Verdict.UNVERIFIABLE


@pytest.mark.parametrize(
    ("field", "actual", "wanted", "expected"),
    [
        ("kubeReserved", {"memory": "1Gi"}, {"memory": "1024Mi"}, True),
        ("kubeReserved", {"memory": "1Gi"}, {"memory": "1G"}, False),
        ("cpuManagerPolicyOptions", "True", "true", True),
        ("reservedSystemCPUs", "0,1,2", "0-2", True),
        ("reservedSystemCPUs", "0-x", "0-2", False),
        ("reservedSystemCPUs", None, "0-2", False),
        ("enforceNodeAllocatable", ["pods", "x"], ["x", "pods"], True),
        ("enforceNodeAllocatable", ["pods", "pods"], ["x", "pods"], False),
        ("evictionHard", {"a": "10.0%"}, {"a": "10%"}, True),
        ("evictionHard", {"a": "10.5%"}, {"a": "10%"}, False),
        ("evictionHard", {"a": "10%"}, {"a": "10%", "b": "1"}, False),
    ],
)
def test_same_values(field: str, actual: object, wanted: object, expected: bool) -> None:
    assert is_same(field, actual, wanted) is expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"config.yaml": "kubelet-arg: [max-pods=20]\n"}, []),
        ({"config.yaml": "kubelet-arg: [max-pods=20, reserved-cpus=0]\n"}, ["CP824"]),
        ({"config.yaml": "kubelet-arg: --cpu-manager-policy=none\n"}, ["CP824"]),
        (
            {
                "config.yaml": "kubelet-arg: [reserved-cpus=0]\n",
                "config.yaml.d/1.yaml": "kubelet-arg: [v=2]\n",
            },
            [],
        ),
        (
            {
                "config.yaml": "kubelet-arg: [reserved-cpus=0]\n",
                "config.yaml.d/1.yaml": "kubelet-arg+: [v=2]\n",
            },
            ["CP824"],
        ),
    ],
)
def test_flags_of_k3s(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    changes = {f"etc/rancher/k3s/{name}": text for name, text in files.items()}
    checks = answers(tmp_path, planned("k3s"), changes)
    assert codes(checks) == expected
    assert of(checks, RESERVED).verdict is not Verdict.UNVERIFIABLE


def test_kubelet_behind_the_wrapper_of_openshift(tmp_path: Path) -> None:
    unit = (
        "[Service]\nEnvironmentFile=/etc/node-sizing.env\n"
        "ExecStart=/usr/local/bin/kubenswrapper \\\n  /usr/bin/kubelet \\\n"
        "  --config=/etc/kubernetes/kubelet.conf \\\n"
        "  --system-reserved=cpu=${CPU},memory=${MEMORY}\n"
    )
    node = planned("openshift", "4.20")
    sizes = "CPU=500m\nMEMORY=0.5Gi\n"
    checks = answers(tmp_path, node, {UNIT: unit, "etc/node-sizing.env": sizes})
    answer = of(checks, "kubelet systemReserved.memory")
    assert answer.finding is not None
    assert answer.finding.code == "CP824"
    assert answer.observed == "0.5Gi"
