"""Expected states that somebody wrote, with the digest of what they say: types are checked."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from cpuplan import pipeline
from cpuplan.plan.expected.state import UnreadableStateError, read
from tests.fuzz.wholes import with_digest
from tests.hosts import make_root
from tests.projects import REPOSITORY, make_project, run_in

STATE = REPOSITORY / "out/clusters/edge/expected/state/du-ice-lake-6338n-1s.json"
#: A place of the file, and what somebody wrote there.
CHANGES: tuple[tuple[tuple[Any, ...], Any], ...] = (
    (("cluster",), 7),
    (("class",), ["a"]),
    (("nodes",), "n0"),
    (("nodes",), [1]),
    (("release", "platform"), "plan9"),
    (("release", "platform"), ["openshift"]),
    (("release", "version"), 4.2),
    (("release", "kubernetes"), "1.33"),
    (("release", "kubernetes"), [1]),
    (("release", "more"), 1),
    (("files",), []),
    (("pools", "reserved"), "0-1"),
    (("pools", "reserved", "cpus"), "0-4294967295"),
    (("settings", 0, "key"), {"a": "b"}),
    (("settings", 0, "value"), None),
    (("settings", 0, "because"), [["a", "b"]]),
    (("settings", 0, "shownBy"), ["a"]),
    (("facts",), ["a"]),
    (("devices",), [{"address": 1, "numaNode": 0}]),
    (("machine", "cpus"), ["0 0 0 0 1000000000000 0 0 0"]),
    (("machine", "cpus"), ["1000000000000 0 0 0 0 0 0 0"]),
    (("machine", "numaNodes"), {"1000000000000": {"memory": 1, "distances": [10]}}),
    (("machine", "numaNodes", "0", "memory"), "16Gi"),
    (("machine", "numaNodes", "0", "distances"), [None]),
)


def test_the_digest_of_others_is_right() -> None:
    assert read(with_digest(json.loads(STATE.read_text()))).cluster == "edge"


@pytest.mark.parametrize(("place", "value"), CHANGES, ids=str)
def test_values_of_another_type_are_refused(place: tuple[Any, ...], value: Any) -> None:
    data = copy.deepcopy(json.loads(STATE.read_text()))
    container = data
    for key in place[:-1]:
        container = container[key]
    container[place[-1]] = value
    with pytest.raises(UnreadableStateError):
        read(with_digest(data))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "{", "[" * 100_000, '{"form": 2}', '{"form": NaN}']
)
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(UnreadableStateError):
        read(text)


#: Components and keys of settings, and facts, whose values only what compares them knows.
UNCOMPARABLE: tuple[tuple[str, str, Any], ...] = (
    ("kubelet", "reservedMemory", ["text"]),
    ("kubelet", "reservedMemory", [{"numaNode": 0, "limits": "1Gi"}]),
    ("kubelet", "cpuManagerPolicyOptions", 7),
)


@pytest.mark.parametrize(("component", "key", "value"), UNCOMPARABLE, ids=str)
def test_values_that_no_compilation_gives_are_no_bug(
    component: str, key: str, value: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = make_project(tmp_path / "project")
    assert run_in(made, ["compile"], capfd)[0] == 0
    plan, _ = pipeline.solve(pipeline.load(made))
    root = make_root(plan.by_node["lab", "worker-0"], tmp_path / "node")
    (path,) = (made / "out/clusters/lab/expected/state").glob("*.json")
    data = json.loads(path.read_text())
    settings = [setting for setting in data["settings"] if setting["key"] != key]
    first = [setting["component"] for setting in settings].index(component)
    settings.insert(first, {"component": component, "key": key, "value": value, "because": []})
    path.write_text(with_digest({**data, "settings": settings}))
    code, _, err = run_in(made, ["check", "worker-0", "--root", str(root)], capfd)
    assert code == 1
    assert "error[CP8175]: worker-0 cannot be compared" in err
