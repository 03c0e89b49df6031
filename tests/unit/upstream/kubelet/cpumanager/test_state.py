"""The state file of the CPU manager: what is written, and what a kubelet makes of it."""

import json

import pytest

from cpuplan.upstream.kubelet.cpumanager import state
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates

GATES = Gates()
POD_LEVEL = Gates({"PodLevelResourceManagers": True})
#: Recorded (pkg/kubelet/cm/cpumanager/state/state_checkpoint_test.go).
RECORDED = '{"policyName":"none","defaultCpuSet":"1-3","checksum":1850858057}'
OLD = (
    '{"policyName": "none", "defaultCPUSet": "1-3", "checksum": 3680390589,'
    ' "entries": {"containerID1": "4-6", "containerID2": "1-3"}}'
)
WHERE = (
    "please drain this node and delete the CPU manager "
    'checkpoint file "/var/lib/kubelet/cpu_manager_state"'
)


def test_written_as_recorded() -> None:
    assert state.dump(CPUState(0b1110), "none", GATES) == RECORDED


@pytest.mark.parametrize("gates", [GATES, POD_LEVEL])
def test_what_was_written_is_read(gates: Gates) -> None:
    given = CPUState(0b1111, {"b": {"c": 0b110000}, "a": {"x": 1 << 7, "w": 1 << 6}})
    if gates is POD_LEVEL:
        given.pod_entries["b"] = 0b110000
    read = state.load(state.dump(given, "static", gates), "static", gates)
    assert (read.default, read.entries, read.pod_entries) == (
        given.default,
        given.entries,
        given.pod_entries,
    )


def test_the_format_by_container_id_is_migrated() -> None:
    containers = {"containerID1": ("pod", "one"), "containerID2": ("pod", "two")}
    assert state.load(OLD, "none", GATES, containers=containers).entries == {
        "pod": {"one": 0b1110000, "two": 0b1110}
    }
    with pytest.raises(
        KubeletError, match="containerID 'containerID2' not found in initial containers list"
    ):
        state.load(OLD, "none", GATES, containers={"containerID1": ("pod", "one")})


@pytest.mark.parametrize(
    ("content", "policy", "message"),
    [
        ("{", "none", "unexpected end of JSON input"),
        ("", "none", "unexpected end of JSON input"),
        (
            "[]",
            "none",
            "json: cannot unmarshal array into Go value of type state.CPUManagerCheckpointV1",
        ),
        (
            '{"policyName": 1}',
            "none",
            "Go struct field CPUManagerCheckpointV1.policyName of type string",
        ),
        (RECORDED.replace("1-3", "1-2"), "none", "checkpoint is corrupted"),
        (
            RECORDED,
            "static",
            'configured policy "static" differs from state checkpoint policy "none"',
        ),
        (
            '{"policyName":"none","defaultCpuSet":"x"}',
            "none",
            'could not parse default cpu set "x": strconv.Atoi: parsing "x": invalid syntax',
        ),
    ],
)
def test_unusable_files(content: str, policy: str, message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        state.load(content, policy, GATES)
    assert message in str(caught.value)
    assert str(caught.value).startswith("could not restore state from checkpoint: ")
    assert str(caught.value).endswith(f"{WHERE} before restarting Kubelet")


def test_bug_a_wrong_checksum_with_entries_shows_as_a_type_error() -> None:
    """The error of the oldest format hides that of the newest (restoreState)."""
    content = state.dump(CPUState(1, {"p": {"c": 2}}), "static", GATES).replace(
        '"c":"1"', '"c":"2"'
    )
    with pytest.raises(KubeletError, match=r"CPUManagerCheckpointV1\.entries\.p of type string"):
        state.load(content, "static", GATES)


def test_bug_pod_level_managers_cannot_be_turned_off_again() -> None:
    """The checksum covers podEntries, which the format without the gate does not know."""
    content = state.dump(CPUState(1, {"p": {"c": 2}}, {"p": 2}), "static", POD_LEVEL)
    with pytest.raises(KubeletError, match="of type string"):
        state.load(content, "static", GATES)


def test_a_missing_checksum_is_accepted_but_not_in_the_newest_format() -> None:
    content = (
        '{"policyName":"static","defaultCpuSet":"0","podEntries":{"p":{"cpuSet":"1"}},"checksum":0}'
    )
    assert state.load(content, "static", POD_LEVEL).pod_entries == {}


def test_no_file_is_an_empty_state() -> None:
    assert state.load(None, "static", GATES).entries == {}


#: Data and its checksum, as recorded when a kubelet first had them (state_checkpoint_test.go).
DATA, CHECK = '{"policyName":"none","defaultCPUSet":"4-6"}', 657950972
NEW = Gates(version=(1, 37))


def with_data(data: object = DATA, check: object = CHECK, **copy: object) -> str:
    """A file of 1.37; the copy for older kubelets is of another policy."""
    return json.dumps({"policyName": "other", **copy, "data": data, "dataChecksum": check})


def test_since_137_the_data_is_read_and_not_the_copy() -> None:
    assert state.load(with_data(), "none", NEW).default == 0b1110000
    assert state.load(with_data(defaultCpuSet="0", checksum=0), "other", GATES).default == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (with_data(check=1234), "checkpoint is corrupted"),
        (with_data(check=0), "checkpoint is corrupted"),
        (with_data(DATA.replace("4-6", "4-7")), "checkpoint is corrupted"),
        (
            with_data("{"),
            "failed to deserialize cpu manager checkpoint data: unexpected end of JSON input",
        ),
        (
            with_data(""),
            "failed to deserialize cpu manager checkpoint data: unexpected end of JSON input",
        ),
        (with_data(7), "failed to deserialize cpu manager checkpoint: json: cannot unmarshal"),
        (with_data(checksum="x"), "failed to deserialize cpu manager checkpoint: json: cannot"),
    ],
)
def test_damaged_data_is_not_replaced_by_the_copy(content: str, message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        state.load(content, "other", NEW)
    start = "could not restore state from checkpoint: could not load v4 checkpoint: "
    assert str(caught.value).startswith(start + message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "checkpoint: unexpected end of JSON input"),
        (OLD, "CPUManagerCheckpointV2.entries"),
        (RECORDED.replace("1-3", "1-2"), "checkpoint: checkpoint is corrupted"),
    ],
)
def test_since_137_older_files_are_read_but_those_of_the_first_format(
    content: str, message: str
) -> None:
    assert state.load(RECORDED, "none", NEW).default == 0b1110
    with pytest.raises(KubeletError, match=message):
        state.load(content, "none", NEW)


def test_what_137_writes_is_read_by_older_kubelets() -> None:
    gates = Gates({"PodLevelResourceManagers": True}, version=(1, 37))
    given = CPUState(0b1111, {"b": {"c": 0b110000}}, {"b": 0b110000})
    text = state.dump(given, "static", gates)
    assert state.load(text, "static", gates).pod_entries == given.pod_entries
    for older in (NEW, GATES):
        read = state.load(text, "static", older)
        assert (read.entries, read.pod_entries) == (given.entries, {})
