"""`cpuplan simulate`, and KubeletConfigurations in `cpuplan validate`, as a user runs them."""

import json
import re
from pathlib import Path

import pytest

from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]

PODS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: dpdk}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: main
        resources: {limits: {cpu: 4, memory: 1Gi}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: system}
spec:
  template:
    spec:
      containers:
      - name: main
        securityContext: {runAsUser: 0644}
"""
TABLE = """\
worker-0: 3 pods admitted
POD             CONTAINER  QOS         CPUS                  MEMORY OF NODES
default/dpdk-0  main       Guaranteed  1-2,9-10              any
default/dpdk-1  main       Guaranteed  5-6,13-14             any
system/agent    main       BestEffort  (0,3-4,7-8,11-12,15)  any
CPUs in brackets are shared with other containers without exclusive CPUs
left for exclusive use: CPUs 3,7,11,15; the largest request that would be admitted is 4
  NUMA node 0: 2 CPUs (3,11), largest request 2
  NUMA node 1: 2 CPUs (7,15), largest request 2
"""
REFUSED = PODS.replace("replicas: 2", "replicas: 3").replace("cpu: 4", "cpu: 5")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nodes with two NUMA nodes of eight CPUs, two of each reserved."""
    plain_environment(monkeypatch)
    folder = make_project(tmp_path / "project")
    with (folder / "intents/main.yaml").open("a") as intent:
        intent.write("  kubelet:\n    topologyManagerPolicy: best-effort\n")
    (folder / "pods.yaml").write_text(PODS)
    (folder / "refused.yaml").write_text(REFUSED)
    return folder


def test_a_node_is_drawn_and_told(project: Path, capsys: Capture) -> None:
    code, out, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert (code, err) == (0, "")
    assert "│ R  0  8│A  1  9│A  2 10│I  3 11" in out
    assert " A  default/dpdk-0 main  4 CPUs  1-2,9-10\n" in out
    assert out.endswith(f"\n{TABLE}")


def test_workloads_are_the_pods_where_no_others_are_named(project: Path, capsys: Capture) -> None:
    code, _, err = run_in(project, ["simulate", "worker-0"], capsys)
    assert code == 2
    assert "missing file with manifests: intent main has no workloads" in err
    intent = project / "intents/main.yaml"
    workloads = "  workloads:\n  - {name: upf, cpus: 4, pods: 2}\n  - {name: log, cpus: 2}\n"
    intent.write_text(intent.read_text() + workloads)
    code, out, err = run_in(project, ["simulate", "worker-0"], capsys)
    assert (code, err) == (0, "")
    assert "room for workload upf: 2 pods with 4 CPUs each, from isolated\n" in out
    assert "room for workload log: a pod with 2 CPUs, from isolated\n" in out
    assert (
        " A  upf-1 main  4 CPUs  1-2,9-10\n B  upf-2 main  4 CPUs  5-6,13-14\n"
        " C  log-1 main  2 CPUs  3,11\n"
    ) in out
    assert run_in(project, ["simulate", "main", "--any-order"], capsys)[0] == 0


def test_what_is_refused_is_told_in_the_kubelets_words(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["simulate", "worker-0", "refused.yaml"], capsys)
    assert code == 1
    assert (
        "refused: default/dpdk-2: UnexpectedAdmissionError: "
        "Allocate failed due to not enough cpus available"
    ) in out


def test_a_fleet_takes_what_one_node_does_not(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["simulate", "refused.yaml"], capsys)
    assert code == 0
    assert "worker-0: 3 pods admitted" in out
    assert "worker-1: 2 pods admitted" in out
    code, out, _ = run_in(project, ["simulate", "refused.yaml", "--each"], capsys)
    assert code == 1
    assert "worker-0, worker-1: 3 pods admitted, 1 refused" in out


def test_names_of_classes_and_intents(project: Path, capsys: Capture) -> None:
    for name in ("main", "main-small", "lab/main"):
        code, out, _ = run_in(project, ["simulate", name, "pods.yaml", "--each"], capsys)
        assert code == 0
        assert "worker-0, worker-1: 3 pods admitted" in out
    code, _, err = run_in(project, ["simulate", "mian", "pods.yaml"], capsys)
    assert code == 2
    assert "CP250" in err
    assert "main" in err
    assert run_in(project, ["simulate", "worker-0"], capsys)[0] == 2
    assert run_in(project, ["simulate", "worker-0", "none.yaml"], capsys)[0] == 2


def test_json_for_programs(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(
        project, ["simulate", "worker-0", "refused.yaml", "--any-order", "--format", "json"], capsys
    )
    data = json.loads(out)
    assert code == 1
    (node,) = data["nodes"]
    assert [bool(pod["refused"]) for pod in node["pods"]] == [False, False, True, False]
    (container,) = node["pods"][0]["containers"]
    runtime = container.pop("runtime")
    assert container.pop("devices") == []
    assert container == {"name": "main", "cpus": "1-3,9-10", "exclusive": True, "memoryNodes": []}
    assert (runtime["cpuset"], runtime["quota"]) == ("1-3,9-10", -1)
    assert runtime["pod"] == {"shares": 5120, "weight": 196, "quota": -1}
    assert node["left"]["largest"] == 2
    assert [order["proven"] for order in data["orders"]] == [False]
    assert data["diagnostics"] == []


def test_any_order(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["simulate", "main", "pods.yaml", "--any-order"], capsys)
    assert code == 0
    assert "all 3 pods are admitted in every order of arrival" in out
    code, out, _ = run_in(project, ["simulate", "main", "refused.yaml", "--any-order"], capsys)
    assert code == 1
    assert "in this order of arrival, the last pod is refused:" in out


def test_what_ends_at_the_limit_has_its_own_exit_code(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cpuplan.simulate.allocators import base

    monkeypatch.setattr(base, "_POD", 0.5)
    for arguments in (
        ["main", "pods.yaml"],
        ["main", "pods.yaml", "--each"],
        ["main", "pods.yaml", "--with", "static"],
    ):
        code, out, _ = run_in(project, ["simulate", *arguments, "--time-limit", "1"], capsys)
        assert (code, "not simulated" in out) == (6, True)
        assert run_in(project, ["simulate", *arguments, "--time-limit", "1000"], capsys)[0] == 0
    arguments = ["simulate", "main", "pods.yaml", "--any-order"]
    code, out, _ = run_in(project, [*arguments, "--time-limit", "3"], capsys)
    assert code == 6
    assert re.search("not proven: [012] of 3 orders of arrival work", out)
    assert "in every order" not in out


def test_from_state_files(project: Path, capsys: Capture) -> None:
    from cpuplan import pipeline
    from cpuplan.simulate.allocators.base import probe
    from cpuplan.simulate.allocators.kubelet import KubeletAllocator
    from cpuplan.simulate.planned import planned

    plan, _ = pipeline.solve(pipeline.load(project))
    allocator = KubeletAllocator(planned(plan.by_node["lab", "worker-0"]))
    allocator.admit(probe(6, "running"))
    (project / "cpu_manager_state").write_text(allocator.kubelet.stop().cpu_state or "")
    arguments = ["simulate", "worker-0", "pods.yaml", "--state", "cpu_manager_state"]
    code, out, _ = run_in(project, arguments, capsys)
    assert code == 1
    assert "refused: default/dpdk-1" in out
    assert run_in(project, [*arguments[:1], *arguments[2:]], capsys)[0] == 2
    (project / "cpu_manager_state").write_text("{}")
    code, _, err = run_in(project, arguments, capsys)
    assert code == 1
    assert (
        "error[CP701]: the kubelet of class main-small in cluster lab does not start: "
        "start cpu manager error"
    ) in err


NOTE = "note: no kubelet has the dynamic policy; it counts memory, but does not align it\n"


def test_the_dynamic_policy_moves_others(project: Path, capsys: Capture) -> None:
    """Two pods that have gone left 2 CPUs on each NUMA node; one that asks for 4 needs both."""
    from cpuplan import pipeline
    from cpuplan.simulate.allocators.base import probe
    from cpuplan.simulate.allocators.kubelet import KubeletAllocator
    from cpuplan.simulate.planned import planned

    intent = project / "intents/main.yaml"
    intent.write_text(intent.read_text().replace("best-effort", "single-numa-node"))
    plan, _ = pipeline.solve(pipeline.load(project))
    allocator = KubeletAllocator(planned(plan.by_node["lab", "worker-0"]))
    for name in "abcdef":
        assert not allocator.admit(probe(2, name)).refused
    allocator.kubelet.remove("a")
    allocator.kubelet.remove("d")
    (project / "cpu_manager_state").write_text(allocator.kubelet.stop().cpu_state or "")
    arguments = ["simulate", "worker-0", "one.yaml", "--state", "cpu_manager_state"]
    (project / "one.yaml").write_text(PODS.replace("replicas: 2", "replicas: 1"))
    code, out, _ = run_in(project, arguments, capsys)
    assert code == 1
    assert "refused: default/dpdk-0: TopologyAffinityError" in out
    code, out, err = run_in(project, [*arguments, "--policy", "dynamic"], capsys)
    assert (code, err) == (0, NOTE)
    moved = "moved to make room for default/dpdk-0, in this order:\n  c probe: CPUs 3,11 -> 5,13\n"
    assert moved in out
    code, out, _ = run_in(project, [*arguments, "--policy", "dynamic", "--format", "json"], capsys)
    data = json.loads(out)
    assert data["policy"] == "dynamic"
    assert data["nodes"][0]["pods"][0]["moves"] == [
        {"pod": "c", "container": "probe", "old": "3,11", "new": "5,13", "exclusive": True}
    ]


def test_the_dynamic_policy_on_a_fleet(project: Path, capsys: Capture) -> None:
    code, out, _ = run_in(project, ["simulate", "refused.yaml", "--policy", "dynamic"], capsys)
    assert code == 0
    assert "2 nodes: 5 pods admitted" in out
    assert "moved" not in out


def test_policies_that_do_not_exist_or_fit(project: Path, capsys: Capture) -> None:
    code, _, err = run_in(project, ["simulate", "pods.yaml", "--policy", "dynamo"], capsys)
    assert code == 2
    assert "'dynamo' is not one of 'kubelet', 'dynamic'" in err
    intent = project / "intents/main.yaml"
    policy = "cpuManagerPolicy: none"
    intent.write_text(intent.read_text().replace("topologyManagerPolicy: best-effort", policy))
    code, _, err = run_in(project, ["simulate", "pods.yaml", "--policy", "dynamic"], capsys)
    assert code == 2
    assert "the dynamic one replaces the static one, and cpuManagerPolicy is none" in err


def test_what_goes_wrong_with_other_pods_is_told_too(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    options = '{distribute-cpus-across-numa: "true", full-pcpus-only: "true"}'
    intent.write_text(f"{intent.read_text()}    cpuManagerPolicyOptions: {options}\n")
    inventory = project / "inventories/site.yaml"
    inventory.write_text(
        inventory.read_text().replace(
            "coresPerSocket: 4", "coresPerSocket: 16\n    numaNodesPerSocket: 4"
        )
    )
    code, out, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 0
    assert "worker-0: 3 pods admitted" in out
    assert "warning[CP706]" in err


def test_a_kubelet_that_does_not_start_takes_no_pods(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    intent.write_text(f"{intent.read_text()}    configuration: {{oomScoreAdj: 5000}}\n")
    code, out, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert (code, out) == (1, "")
    assert "error[CP703]" in err


def test_a_picture(project: Path, capsys: Capture) -> None:
    code, _, _ = run_in(project, ["simulate", "worker-0", "pods.yaml", "--svg", "node.svg"], capsys)
    assert code == 0
    assert "default/dpdk-1 main" in (project / "node.svg").read_text()
    assert run_in(project, ["simulate", "pods.yaml", "--svg", "node.svg"], capsys)[0] == 2


KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_kubelet_configurations_need_no_project(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "kubelet.yaml").write_text(KUBELET)
    code, _, err = run_in(tmp_path, ["validate", "kubelet.yaml"], capsys)
    assert (code, err) == (0, "valid for the kubelet\n")
    (tmp_path / "kubelet.yaml").write_text(KUBELET + "featureGates: {CPUManager: true}\n")
    assert run_in(tmp_path, ["validate", "kubelet.yaml"], capsys)[0] == 1
    assert (
        run_in(tmp_path, ["validate", "kubelet.yaml", "--target", "kubernetes/1.32"], capsys)[0]
        == 0
    )
    code, _, err = run_in(
        tmp_path, ["validate", "kubelet.yaml", "--target", "kubernetes/1.5"], capsys
    )
    assert code == 2
    assert "kubernetes/1.27 to 1.38" in err


def test_a_kubelet_configuration_beside_the_project_is_for_its_release(
    project: Path, capsys: Capture
) -> None:
    (project / "kubelet.yaml").write_text(KUBELET + "featureGates: {MemoryManager: true}\n")
    code, _, err = run_in(project, ["validate", "kubelet.yaml"], capsys)
    assert (code, err) == (
        0,
        "valid: 2 nodes in 1 class, each with a layout\n",
    )


def test_compiling_says_once_what_the_nodes_will_refuse(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    assert run_in(project, ["compile"], capsys)[0] == 0
    intent.write_text(intent.read_text().replace("cores: 1", "cores: 2"))
    code, _, err = run_in(project, ["compile"], capsys)
    assert code == 0
    assert "warning[CP707]: reservedSystemCPUs changed" in err
    code, _, err = run_in(project, ["compile"], capsys)
    assert (code, "CP707" in err) == (0, False)


def many(project: Path, nodes: str, replicas: int) -> None:
    site = project / "inventories/site.yaml"
    site.write_text(site.read_text().replace("worker-[0-1]", nodes))
    (project / "pods.yaml").write_text(PODS.replace("replicas: 2", f"replicas: {replicas}"))


def test_nodes_that_come_out_alike_are_told_once(project: Path, capsys: Capture) -> None:
    """Three nodes are full with three pods, one has two, the rest its own agent alone."""
    many(project, "worker-[00-19]", 11)
    code, out, _ = run_in(project, ["simulate", "pods.yaml"], capsys)
    assert code == 0
    assert "\nworker-03: 3 pods admitted\n" in out
    assert out.startswith(
        "worker-00, worker-01, worker-02: 4 pods admitted each\n"
        "as on worker-00; the others have pods"
    )
    assert "worker-[04-19]: 1 pod admitted each\n" in out
    assert out.endswith("\n20 nodes: 31 pods admitted\n")
    assert len(out.splitlines()) < 40
    data = json.loads(run_in(project, ["simulate", "pods.yaml", "--format", "json"], capsys)[1])
    assert [group["count"] for group in data["nodes"]] == [3, 1, 16]
    assert len(data["nodes"][2]["nodes"]) == 16


def test_verbose_tells_every_node_and_pod(project: Path, capsys: Capture) -> None:
    many(project, "worker-[00-19]", 70)
    _, out, _ = run_in(project, ["simulate", "pods.yaml"], capsys)
    assert (
        "refused by every node (10); the last node of each class says:\n"
        "  default/dpdk-60 and 9 more like it: UnexpectedAdmissionError"
    ) in out
    assert "20 nodes: 80 pods admitted, 10 refused" in out
    _, out, _ = run_in(project, ["simulate", "pods.yaml", "-v"], capsys)
    assert all(f"\nworker-{number:02}: 4 pods admitted\n" in f"\n{out}" for number in range(20))
    assert all(f"  default/dpdk-{number}: Unexpected" in out for number in range(60, 70))
    data = json.loads(
        run_in(project, ["simulate", "pods.yaml", "--format", "json", "-v"], capsys)[1]
    )
    assert (len(data["nodes"]), len(data["refused"])) == (20, 10)


def test_equal_nodes_of_two_clusters_are_told_once(project: Path, capsys: Capture) -> None:
    site = project / "inventories/site.yaml"
    text = site.read_text()
    site.write_text(
        text
        + text[text.index("---\n") :]
        .replace("cluster: lab", "cluster: far")
        .replace("lab\n", "far\n")
    )
    _, out, _ = run_in(project, ["simulate", "pods.yaml", "--each"], capsys)
    assert out.startswith(
        "far/worker-0, far/worker-1, lab/worker-0, lab/worker-1: 3 pods admitted each\n"
    )


STORAGE = """\
apiVersion: v1
kind: Pod
metadata: {name: cache}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 2, memory: 1Gi, ephemeral-storage: 5Gi, example.com/nic: 1}}
"""


def test_resources_that_the_inventory_lacks_are_not_checked(project: Path, capsys: Capture) -> None:
    (project / "pods.yaml").write_text(STORAGE)
    arguments = ["simulate", "worker-0", "pods.yaml"]
    code, _, err = run_in(project, arguments, capsys)
    assert code == 0
    assert err.startswith(
        "note: requests for ephemeral-storage, example.com/nic are not checked, because"
    )
    given = ["--resource", "ephemeral-storage=4Gi", "--resource", "example.com/nic=1"]
    code, out, err = run_in(project, [*arguments, *given], capsys)
    assert code == 1
    assert err.startswith("note: the NUMA nodes of example.com/nic are not known: ")
    assert "refused: default/cache: OutOfephemeral-storage: Node didn't have enough" in out
    given[1] = "ephemeral-storage=5Gi"
    assert run_in(project, [*arguments, *given], capsys)[0] == 0
    code, _, err = run_in(project, [*arguments, "--resource", "nic"], capsys)
    assert code == 2
    assert "--resource is 'nic'; use NAME=AMOUNT" in err


def test_pod_level_resources_without_their_gate_are_ignored_with_a_note(
    project: Path, capsys: Capture
) -> None:
    own = STORAGE.replace("spec:\n", "spec:\n  resources: {limits: {cpu: 4, memory: 2Gi}}\n")
    (project / "pods.yaml").write_text(
        own.replace(", ephemeral-storage: 5Gi, example.com/nic: 1", "")
    )
    code, _, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 0
    assert err == (
        "note: spec.resources of default/cache is ignored: the feature gate PodLevelResources is "
        "off in Kubernetes 1.33\n"
    )


def test_pods_with_resources_get_no_exclusive_cpus_without_a_gate(
    project: Path, capsys: Capture
) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: cache}\nspec:\n"
        "  resources: {limits: {cpu: 2, memory: 1Gi}}\n"
        "  containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]\n"
    )
    (project / "pods.yaml").write_text(pod)
    intent = project / "intents/main.yaml"
    intent.write_text(intent.read_text().replace('"1.33"', '"1.34"'))
    code, out, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert (code, "main       Guaranteed  (" in out) == (0, True)
    assert err == (
        "note: the containers of default/cache get no exclusive CPUs and no aligned memory: their "
        "pods have spec.resources, and the feature gate PodLevelResourceManagers is off in "
        "Kubernetes 1.34\n"
    )


def test_the_largest_request_is_explained(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    intent.write_text(intent.read_text().replace("best-effort", "single-numa-node"))
    (project / "pods.yaml").write_text(PODS.replace("replicas: 2", "replicas: 0"))
    _, out, _ = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert "the largest request that would be admitted is 6\n  a larger request is refused: " in out
    assert "no NUMA node has 7 free CPUs, which topologyManagerPolicy single-numa-node" in out


MIXED = """\
apiVersion: v1
kind: Pod
metadata: {name: upf, namespace: vran}
spec:
  runtimeClassName: performance-main
  containers:
  - name: fast
    resources: {limits: {cpu: 2, memory: 1Gi, workload.openshift.io/enable-shared-cpus: 1}}
"""


@pytest.fixture
def sharing(project: Path) -> Path:
    """The project on OpenShift, with a shared pool for the namespace vran."""
    intent = project / "intents/main.yaml"
    text = intent.read_text().replace(
        'platform: kubernetes\n    version: "1.33"',
        'platform: openshift\n    version: "4.20"\n    pool: worker',
    )
    text = text.replace("    isolated: rest\n", "    shared: {cores: 1}\n    isolated: rest\n")
    intent.write_text(f"{text}  runtime: {{sharedNamespaces: [vran], containersLimit: 1}}\n")
    (project / "pods.yaml").write_text(MIXED)
    return project


def test_mixed_cpus_as_the_runtime_starts_them(sharing: Path, capsys: Capture) -> None:
    arguments = ["simulate", "worker-0", "pods.yaml"]
    code, out, err = run_in(sharing, arguments, capsys)
    assert (code, err) == (0, "")
    assert "vran/upf  fast       Guaranteed  2,10  " in out
    assert (
        "vran/upf fast: cpuset 1-2,9-10; environment OPENSHIFT_ISOLATED_CPUS=2,10 "
        "OPENSHIFT_SHARED_CPUS=1,9; quota 400000 µs\n"
    ) in out
    _, out, _ = run_in(sharing, [*arguments, "--format", "json"], capsys)
    runtime = json.loads(out)["nodes"][0]["pods"][0]["containers"][0]["runtime"]
    assert runtime["env"] == ["OPENSHIFT_ISOLATED_CPUS=2,10", "OPENSHIFT_SHARED_CPUS=1,9"]
    assert (runtime["cpuset"], runtime["cpusetAfterUpdate"]) == ("1-2,9-10", "1-2,9-10")
    _, out, _ = run_in(sharing, [*arguments, "--policy", "dynamic"], capsys)
    assert "OPENSHIFT_SHARED_CPUS=1,9; quota 400000 µs\n" in out


@pytest.mark.parametrize(("version", "is_annotated"), [("1.31", False), ("1.36", True)])
def test_a_policy_of_kubernetes_annotates_pods(
    sharing: Path, capsys: Capture, version: str, is_annotated: bool
) -> None:
    intent = sharing / "intents/main.yaml"
    text = intent.read_text().replace("openshift", "kubernetes").replace("    pool: worker\n", "")
    text = text.replace('"4.20"', f'"{version}"').replace(", containersLimit: 1", "")
    intent.write_text(text)
    code, out, err = run_in(sharing, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 0, err
    assert ("OPENSHIFT_SHARED_CPUS=1,9; no quota (cpu-quota.crio.io)" in out) == is_annotated
    assert ("annotate the pod with cpu-shared.crio.io/fast: enable" in err) != is_annotated


def test_without_the_handler_no_cpus_are_shared(sharing: Path, capsys: Capture) -> None:
    pods = sharing / "pods.yaml"
    pods.write_text(MIXED.replace("  runtimeClassName: performance-main\n", ""))
    _, out, err = run_in(sharing, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert "OPENSHIFT" not in out
    assert "help: set runtimeClassName: performance-main\n" in err


def test_the_api_server_and_the_kubelet_refuse_shared_cpus(sharing: Path, capsys: Capture) -> None:
    other = MIXED.replace("namespace: vran", "namespace: other").replace("upf", "far")
    second = MIXED.replace("upf", "second")
    (sharing / "pods.yaml").write_text(f"{MIXED}---\n{other}---\n{second}")
    code, out, _ = run_in(sharing, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 1
    assert 'refused: other/far: Forbidden: pods "far" is forbidden: ' in out
    assert "namespace other is not allowed for workload.openshift.io/enable-shared-cpus" in out
    assert "refused: vran/second: OutOfworkload.openshift.io/enable-shared-cpus: " in out


def test_containers_run_in_the_slice_of_their_qos_set(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    strict = '    cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}\n'
    qos = '  qos:\n    bestEffort: "3,11"\n    other: "0-2,4-10,12-15"\n'
    intent.write_text(intent.read_text() + strict + qos)
    code, out, _ = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
    assert code == 0
    assert re.search(r"system/agent +main +BestEffort +\(3,11\)", out)
    assert "outside of the CPU set" not in out
    assert "QoS sets: 10 assignable CPUs (allocatable by KEP-30: 12)\n" in out


def test_huge_pages_whose_node_the_kernel_chooses_are_noted(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    text = intent.read_text()
    note = "note: the kernel chooses the NUMA node of 1 of 3 huge pages of 1G at boot"
    for pages, is_noted in (
        ("{size: 1G, count: 3}", True),
        ("{size: 1G, count: 2}", False),
        ("{size: 1G, count: 3, numaNode: 0}", False),
    ):
        intent.write_text(f"{text}  hugePages: {{pages: [{pages}]}}\n")
        code, _, err = run_in(project, ["simulate", "worker-0", "pods.yaml"], capsys)
        assert (code, note in err) == (0, is_noted)


def test_pods_that_end_let_others_move_together(project: Path, capsys: Capture) -> None:
    """Two pods leave 2 CPUs on each NUMA node: the third one is spread until the first ends."""
    sizes = {"first": 4, "second": 4, "spread": 4}
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  containers:\n"
    pod += "  - {{name: main, resources: {{limits: {{cpu: {}, memory: 1Gi}}}}}}\n"
    (project / "pods.yaml").write_text("---\n".join(pod.format(*row) for row in sizes.items()))
    arguments = ["simulate", "worker-0", "pods.yaml", "--policy", "dynamic"]
    code, out, _ = run_in(project, arguments, capsys)
    assert code == 0
    assert "default/spread  main       Guaranteed  3,7,11,15  any\n" in out
    arguments += ["--end", "default/first"]
    code, out, _ = run_in(project, arguments, capsys)
    assert code == 0
    assert "default/first ends\n  default/spread main: CPUs 3,7,11,15 -> " in out
    assert "default/first   main" not in out
    data = json.loads(run_in(project, [*arguments, "--format", "json"], capsys)[1])
    assert [ended["pod"] for ended in data["nodes"][0]["ended"]] == ["default/first"]
    code, out, _ = run_in(project, [*arguments[:3], "--end", "default/first"], capsys)
    assert (code, "default/spread  main       Guaranteed  3,7,11,15  any\n" in out) == (0, True)
    code, _, err = run_in(project, [*arguments[:3], "--end", "default/none"], capsys)
    assert code == 2
    assert "--end default/none: there is no such pod on the node" in err
    assert run_in(project, ["simulate", "pods.yaml", "--end", "default/first"], capsys)[0] == 2


_PLAIN = PODS.partition("---")[0]
_LSR = _PLAIN.replace(
    "    spec:\n",
    "    metadata: {labels: {koordinator.sh/qosClass: LSR}}\n"
    "    spec:\n      priorityClassName: koord-prod\n",
)


_OWN = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: dpdk}\nspec:\n  containers:\n"
    "  - {name: c, resources: {limits: {cpu: 4, memory: 1Gi}}}\n"
)
_NOT_PLANNED = (
    "note: main-small is not planned for Koordinator: it is simulated with cpuManagerPolicy none, "
    "and with labels for the kubelet's policies"
)


def test_koordinator_in_place_of_the_kubelet(project: Path, capsys: Capture) -> None:
    (project / "lsr.yaml").write_text(_LSR)
    arguments = ["simulate", "worker-0", "lsr.yaml", "--scheduler", "koordinator"]
    code, out, err = run_in(project, [*arguments, "--any-order"], capsys)
    assert (code, err) == (0, f"{_NOT_PLANNED}\n")
    assert "default/dpdk-0  main       LSR  1-2,9-10   any\n" in out
    assert "default/dpdk-1  main       LSR  5-6,13-14  any\n" in out
    assert "all 2 pods are admitted in every order of arrival" in out


def test_koordinator_says_why_nodes_are_filtered_out(project: Path, capsys: Capture) -> None:
    (project / "lsr.yaml").write_text(_LSR.replace("cpu: 4", "cpu: 7"))
    code, out, _ = run_in(project, ["simulate", "lsr.yaml", "--scheduler", "koordinator"], capsys)
    assert code == 0
    (project / "lsr.yaml").write_text(_LSR.replace("cpu: 4", "cpu: 2500m"))
    code, out, _ = run_in(project, ["simulate", "lsr.yaml", "--scheduler", "koordinator"], capsys)
    assert code == 1
    reason = "the requested CPUs of LSR Pod must be integer (on worker-1)"
    assert f'"2500m": {reason}' in out


def test_side_by_side(project: Path, capsys: Capture) -> None:
    (project / "both.yaml").write_text(f"{_LSR}---{PODS.partition('---')[2]}")
    arguments = ["simulate", "worker-0", "both.yaml", "--scheduler", "both"]
    code, out, err = run_in(project, arguments, capsys)
    assert (code, err) == (0, f"{_NOT_PLANNED}\n")
    table = out.partition("\nPOD             KUBELET")[2]
    assert table.splitlines()[1:4] == [
        "default/dpdk-0  1-2,9-10              1-2,9-10",
        "default/dpdk-1  5-6,13-14             5-6,13-14",
        "system/agent    (0,3-4,7-8,11-12,15)  (1-3,5-7,9-11,13-15)",
    ]
    assert re.search(r"\nwhole cores +yes: full-pcpus-only  ", table)
    code, out, _ = run_in(project, [*arguments, "--format", "json"], capsys)
    data = json.loads(out)
    assert data["kubelet"][0]["pods"][0]["containers"][0]["cpus"] == "1-2,9-10"
    assert data["nodes"][0]["pods"][0]["containers"][0]["cpus"] == "1-2,9-10"


def test_mechanisms_side_by_side(project: Path, capsys: Capture) -> None:
    (project / "own.yaml").write_text(_OWN)
    arguments = ["simulate", "worker-0", "own.yaml", "--with"]
    code, out, _ = run_in(project, [*arguments, "static,koordinator"], capsys)
    assert code == 0
    rows = [line.split(maxsplit=2) for line in out.splitlines() if line.startswith("default/dpdk")]
    assert rows == [["default/dpdk", "1-2,9-10", "(12 CPUs)"]]
    assert "no CPUs of their own for default/dpdk; they need the labels" in out
    assert re.search(r"\nCPUs of its own +yes  +yes\n", out)
    assert re.search(r"\nnamed partitions +no  +no\n", out)
    code, out, _ = run_in(project, [*arguments, "static,koordinator", "--adapt"], capsys)
    assert re.search(r"\ndefault/dpdk  +1-2,9-10  +1-2,9-10\n", out)
    assert "no CPUs of their own" not in out


def test_mechanisms_for_programs(project: Path, capsys: Capture) -> None:
    (project / "own.yaml").write_text(_OWN)
    arguments = ["simulate", "worker-0", "own.yaml", "--with", "koordinator,kubelet"]
    code, out, _ = run_in(project, [*arguments, "--format", "json"], capsys)
    data = json.loads(out)
    assert code == 0
    first, second = data["mechanisms"]
    assert (first["mechanism"], first["planned"], first["losing"]) == (
        "koordinator",
        False,
        ["default/dpdk"],
    )
    assert (second["mechanism"], second["planned"], second["losing"]) == ("kubelet", True, [])
    assert second["nodes"][0]["pods"][0]["containers"][0]["cpus"] == "1-2,9-10"
    held = {promise["name"]: promise["held"]["kubelet"]["answer"] for promise in data["promises"]}
    assert (held["exclusive"], held["cache"], held["qos"]) == ("yes", "preferred", "no")


def test_a_mechanism_that_refuses_a_pod_fails(project: Path, capsys: Capture) -> None:
    (project / "own.yaml").write_text(_OWN.replace("cpu: 4", "cpu: 14"))
    arguments = ["simulate", "worker-0", "own.yaml", "--with", "static"]
    code, out, _ = run_in(project, arguments, capsys)
    assert code == 1
    assert "refused: " in out
    as_in_targets = run_in(project, [*arguments[:-1], "kubelet"], capsys)
    assert as_in_targets[:2] == (code, out)


def test_mechanisms_in_one_picture(project: Path, capsys: Capture) -> None:
    (project / "own.yaml").write_text(_OWN)
    arguments = ["simulate", "worker-0", "own.yaml", "--with", "static,koordinator", "--adapt"]
    code, _, _ = run_in(project, [*arguments, "--svg", "own.svg"], capsys)
    picture = (project / "own.svg").read_text()
    assert code == 0
    assert ">kubelet: worker-0<" in picture
    assert ">koordinator: worker-0<" in picture
    assert picture.count(">default/dpdk c<") == 2
    code, _, err = run_in(project, ["simulate", *arguments[2:], "--svg", "own.svg"], capsys)
    assert code == 2
    assert "--svg needs a single node" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--with", "statik"], "there is no mechanism 'statik'"),
        (["--with", ","], "--with needs mechanisms"),
        (["--with", "static", "--scheduler", "both"], "--with and --scheduler exclude each other"),
        (["--with", "static", "--any-order"], "--with and --any-order exclude each other"),
        (["--adapt"], "--adapt is for --with"),
    ],
)
def test_what_does_not_go_side_by_side(
    arguments: list[str], message: str, project: Path, capsys: Capture
) -> None:
    code, _, err = run_in(project, ["simulate", "worker-0", "pods.yaml", *arguments], capsys)
    assert code == 2
    assert message in err


def test_a_policy_is_the_kubelets(project: Path, capsys: Capture) -> None:
    arguments = ["--scheduler", "koordinator", "--policy", "dynamic"]
    code, _, err = run_in(project, ["simulate", "worker-0", "pods.yaml", *arguments], capsys)
    assert code == 2
    assert "--policy and --scheduler exclude each other" in err


WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: train}
spec: {templates: [{name: main, container: {image: x}}]}
---
"""
TYPED_MACHINE = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: train}
spec: {instancetype: {name: u1.medium}, template: {spec: {domain: {devices: {}}}}}
---
"""


@pytest.mark.parametrize("unread", [WORKFLOW, TYPED_MACHINE])
@pytest.mark.parametrize("more", [["--any-order"], [], ["--with", "static"]])
def test_nothing_is_proven_beside_what_is_not_simulated(
    project: Path, capsys: Capture, more: list[str], unread: str
) -> None:
    pod = (
        "kind: Pod\nmetadata: {name: a}\n"
        "spec: {containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}}]}\n"
    )
    (project / "one.yaml").write_text(unread + pod)
    arguments = ["simulate", "worker-0", "one.yaml", *more]
    code, out, err = run_in(project, arguments, capsys)
    assert code == 6
    assert "every order of arrival" not in out or "not proven: some objects are not" in out
    assert " train is not simulated" in err
    code, out, _ = run_in(project, [*arguments, "--format", "json"], capsys)
    data = json.loads(out)
    assert code == 6
    assert "complete" not in data or not data["complete"]
    assert not any(order["proven"] for order in data.get("orders", ()))
    (project / "one.yaml").write_text(pod)
    assert run_in(project, arguments, capsys)[0] == 0
