"""Pods from manifests."""

import pytest

from cpuplan.language.read import yaml
from cpuplan.simulate import manifests
from cpuplan.simulate.manifests import MOST, Manifests

TEMPLATE = "{spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}"


def read(text: str) -> Manifests:
    sources, problems = yaml.parse("pods.yaml", text)
    assert not problems
    return manifests.read(sources)


POD = "spec: {containers: [{name: c}]}"


def workload(kind: str, fields: str = "") -> str:
    return f"kind: {kind}\nmetadata: {{name: a}}\nspec: {{{fields}template: {TEMPLATE}}}\n"


CRON_JOB = (
    "kind: CronJob\nmetadata: {name: a}\n"
    f"spec: {{jobTemplate: {{spec: {{parallelism: 2, template: {TEMPLATE}}}}}}}"
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"kind: Pod\nmetadata: {{name: a}}\n{POD}", ["default/a"]),
        (f"kind: Pod\nmetadata: {{name: a, namespace: b}}\n{POD}", ["b/a"]),
        (f"kind: Pod\nmetadata: {{generateName: a-}}\n{POD}", ["default/a-"]),
        (workload("Deployment"), ["default/a-1"]),
        (workload("Deployment", "replicas: 2, "), ["default/a-1", "default/a-2"]),
        (workload("Deployment", "replicas: 0, "), []),
        (workload("StatefulSet", "replicas: 2, "), ["default/a-0", "default/a-1"]),
        (workload("DaemonSet"), ["default/a"]),
        (workload("Job", "completions: 9, "), ["default/a-1"]),
        (workload("Job", "parallelism: 9, completions: 1, "), ["default/a-1"]),
        (CRON_JOB, ["default/a-1", "default/a-2"]),
        ("kind: Service\nmetadata: {name: a}", []),
        (
            f"kind: List\nitems: [{{kind: Service}}, {{kind: Pod, metadata: {{name: b}}, {POD}}}]",
            ["default/b"],
        ),
        (f"kind: PodList\nitems: [{{metadata: {{name: b}}, {POD}}}]", ["default/b"]),
    ],
)
def test_as_many_pods_as_the_controllers_would_make(text: str, names: list[str]) -> None:
    objects = read(text)
    assert [item.pod.uid for item in objects.items] == names
    assert not objects.diagnostics


def test_only_daemon_sets_are_on_each_node() -> None:
    text = f"{workload('DaemonSet')}---\nkind: Pod\nmetadata: {{name: b}}\n{POD}\n"
    assert [item.on_each_node for item in read(text).items] == [True, False]


def test_other_kinds_are_named() -> None:
    assert read("kind: Service\n---\nkind: Role\n---\nkind: Service\n").others == (
        "Service",
        "Role",
    )


def asking(requests: str, limits: str) -> str:
    head = "kind: Pod\nspec:\n  containers:\n  - name: a\n    resources:\n"
    return f"{head}      requests: {requests}\n      limits: {limits}\n"


@pytest.mark.parametrize(
    ("requests", "limits"),
    [
        ("{cpu: 4}", "{cpu: 4000m}"),
        ("{cpu: 1, memory: 1Gi}", "{memory: 2Gi}"),
        ("{}", "{a.io/b: 2}"),
        ("{a.io/b: 2}", "{a.io/b: '2'}"),
    ],
)
def test_limits_that_the_api_server_takes(requests: str, limits: str) -> None:
    (item,) = read(asking(requests, limits)).items
    assert item.pod.name == "pod"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("metadata: {}\n", 1, "has no kind"),
        ("kind: Deployment\nspec: {replicas: 1}\n", 1, "has no spec.template"),
        (
            f"kind: Deployment\nspec:\n  replicas: -1\n  template: {TEMPLATE}\n",
            3,
            "spec.replicas is -1",
        ),
        (
            f"kind: Deployment\nspec:\n  replicas: {MOST + 1}\n  template: {TEMPLATE}\n",
            3,
            "of all pods together",
        ),
        ("kind: Pod\nspec:\n  containers: []\n", 2, "has no spec.containers"),
        ("kind: Pod\nspec:\n  containers:\n  - image: a\n", 4, "has a container without a name"),
        ("kind: Pod\nspec:\n  containers:\n  - name: a\n  - name: a\n", 5, "has two containers a"),
        (
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    resources: {limits: {cpu: -1}}\n",
            5,
            "limits cpu is -1",
        ),
        (
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    resources: {limits: 4}\n",
            5,
            "limits is not a mapping",
        ),
        (
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    resources: []\n",
            5,
            "resources is not a mapping",
        ),
        (
            "kind: Pod\nspec: {overhead: {cpu: x}, containers: [{name: a}]}\n",
            2,
            "overhead cpu is 'x'",
        ),
        (asking("{cpu: 4}", "{cpu: 2500m}"), 6, "requests cpu 4, but its limit is 2500m"),
        (asking("{a.io/b: 1}", "{a.io/b: 2}"), 6, "limit must be the same, but it is 2"),
        (asking("{hugepages-2Mi: 4Mi}", "{}"), 6, "limit must be the same, but there is none"),
        ("kind: List\nitems:\n- 4\n", 3, "has no kind"),
        (f"kind: Pod\n{POD}\n---\nkind: Pod\n{POD}\n", 4, "is the second pod default/pod"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(text: str, line: int, problem: str) -> None:
    (diagnostic,) = read(text).diagnostics
    assert diagnostic.code == "CP720"
    assert problem in diagnostic.message
    assert diagnostic.position is not None
    assert diagnostic.position.line == line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"kind: Pod\nmetadata: foo\n{POD}", "has metadata that is not a mapping"),
        (f"kind: Pod\nmetadata: {{name: [a]}}\n{POD}", "has metadata.name that is not text"),
        (f"kind: Pod\nmetadata: {{uid: 1}}\n{POD}", "has metadata.uid that is not text"),
        (
            f"kind: Pod\nmetadata: {{annotations: []}}\n{POD}",
            "has metadata.annotations that is not a mapping",
        ),
        (
            f"kind: Pod\nmetadata: {{annotations: {{a: 1}}}}\n{POD}",
            "has the annotation a that is not text",
        ),
        (f"kind: Pod\nstatus: x\n{POD}", "has status that is not a mapping"),
        (
            f"kind: Pod\n{POD[:-1]}, priority: high}}",
            "has spec.priority that is not a whole number",
        ),
        (
            f"kind: Deployment\nmetadata: foo\nspec: {{template: {TEMPLATE}}}",
            "has metadata that is not a mapping",
        ),
        ("kind: List\nitems: 3", "has items that are not a list"),
    ],
)
def test_fields_of_another_type(text: str, problem: str) -> None:
    objects = read(text)
    assert objects.items == ()
    assert [problem in diagnostic.message for diagnostic in objects.diagnostics] == [True], (
        objects.diagnostics
    )


CONTAINERS = "spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}"


def custom(version: str, kind: str, spec: str) -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"


JOBS = """
{replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 3, template: {T}}}}]}
"""
RAY = """
headGroupSpec: {template: {T}}
workerGroupSpecs: [{groupName: gpu, minReplicas: 2, numOfHosts: 2, template: {T}}]
"""
TASKS = "{tasks: [{name: ps, template: {T}}, {name: worker, replicas: 2, template: {T}}]}"
LEADERS = "{size: 4, leaderTemplate: {T}, workerTemplate: {T}}"
ROLES = "{Launcher: {template: {T}}, Worker: {replicas: 2, template: {T}}}"


@pytest.mark.parametrize(
    ("version", "kind", "spec", "counts"),
    [
        ("argoproj.io/v1alpha1", "Rollout", "{replicas: 3, template: {T}}", {"": 3}),
        ("serving.knative.dev/v1", "Service", "{template: {T}}", {"": 1}),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            f"{{mpiReplicaSpecs: {ROLES}}}",
            {"launcher-": 1, "worker-": 2},
        ),
        ("batch.volcano.sh/v1alpha1", "Job", TASKS, {"ps-": 1, "worker-": 2}),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            f"{{replicas: 2, leaderWorkerTemplate: {LEADERS}}}",
            {"leadertemplate-": 2, "workertemplate-": 6},
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "{replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: {T}}}",
            {"workertemplate-": 8},
        ),
        (
            "ray.io/v1",
            "RayCluster",
            f"{{{', '.join(RAY.strip().splitlines())}}}",
            {"headgroupspec-": 1, "gpu-": 4},
        ),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", JOBS.strip(), {"w-": 6}),
    ],
)
def test_templates_are_read_wherever_they_stand(
    version: str, kind: str, spec: str, counts: dict[str, int]
) -> None:
    objects = read(custom(version, kind, spec.replace("T}", f"{CONTAINERS}}}")))
    names = [
        f"default/a-{label}{number}"
        for label, count in counts.items()
        for number in range(1, count + 1)
    ]
    assert [item.pod.uid for item in objects.items] == names
    assert {diagnostic.code for diagnostic in objects.diagnostics} == {"CP7461"}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("kubevirt.io/v1", "VirtualMachineInstanceMigration", "{vmiName: a}"),
        ("export.kubevirt.io/v1", "VirtualMachineExport", "{source: {name: a}}"),
        ("argoproj.io/v1alpha1", "Workflow", "{templates: [{container: {image: x}}]}"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "{driver: {cores: 1, memory: 1g}}"),
        ("kafka.strimzi.io/v1", "Kafka", "{kafka: {resources: {limits: {cpu: 4}}}}"),
        ("example.com/v1", "Thing", "{podSpec: {containers: [{name: c}]}}"),
    ],
)
def test_what_is_not_read_is_named(version: str, kind: str, spec: str) -> None:
    objects = read(custom(version, kind, spec))
    assert not objects.items
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP7460"]
    assert objects.diagnostics[0].message.startswith(f"{kind} a is not simulated: ")


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("v1", "PodTemplate", "{template: {T}}"),
        ("v1", "ResourceQuota", "{hard: {limits: {cpu: 4}}}"),
        ("kyverno.io/v1", "ClusterPolicy", "{rules: [{template: {T}}]}"),
        ("karpenter.sh/v1", "NodePool", "{limits: {cpu: 100}}"),
        ("cert-manager.io/v1", "Certificate", "{secretName: a}"),
        ("kubevirt.io/v1", "KubeVirt", "{workloads: {}}"),
    ],
)
def test_objects_without_pods_are_ignored(version: str, kind: str, spec: str) -> None:
    objects = read(custom(version, kind, spec.replace("T}", f"{CONTAINERS}}}")))
    assert not objects.items
    assert not objects.diagnostics


def test_replicas_that_are_no_number_are_named() -> None:
    spec = f"{{replicas: many, template: {{{CONTAINERS}}}}}"
    objects = read(custom("argoproj.io/v1alpha1", "Rollout", spec))
    assert not objects.items
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP720"]
    assert "spec.replicas is 'many'" in objects.diagnostics[0].message


def test_an_object_that_is_too_large_is_named() -> None:
    spec = f"[{', '.join(['{a: 1}'] * 20_001)}]"
    objects = read(custom("example.com/v1", "Thing", spec))
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP7460"]


def machine(kind: str, spec: str, version: str = "kubevirt.io/v1") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"


DOMAIN = "domain: {cpu: {cores: 4, dedicatedCpuPlacement: true}, memory: {guest: 1Gi}}"
TEMPLATES = f"template: {{spec: {{{DOMAIN}}}}}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (machine("VirtualMachineInstance", f"{{{DOMAIN}}}"), ["a"]),
        (machine("VirtualMachine", f"{{runStrategy: Always, {TEMPLATES}}}"), ["a"]),
        (
            machine("VirtualMachineInstanceReplicaSet", f"{{replicas: 2, {TEMPLATES}}}"),
            ["a-1", "a-2"],
        ),
        (machine("VirtualMachineInstanceReplicaSet", f"{{{TEMPLATES}}}"), ["a-1"]),
        (
            machine(
                "VirtualMachinePool",
                f"{{replicas: 3, virtualMachineTemplate: {{spec: {{{TEMPLATES}}}}}}}",
                "pool.kubevirt.io/v1beta1",
            ),
            ["a-1", "a-2", "a-3"],
        ),
        (
            f"apiVersion: v1\nkind: List\nitems: [{{kind: VirtualMachine, spec: {{{TEMPLATES}}}}}]",
            ["virtualmachine"],
        ),
    ],
)
def test_machines_run_in_pods_of_virt_launcher(text: str, names: list[str]) -> None:
    objects = read(text)
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP7566"]
    assert [item.pod.name for item in objects.items] == [f"virt-launcher-{name}" for name in names]
    for item in objects.items:
        assert str(item.pod.containers[0].limits["cpu"]) == "4"
        assert item.place("compute") is not None


INSTANCETYPE = machine(
    "VirtualMachineClusterInstancetype",
    "{cpu: {guest: 6, dedicatedCPUPlacement: true}, memory: {guest: 1Gi}}",
    "instancetype.kubevirt.io/v1beta1",
)
TYPED = machine(
    "VirtualMachine", "{instancetype: {name: a}, template: {spec: {domain: {devices: {}}}}}"
)


@pytest.mark.parametrize("text", [f"{INSTANCETYPE}---\n{TYPED}", f"{TYPED}---\n{INSTANCETYPE}"])
def test_instancetypes_are_read_from_the_files(text: str) -> None:
    (item,) = read(text).items
    assert str(item.pod.containers[0].limits["cpu"]) == "6"


def test_an_instancetype_that_is_missing_is_named() -> None:
    objects = read(TYPED)
    assert not objects.items
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP7567"]
    assert objects.diagnostics[0].position
    assert objects.diagnostics[0].position.line == 4


def test_the_kubevirt_object_says_how_the_cluster_is() -> None:
    config = "{configuration: {developerConfiguration: {cpuAllocationRatio: 1}}}"
    instance = machine("VirtualMachineInstance", "{domain: {memory: {guest: 1Gi}}}")
    (item,) = read(f"{instance}---\n{machine('KubeVirt', config)}").items
    assert str(item.pod.containers[0].requests["cpu"]) == "1"


def test_what_kubevirt_refuses_is_named_at_its_place() -> None:
    spec = (
        "\n  domain:\n    cpu: {cores: 4, isolateEmulatorThread: true}\n    memory: {guest: 1GiB}"
    )
    objects = read(machine("VirtualMachineInstance", spec))
    assert not objects.items
    (problem,) = objects.diagnostics
    assert problem.code == "CP7565"
    assert problem.position
    assert problem.position.line == 7


@pytest.mark.parametrize("status", ["Succeeded", "Failed"])
def test_pods_that_have_ended_are_named(status: str) -> None:
    objects = read(f"kind: Pod\nmetadata: {{name: a}}\nstatus: {{phase: {status}}}\n{POD}")
    assert not objects.items
    assert [diagnostic.code for diagnostic in objects.diagnostics] == ["CP7569"]


def owned(kind: str, name: str, owner: str, owners_name: str) -> str:
    reference = f"{{kind: {owner}, name: {owners_name}, controller: true}}"
    return f"kind: {kind}\nmetadata: {{name: {name}, ownerReferences: [{reference}]}}\n"


def test_what_controllers_made_counts_once() -> None:
    """As in `kubectl get all -o yaml`."""
    replicas = owned("ReplicaSet", "a-1", "Deployment", "a")
    texts = [
        workload("Deployment", "replicas: 2, "),
        f"{replicas}spec: {{replicas: 2, template: {TEMPLATE}}}\n",
        f"{owned('Pod', 'a-1-x', 'ReplicaSet', 'a-1')}{POD}\n",
        f"{owned('Pod', 'a-1-y', 'ReplicaSet', 'a-1')}{POD}\n",
    ]
    objects = read("---\n".join(texts))
    assert [item.pod.uid for item in objects.items] == ["default/a-1-x", "default/a-1-y"]
    (note,) = objects.diagnostics
    assert note.code == "CP7568"
    assert note.message == (
        "not read from Deployment a, ReplicaSet a-1: what their controllers made is in the files"
    )


def test_containers_of_knative_need_no_name() -> None:
    spec = "{template: {spec: {containers: [{resources: {limits: {cpu: 2, memory: 1Gi}}}]}}}"
    (item,) = read(custom("serving.knative.dev/v1", "Service", spec)).items
    assert item.pod.containers[0].name == "user-container-0"
    assert item.place("user-container-0") is not None
