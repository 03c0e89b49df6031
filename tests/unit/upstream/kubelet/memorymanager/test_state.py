"""The state file of the memory manager."""

import json

import pytest

from cpuplan.upstream.kubelet.memorymanager import state
from cpuplan.upstream.kubelet.memorymanager.state import Block, MemoryState, MemoryTable, NodeState
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates

GATES = Gates()
POD_LEVEL = Gates({"PodLevelResourceManagers": True})


def memory_state() -> MemoryState:
    given = MemoryState()
    given.machine = {0: NodeState(1, {"memory": MemoryTable(2048, 512, 1536, 512, 1024)}, (0,))}
    given.entries = {"pod": {"c": (Block((0,), "memory", 512),)}}
    return given


@pytest.mark.parametrize("gates", [GATES, POD_LEVEL])
def test_it_is_read_as_written(gates: Gates) -> None:
    content = state.dump(memory_state(), "Static", gates)
    read = state.load(content, "Static", gates)
    assert state.dump(read, "Static", gates) == content
    assert read.entries == memory_state().entries


def test_a_file_of_another_policy() -> None:
    content = state.dump(memory_state(), "Static", GATES)
    with pytest.raises(
        KubeletError, match=r'\[memorymanager\] configured policy "None" differs .* "Static"'
    ):
        state.load(content, "None", GATES)


def test_no_file_is_an_empty_state() -> None:
    assert state.load(None, "Static", GATES).machine == {}


def test_what_a_file_lacks_is_zero_or_empty_as_in_go() -> None:
    content = {
        "machineState": {"0": {"memoryMap": {"memory": {"total": 2048}}}},
        "entries": {"pod": {"c": [{}]}},
        "podEntries": {"pod": {}},
    }
    given = state.read(content)
    table = {"total": 2048, "systemReserved": 0, "allocatable": 0, "reserved": 0, "free": 0}
    assert json.loads(state.dump(given, "Static", GATES))["machineState"] == {
        "0": {"numberOfAssignments": 0, "memoryMap": {"memory": table}, "cells": []}
    }
    assert given.entries == {"pod": {"c": (Block((), "", 0),)}}
    assert given.pod_entries == {"pod": ()}
    assert state.read({}).machine == {}


NEW = Gates(version=(1, 37))
#: Recorded (pkg/kubelet/cm/memorymanager/state/state_checkpoint_test.go of 1.37).
DATA = (
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":'
    '{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},'
    '"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory",'
    '"size":512}]}}}'
)
CHECK = 1849615440


def with_data(data: str = DATA, check: int = CHECK) -> str:
    """A file of 1.37; the copy for older kubelets is damaged."""
    return json.dumps(
        {"policyName": "other", "checksum": 1234, "data": data, "dataChecksum": check}
    )


def test_since_137_the_data_is_read_and_not_the_copy() -> None:
    read = state.load(with_data(), "static", NEW)
    assert read.entries == {"pod": {"container1": (Block((0,), "memory", 512),)}}
    assert state.recorded(with_data(), NEW)[0].memory["memory"].total == 2048
    with pytest.raises(KubeletError, match="checkpoint: checkpoint is corrupted"):
        state.load(with_data(), "other", GATES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (with_data(check=1234), "checkpoint is corrupted"),
        (with_data(DATA.replace("2048", "2049")), "checkpoint is corrupted"),
        (
            with_data("{"),
            "failed to deserialize memory manager checkpoint data: unexpected end of JSON input",
        ),
    ],
)
def test_damaged_data_is_not_replaced_by_the_copy(content: str, message: str) -> None:
    with pytest.raises(KubeletError, match=f"could not load v3 checkpoint: {message}"):
        state.load(content, "static", NEW)
    assert state.recorded(content, NEW) == {}


def test_older_files_are_read_and_older_kubelets_read_those_of_137() -> None:
    given = memory_state()
    for writer, reader in ((GATES, NEW), (NEW, GATES), (NEW, NEW)):
        content = state.dump(given, "Static", writer)
        assert state.load(content, "Static", reader).entries == given.entries
