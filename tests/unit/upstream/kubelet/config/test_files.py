"""KubeletConfiguration files, as far as a kubelet comes with them."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet.server import StageError, load
from cpuplan.upstream.kubernetes.durations import duration_text, parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

FIELD = "Go struct field KubeletConfiguration"
RESERVED = "Go struct field MemoryReservation.reservedMemory"
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0s"),
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("500us", "500µs"),
        ("1.5s", "1.5s"),
        ("1500ms", "1.5s"),
        ("-1s", "-1s"),
        ("1m0.25s", "1m0.25s"),
        ("2ns", "2ns"),
    ],
)
def test_durations(text: str, printed: str) -> None:
    assert duration_text(parse_duration(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("s", 'time: invalid duration "s"'),
    ],
)
def test_no_durations(text: str, message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "reservedSystemCPUs: 4\n",
            f"json: cannot unmarshal number into {FIELD}.reservedSystemCPUs of type string",
        ),
        (
            "cpuManagerPolicyOptions: {full-pcpus-only: true}\n",
            f"json: cannot unmarshal bool into {FIELD}.cpuManagerPolicyOptions of type string",
        ),
        (
            'reservedMemory: [{numaNode: "0"}]\n',
            f"json: cannot unmarshal string into {RESERVED}.numaNode of type int32",
        ),
        ("cpuManagerReconcilePeriod: null\n", 'time: invalid duration ""'),
    ],
)
def test_wrong_types_are_fatal(body: str, message: str) -> None:
    with pytest.raises(StageError) as caught:
        load(HEAD + body)
    assert (caught.value.stage, str(caught.value)) == ("decode", f"failed to decode: {message}")


def test_unknown_fields_are_only_warned_of() -> None:
    loaded = load(HEAD + "cpumanagerpolicy: static\nlogging: {verbosity: 1, colour: true}\n")
    assert loaded.strict_errors == [
        'unknown field "cpumanagerpolicy"',
        'unknown field "logging.colour"',
    ]
    assert loaded.config["cpuManagerPolicy"] == "none"


def test_fields_of_later_releases_are_unknown() -> None:
    body = HEAD + "memoryReservationPolicy: 5\nmaxParallelImagePulls: 0\n"
    loaded = load(body, version=(1, 26))
    assert loaded.errors == []
    assert loaded.strict_errors == [
        'unknown field "maxParallelImagePulls"',
        'unknown field "memoryReservationPolicy"',
    ]
    assert load(HEAD, [body], version=(1, 26)).errors == []
    assert len(load(body.replace(" 5", " x")).errors) == 2


def test_only_the_first_document_counts() -> None:
    assert load(f"{HEAD}maxPods: 5\n---\nmaxPods: 7\n").config["maxPods"] == 5


def test_bug_a_gate_of_a_former_version_crashes_the_kubelet() -> None:
    with pytest.raises(PanicError, match="unrecognized feature gate: MemoryManager"):
        load(HEAD + "featureGates: {MemoryManager: true}\n")
    load(HEAD + "featureGates: {MemoryManager: true}\n", version=(1, 35))
    load(HEAD + "featureGates: {MemoryManager: true}\n", is_openshift=True)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            'reservedSystemCPUs: "0, 1"\n',
            "reservedSystemCPUs (--reserved-cpus) 0, 1, error: strconv.Atoi",
        ),
        (
            "topologyManagerPolicy: numa\n",
            'topologyManagerPolicy (--topology-manager-policy) "numa" must be one of',
        ),
        (
            "cpuCFSQuotaPeriod: 2s\n",
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec",
        ),
        (
            "enforceNodeAllocatable: [system-reserved]\n",
            "systemReservedCgroup (--system-reserved-cgroup) must be",
        ),
        (
            "reservedMemory: [{numaNode: 0, limits: {memory: 0}}]\n",
            "reserved memory may not be zero for NUMA node 0",
        ),
        (
            "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]\n",
            'the limit type "cpu" for NUMA node 0 is not supported',
        ),
        ("maxPods: -1\n", "maxPods (--max-pods) -1 must not be a negative number"),
    ],
)
def test_errors(body: str, error: str) -> None:
    errors = load(HEAD + body).errors
    assert len(errors) == 1
    assert errors[0].startswith("invalid configuration: ")
    assert error in errors[0]


@pytest.mark.parametrize("body", ["cpuManagerPolicy: best\n", "cpuManagerPolicyOptions: {x: y}\n"])
def test_what_only_fails_when_the_managers_are_made(body: str) -> None:
    assert load(HEAD + body).errors == []


def test_cgroup_v1() -> None:
    assert "cgroup v1" in load(HEAD, cgroup_v1=True).errors[0]
    assert load(HEAD, version=(1, 34), cgroup_v1=True).errors == []


def test_drop_ins_merge_maps_replace_lists_and_delete_with_null() -> None:
    main = (
        HEAD
        + "systemReserved: {cpu: '1', memory: 1Gi}\nenforceNodeAllocatable: [none]\nmaxPods: 50\n"
    )
    drop_in = (
        HEAD
        + "systemReserved: {cpu: '2'}\nenforceNodeAllocatable: [pods]\nmaxPods: null\nnonsense: 1\n"
    )
    config = load(main, [drop_in]).config
    assert config["systemReserved"] == {"cpu": "2", "memory": "1Gi"}
    assert config["enforceNodeAllocatable"] == ["pods"]
    assert config["maxPods"] == 110


MERGE = "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 5%}\n"


def test_default_thresholds_are_merged_in_the_configuration_file_only() -> None:
    """Before drop-ins are read: what these say of the default thresholds comes too late."""
    assert len(load(HEAD + MERGE).config["evictionHard"]) == 5
    assert len(load(HEAD + MERGE, version=(1, 32)).config["evictionHard"]) == 1
    drop_in = HEAD + "mergeDefaultEvictionSettings: true\n"
    given = HEAD + "evictionHard: {memory.available: 5%}\n"
    assert load(given, [drop_in]).config["evictionHard"] == {"memory.available": "5%"}


@pytest.mark.parametrize("body", ["evictionHard: null\n", "evictionHard: {}\n"])
def test_default_thresholds_do_not_come_back_after_drop_ins(body: str) -> None:
    is_removed = "null" in body
    config = load(HEAD, [HEAD + body]).config
    assert len(config.get("evictionHard", {})) == (0 if is_removed else 5)
    assert not load(HEAD + "evictionHard: {}\n", [HEAD]).config.get("evictionHard")


def test_a_gate_that_a_drop_in_switches_off_forbids_what_it_had_defaulted() -> None:
    drop_in = HEAD + "featureGates: {KubeletCrashLoopBackOffMax: false}\n"
    (error,) = load(HEAD, [drop_in]).errors
    assert error.endswith("CrashLoopBackOff.MaxContainerRestartPeriod must not be set")
    main = HEAD + "featureGates: {KubeletCrashLoopBackOffMax: false}\n"
    assert load(main).errors == []


def test_openshift_has_the_log_query_on() -> None:
    text = HEAD + "enableSystemLogQuery: true\n"
    assert load(text, version=(1, 34), is_openshift=True).errors == []
    assert len(load(text, version=(1, 34)).errors) == 1


def test_keys_that_are_there_twice_are_one_warning() -> None:
    body = "maxPods: 3\nmaxPods: 4\nport: 1\nport: 2\n"
    loaded = load(HEAD + body)
    assert loaded.strict_errors == [
        (
            "yaml: unmarshal errors:\n"
            '  line 4: key "maxPods" already set in map\n  line 6: key "port" already set in map'
        )
    ]
    assert loaded.config["maxPods"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'kubelet config file "/k.yaml" was empty'),
        ("\n", "failed to decode: Object 'Kind' is missing in '\n'"),
        ("kind: X\n", "failed to decode: Object 'apiVersion' is missing in 'kind: X\n'"),
        (
            "kind: 5\n",
            (
                "failed to decode: couldn't get version/kind; json parse error: json: cannot "
                "unmarshal "
                "number into Go struct field .kind of type string"
            ),
        ),
        ("a: [\n", "failed to decode: yaml: line 1: did not find expected node content"),
    ],
)
def test_files_that_cannot_be_decoded(text: str, message: str) -> None:
    with pytest.raises(StageError) as caught:
        load(text, path="/k.yaml")
    assert str(caught.value).startswith(message)


def test_an_eviction_threshold_in_a_drop_in_joins_the_defaults() -> None:
    """The file is defaulted before drop-ins are merged: a map there joins it."""
    drop_in = HEAD + "evictionHard: {memory.available: 5%}\n"
    assert len(load(HEAD, [drop_in]).config["evictionHard"]) == 5
    assert len(load(HEAD + "evictionHard: {memory.available: 5%}\n").config["evictionHard"]) == 1


@pytest.mark.parametrize(
    ("drop_in", "message"),
    [
        ("maxPods: 5\n", "Object 'Kind' is missing in 'maxPods: 5\n'"),
        (
            HEAD.replace("v1beta1", "v1"),
            "unknown apiVersion/kind: kubelet.config.k8s.io/v1, Kind=KubeletConfiguration",
        ),
        ("", 'kubelet config file "/etc/kubernetes/kubelet.conf.d/01.conf" was empty'),
        ("kind: KubeletConfiguration\n", "unknown apiVersion/kind: /, Kind=KubeletConfiguration"),
        (
            HEAD + "maxPods: 3\nmaxPods: 4\n",
            (
                "strict decoding error: yaml: unmarshal errors:\n"
                '  line 4: key "maxPods" already set in map'
            ),
        ),
        (
            HEAD + "kubeReserved: {cpu: 1}\n",
            (
                "json: cannot unmarshal number into Go struct field "
                "KubeletConfiguration.kubeReserved of type string"
            ),
        ),
    ],
)
def test_drop_ins_that_stop_the_kubelet(drop_in: str, message: str) -> None:
    with pytest.raises(StageError) as caught:
        load(HEAD, [drop_in])
    assert (caught.value.stage, str(caught.value)) == ("dropin", message)


def test_a_number_of_thousands_of_digits_is_no_bug() -> None:
    with pytest.raises(StageError, match="cannot unmarshal number 0x"):
        load(HEAD + "maxPods: 0x" + "f" * 9000 + "\n")


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        (26, {"kubeAPIQPS": 5, "kubeAPIBurst": 10, "eventRecordQPS": 5, "eventBurst": 10}),
        (27, {"kubeAPIQPS": 50, "kubeAPIBurst": 100, "eventRecordQPS": 50, "eventBurst": 100}),
        (29, {"podLogsDir": None, "containerLogMaxWorkers": None, "failCgroupV1": None}),
        (30, {"podLogsDir": "/var/log/pods", "containerLogMaxWorkers": 1, "failCgroupV1": None}),
        (31, {"failCgroupV1": False}),
        (35, {"failCgroupV1": True}),
    ],
)
def test_defaults_of_releases(minor: int, expected: dict[str, Any]) -> None:
    config = load(HEAD, version=(1, minor)).config
    assert {name: config.get(name) for name in expected} == expected
    assert not load(HEAD, version=(1, minor)).errors
