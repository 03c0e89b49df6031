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
