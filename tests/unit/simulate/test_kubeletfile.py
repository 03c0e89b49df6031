"""KubeletConfiguration files: what is found in them, and at which line."""

import pytest

from cpuplan.simulate.files import kubelet_configuration
from cpuplan.simulate.files.kubelet_configuration import File

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

ALPHA = (
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
)

ROWS: list[tuple[str, str, int, int, str]] = [
    ("oomScoreAdj: 5000", "CP703", 3, 14, "must be between -1000 and 1000"),
    ("reservedSystemCPUs: 0, 1", "CP703", 3, 21, "unable to parse reservedSystemCPUs"),
    ("cpuManagerPolicy: Static", "CP703", 3, 19, 'unknown policy: "Static"'),
    ("cpuManagerPolicy: static", "CP703", 3, 19, "unable to determine reserved CPU resources"),
    (
        "cpuManagerPolicyOptions:\n  full-pcpus-only: 'true'",
        "CP703",
        3,
        1,
        "None policy: received unsupported options",
    ),
    (
        (
            "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\ncpuManagerPolicyOptions:\n"
            "  align-by-socket: 'true'"
        ),
        "CP703",
        6,
        20,
        "CPU Manager Policy Alpha-level Options not enabled",
    ),
    (
        (
            "topologyManagerPolicy: restricted\n"
            "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '4'}"
        ),
        "CP703",
        4,
        58,
        "should not be less than 8",
    ),
    ("allowedUnsafeSysctls: [kernel.core]", "CP703", 3, 1, "not known to be namespaced"),
    ("runOnce: true", "CP703", 3, 10, "Runonce mode has been deprecated"),
    ("showHiddenMetricsForVersion: '1.2'", "CP703", 3, 30, "must be omitted or have the value"),
    ("userNamespaces: {idsPerPod: 65537}", "CP703", 3, 29, "must be a multiple of 65536"),
    ("registerWithTaints: [{key: a b}]", "CP703", 3, 1, "invalid taint: {a b"),
    ("memoryReservationPolicy: Some", "CP703", 3, 26, 'Valid options are "None" or'),
    ("memoryManagerPolicy: Static", "CP703", 3, 22, 'amount "0" of type "memory" is not equal'),
    (
        "reservedMemory: [{numaNode: 1, limits: {memory: 1Gi}}]\nmemoryManagerPolicy: Static",
        "CP703",
        3,
        1,
        'is not equal to the value "100Mi"',
    ),
    ("systemReserved: {gpu: '1'}", "CP703", 3, 23, 'cannot reserve "gpu" resource'),
    ("kubeReserved: {memory: much}", "CP703", 3, 24, 'failed to parse quantity "much"'),
    ("memoryManagerPolicy: static", "CP703", 3, 22, 'unknown policy: "static"'),
    ("reservedMemory:\n- numaNode: 0\n  limits: {cpu: 1}", "CP703", 3, 1, 'the limit type "cpu"'),
    (
        (
            "memoryManagerPolicy: Static\nreservedMemory:\n- numaNode: 0\n"
            "  limits: {hugepages-1Gi: 1Gi, memory: 100Mi}"
        ),
        "CP711",
        6,
        12,
        "hugepages-1Gi",
    ),
    ("featureGates:\n  CPUManager: true", "CP702", 4, 3, "unrecognized feature gate: CPUManager"),
    ("reservedSystemCPUs: 4", "CP710", 3, 21, "cannot unmarshal number"),
    ("systemReserved: {cpu: 1}", "CP710", 3, 1, "cannot unmarshal number"),
    ("cpuManagerPolicy: [static", "CP710", 3, 1, "yaml: line 3"),
    ("maxPod: 3", "CP709", 3, 1, 'unknown field "maxPod"'),
    (
        "authentication:\n  webhook: {enable: true}",
        "CP709",
        4,
        13,
        'unknown field "authentication.webhook.enable"',
    ),
    ("maxPods: 3\nmaxPods: 4", "CP709", 4, 1, 'key "maxPods" already set in map'),
]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"), ROWS, ids=[row[0][:20] for row in ROWS]
)
def test_findings(text: str, code: str, line: int, column: int, words: str) -> None:
    (problem,) = kubelet_configuration.check(File("kubelet.yaml", HEAD + text), (1, 36))
    assert problem.code == code
    assert words in problem.message
    assert problem.position is not None
    assert (problem.position.line, problem.position.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1",
        'cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}',
        f"{ALPHA}featureGates: {{CPUManagerPolicyAlphaOptions: true}}",
        "maxPods: 0250",
        (
            "memoryManagerPolicy: Static\nsystemReserved: {memory: 1024Mi}\n"
            "reservedMemory: [{numaNode: 1, limits: {memory: 1Gi}}, {limits: {memory: 100Mi}}]"
        ),
        "memoryManagerPolicy: Static\nevictionHard: {memory.available: 5%}",
        "---\nkind: anything else",
    ],
)  # fmt: skip
def test_nothing_is_found(text: str) -> None:
    assert kubelet_configuration.check(File("kubelet.yaml", HEAD + text), (1, 36)) == []


MAIN = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\nevictionHard: {memory.available: 1Gi}\n"


@pytest.mark.parametrize(
    ("drop_ins", "code", "place", "words"),
    [
        # A part of a configuration is none that has to be whole: the main file has the rest.
        (["cpuManagerPolicyOptions: {full-pcpus-only: 'true'}"], "", "", ""),
        (["reservedSystemCPUs: 0-1,x"], "CP703", "10.conf:3:21", "unable to parse"),
        (["reservedSystemCPUs: 0-1,x", "reservedSystemCPUs: '0'"], "", "", ""),
        (["reservedSystemCPUs: '0'", "maxPods: -1"], "CP703", "20.conf:3:10", "maxPods"),
        # What a drop-in takes away is missed by the file that needs it.
        (["reservedSystemCPUs: null"], "CP703", "kubelet.yaml:3:19", "unable to determine"),
        (["reservedsystemcpus: 0-1,x"], "CP703", "10.conf:3:21", "unable to parse"),
        (["featureGates: {CPUManager: true}"], "CP702", "10.conf:3:16", "unrecognized"),
        (["", "reservedSystemCPUs: 4"], "CP710", "20.conf:3:21", "cannot unmarshal number"),
        (["", "maxPods: 3\nmaxPods: 4"], "CP710", "20.conf:4:1", "already set in map"),
        (["", "maxPod: 3"], "CP709", "20.conf:3:1", 'unknown field "maxPod"'),
        (
            ["", "authentication: {webhook: {enable: true}}"],
            "CP709",
            "20.conf:3:28",
            "webhook.enable",
        ),
        (["memoryManagerPolicy: Some"], "CP703", "10.conf:3:22", "unknown policy"),
    ],
)
def test_drop_ins_are_merged_and_the_one_that_brings_the_value_is_named(
    drop_ins: list[str], code: str, place: str, words: str
) -> None:
    merged = [File(f"{10 * n}.conf", HEAD + text) for n, text in enumerate(drop_ins, 1)]
    problems = kubelet_configuration.check(File("kubelet.yaml", HEAD + MAIN), (1, 36), merged)
    positions = [problem.position for problem in problems if problem.position]
    places = [f"{at.path}:{at.line}:{at.column}" for at in positions]
    assert ([problem.code for problem in problems], places) == (
        [code] * bool(code),
        [place] * bool(code),
    )
    assert all(
        words in problem.message and "of these files" in problem.message for problem in problems
    )


def test_a_drop_in_must_say_what_it_is() -> None:
    (problem,) = kubelet_configuration.check(
        File("kubelet.yaml", HEAD), (1, 36), [File("10.conf", "kind: KubeletConfiguration\n")]
    )
    assert (problem.code, "unknown apiVersion/kind" in problem.message) == ("CP710", True)
    assert problem.position
    assert problem.position.path == "10.conf"


def test_a_kubelet_may_have_drop_ins_only() -> None:
    merged = [File("10.conf", f"{HEAD}cpuManagerPolicy: static\n")]
    (problem,) = kubelet_configuration.check(kubelet_configuration.NO_FILE, (1, 36), merged)
    assert problem.position
    assert problem.position.path == "10.conf"


@pytest.mark.parametrize(("cgroup_v1", "columns"), [(True, [15]), (False, [])])
def test_cgroups(cgroup_v1: bool, columns: list[int]) -> None:
    text = f"{HEAD}failCgroupV1: true\n"
    problems = kubelet_configuration.check(File("kubelet.yaml", text), (1, 34), cgroup_v1=cgroup_v1)
    assert [problem.position and problem.position.column for problem in problems] == columns


def test_gates_go_by_version_and_platform() -> None:
    text = f"{HEAD}featureGates: {{CPUManager: true}}\n"
    assert kubelet_configuration.check(File("kubelet.yaml", text), (1, 32)) == []
    assert kubelet_configuration.check(File("kubelet.yaml", text), (1, 33), openshift=True) == []
    assert [
        problem.code for problem in kubelet_configuration.check(File("kubelet.yaml", text), (1, 33))
    ] == ["CP702"]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (HEAD, True),
        ('{"apiVersion": "kubelet.config.k8s.io/v1beta1",\n "kind": "KubeletConfiguration"}', True),
        ('kind: "KubeletConfiguration"\napiVersion: kubelet.config.k8s.io/v1beta1', True),
        ("apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {}", False),
        ("kind: ConfigMap\n# kubelet.config.k8s.io KubeletConfiguration", False),
    ],
)
def test_files_say_what_they_are(text: str, is_one: bool) -> None:
    assert kubelet_configuration.is_kubelet_configuration(text) is is_one
