"""Each example of the proposal of mixed CPUs (mixed-cpu-node-plugin), through all of cpuplan.

The numbers are those of the proposal: shared CPUs 3 and 4, a container with the exclusive CPUs 5
and 6, and its quota of 200,000 µs that becomes one of 400,000.
"""

import json
from pathlib import Path

import pytest

from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
INVENTORY = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: eight}
spec:
  vendor: GenuineIntel
  regular: {sockets: 1, coresPerSocket: 9, threadsPerCore: 1, memoryPerNumaNode: 64Gi}
  hugePageSizes: [2Mi, 1Gi]
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  hardware: eight
  nodes:
  - {name: worker-0, labels: {node-role.kubernetes.io/performance: test}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {cgroupMode: v2, featureSet: TechPreviewNoUpgrade}
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: main}
spec:
  selector: {clusters: [lab]}
  targets: [{platform: openshift, version: "4.18", pool: cnf, nodeSelector: {role: cnf}}]
  pools:
    reserved: "0-2"
    shared: "3,4"
    isolated: rest
  runtime: {sharedNamespaces: [vran], containersLimit: 15}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: dpdk, namespace: vran, annotations: {}}
spec:
  runtimeClassName: performance-main
  containers:
  - name: app
    resources:
      limits: {cpu: 2, memory: 1Gi, workload.openshift.io/enable-shared-cpus: 1}
"""
#: The proposal's PerformanceProfile.
PROFILE = """\
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: example-performance-profile}
spec:
  cpu: {reserved: "0-1", isolated: "4-8", shared: "2-3"}
  hugepages:
    defaultHugepagesSize: "1G"
    pages: [{size: "1G", count: 2, node: 0}]
  realTimeKernel: {enabled: true}
  workloadHints: {mixedCpus: true}
  nodeSelector: {node-role.kubernetes.io/performance: "test"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "inventories/site.yaml": INVENTORY,
        "intents/main.yaml": INTENT,
        "pods.yaml": POD,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def edit(project: Path, name: str, old: str, new: str) -> None:
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new))


def simulated(project: Path, capsys: Capture, code: int = 0) -> str:
    ended, out, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert ended == code, err
    return out


def compiled(project: Path, capsys: Capture) -> str:
    """All files of the cluster and its nodes, in one text."""
    code, _, err = run_in(project, ["compile"], capsys)
    assert code == 0, err
    files = sorted((project / "out/clusters").rglob("*"))
    return "\n".join(path.read_text() for path in files if path.is_file())


@pytest.mark.parametrize(
    ("version", "around"), [("v1", ""), ("v2", "; throttled by a quota of 200000 µs around it")]
)
def test_3_4_with_5_6_is_3_to_6_and_200000_becomes_400000(
    project: Path, capsys: Capture, version: str, around: str
) -> None:
    edit(project, "inventories/site.yaml", "cgroupMode: v2", f"cgroupMode: {version}")
    expected = (
        "vran/dpdk app: cpuset 3-6; environment OPENSHIFT_ISOLATED_CPUS=5-6 "
        f"OPENSHIFT_SHARED_CPUS=3-4; quota 400000 µs{around}\n"
    )
    assert expected in simulated(project, capsys)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_without_a_quota_nothing_throttles(project: Path, capsys: Capture, version: str) -> None:
    edit(project, "inventories/site.yaml", "cgroupMode: v2", f"cgroupMode: {version}")
    edit(project, "pods.yaml", "annotations: {}", "annotations: {cpu-quota.crio.io: disable}")
    out = simulated(project, capsys)
    assert "OPENSHIFT_SHARED_CPUS=3-4; no quota (cpu-quota.crio.io)\n" in out


def test_one_is_fine_and_two_is_refused_with_the_remedy(project: Path, capsys: Capture) -> None:
    assert "1 pod admitted" in simulated(project, capsys)
    edit(project, "pods.yaml", "shared-cpus: 1", "shared-cpus: 2")
    assert "please set the request to 1 or remove it" in simulated(project, capsys, code=1)


def test_requests_wait_where_nothing_is_shared(project: Path, capsys: Capture) -> None:
    edit(project, "intents/main.yaml", "sharedNamespaces: [vran], containersLimit: 15", "")
    edit(project, "intents/main.yaml", '    shared: "3,4"\n', "")
    out = simulated(project, capsys, code=1)
    assert "refused: vran/dpdk: OutOfworkload.openshift.io/enable-shared-cpus" in out


def test_requests_beyond_the_limit_wait(project: Path, capsys: Capture) -> None:
    edit(project, "intents/main.yaml", "containersLimit: 15", "containersLimit: 1")
    (project / "pods.yaml").write_text(f"{POD}---\n{POD.replace('dpdk', 'second')}")
    out = simulated(project, capsys, code=1)
    assert "refused: vran/second: OutOfworkload.openshift.io/enable-shared-cpus" in out


def test_load_balancing_is_off_on_the_isolated_cpus_alone(project: Path, capsys: Capture) -> None:
    annotation = "{cpu-load-balancing.crio.io: disable, cpu-quota.crio.io: disable}"
    edit(project, "pods.yaml", "annotations: {}", f"annotations: {annotation}")
    assert "; no load balancing on CPUs 5-6;" in simulated(project, capsys)


def test_what_the_kubelet_and_crio_are_told(project: Path, capsys: Capture) -> None:
    text = compiled(project, capsys)
    assert "reservedSystemCPUs: 0-4\n" in text
    assert 'workload.mixedcpus.openshift.io/allowed: ""' in text
    code, said, _ = run_in(project, ["explain", "worker-0", "shared_cpuset"], capsys)
    assert (code, "shared_cpuset of crio on worker-0 is 3-4." in said) == (0, True)
    (of_class,) = (project / "out/.cpuplan/classes/lab").glob("*.json")
    settings = {
        f"{setting['component']} {setting['key']}": setting["value"]
        for setting in json.loads(of_class.read_text())["settings"]
    }
    assert settings["mixedcpus shared_cpus.containers_limit"] == 15
    allowed = settings["crio runtimes.high-performance.allowed_annotations"]
    assert "cpu-shared.crio.io" in allowed


def test_partitioning_keeps_management_off_the_shared_cpus(project: Path, capsys: Capture) -> None:
    edit(project, "intents/main.yaml", "pool: cnf,", "pool: cnf, cpuPartitioning: true,")
    assert compiled(project, capsys)
    (of_class,) = (project / "out/.cpuplan/classes/lab").glob("*.json")
    settings = json.loads(of_class.read_text())["settings"]
    pinned = [setting["value"] for setting in settings if "management" in setting["key"]]
    assert pinned
    assert all("0-2" in str(value) and "3" not in str(value) for value in pinned)


def test_the_profile_of_the_proposal(project: Path, capsys: Capture) -> None:
    (project / "intents/main.yaml").write_text(PROFILE)
    text = compiled(project, capsys)
    assert "reservedSystemCPUs: 0-3\n" in text
    code, said, _ = run_in(project, ["explain", "worker-0", "shared_cpuset"], capsys)
    assert (code, "shared_cpuset of crio on worker-0 is 2-3." in said) == (0, True)


@pytest.mark.parametrize(("shared", "other"), [("1-3", "reserved"), ("2-4", "isolated")])
def test_shared_cpus_overlap_neither_reserved_nor_isolated_ones(
    project: Path, capsys: Capture, shared: str, other: str
) -> None:
    profile = PROFILE.replace('shared: "2-3"', f'shared: "{shared}"')
    (project / "intents/main.yaml").write_text(profile)
    code, _, err = run_in(project, ["validate"], capsys)
    assert (code, f"is in both spec.cpu.{other} and spec.cpu.shared" in err) == (1, True), err


def test_without_the_hint_nothing_is_shared(project: Path, capsys: Capture) -> None:
    profile = PROFILE.replace("mixedCpus: true", "mixedCpus: false")
    (project / "intents/main.yaml").write_text(profile)
    text = compiled(project, capsys)
    assert "reservedSystemCPUs: 0-1\n" in text
    assert "enable-shared-cpus" not in text


def test_the_hint_without_shared_cpus_is_an_error(project: Path, capsys: Capture) -> None:
    (project / "intents/main.yaml").write_text(PROFILE.replace(', shared: "2-3"', ""))
    code, _, err = run_in(project, ["validate"], capsys)
    assert (code, "mixedCpus is true, which needs CPUs in spec.cpu.shared" in err) == (1, True)


def test_a_switch_without_shared_cpus_is_an_error(project: Path, capsys: Capture) -> None:
    edit(project, "intents/main.yaml", '    shared: "3,4"\n', "")
    edit(project, "intents/main.yaml", "containersLimit: 15", "mixedCpus: true")
    code, _, err = run_in(project, ["validate"], capsys)
    assert (code, "CP530" in err) == (1, True)
