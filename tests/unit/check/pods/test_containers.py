"""Containers against the kubelet's state file: one fact changed, and exactly its finding."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.pods.cgroups import Tree, container_of
from cpuplan.check.pods.container_cpus import (
    Lost,
    Misplaced,
    Planned,
    assigned,
    by_pod,
    exclusive,
    gone,
    mixed,
    pairs,
    pooled,
    running,
)
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.tasks import read_threads
from cpuplan.upstream.kubelet.cpumanager.state import dump, load
from cpuplan.upstream.kubernetes.kube_features import Gates
from tests import kubepods, processes
from tests.processes import Thread

STATE_FILE = "var/lib/kubelet/cpu_manager_state"
ONLINE, DEFAULT, PLANNED = "0-7", "0-1,6-7", Planned(CpuSet.parse("6-7"), CpuSet.parse("0"))
LATENCY, WEB, MIXED = "1a-1", "2b-2", "3c-3"
#: Identifiers of containers.
PAUSE, FAST, SIDE, PAGE, RADIO = "10a", "11a", "12a", "20b", "30c"


def _place(identifier: str, pod: str = LATENCY, qos: str = "") -> str:
    return f"/{kubepods.container_path(pod, identifier, qos)}"


def make(root: Path) -> Path:
    """Three pods: exclusive CPUs beside a container without, best effort, and mixed CPUs."""
    kubepods.write_root(root, ONLINE)
    kubepods.write_pod(root, LATENCY, {PAUSE: "", FAST: "2-3", SIDE: DEFAULT}, ONLINE)
    kubepods.write_pod(root, WEB, {PAGE: DEFAULT}, ONLINE, "besteffort")
    kubepods.write_pod(root, MIXED, {RADIO: "4-7"}, ONLINE)
    entries = {LATENCY: {"fast": "2-3"}, MIXED: {"radio": "4-5"}}
    kubepods.write_state(root, DEFAULT, entries)
    processes.write(
        root,
        Thread(100, "pause", "0-7", _place(PAUSE)),
        Thread(110, "fast", "2-3", _place(FAST)),
        Thread(110, "worker", "3", _place(FAST), tid=111),
        Thread(120, "side", DEFAULT, _place(SIDE)),
        Thread(200, "nginx", DEFAULT, _place(PAGE, WEB, "besteffort")),
        Thread(300, "radio", "4-7", f"{_place(RADIO, MIXED)}/cgroup-child"),
    )
    environ = "A=b\0OPENSHIFT_ISOLATED_CPUS=4-5\0OPENSHIFT_SHARED_CPUS=6-7\0"
    (root / "proc/300/environ").write_text(environ)
    return root


def judged(folder: Path, partitioned: CpuSet = EMPTY) -> list[Misplaced]:
    root = Root(folder)
    tree, state = Tree(root), assigned(root, STATE_FILE)
    assert not state.problem
    containers = running(root, tree, read_threads(root))
    told = {
        container.container.path: mixed_cpus
        for container in containers
        if (mixed_cpus := mixed(root, container))
    }
    paired = [
        pair
        for pod, ones in by_pod(containers).items()
        for pair in pairs(ones, state.entries.get(pod, {}), told, PLANNED)
    ]
    lost = Lost(CpuSet.parse(ONLINE), partitioned)
    own = {pair.running.container.path for pair in paired}
    others = [
        container
        for container in containers
        if container.container.path not in own and not container.is_pause
    ]
    return [
        *exclusive(tree, paired, lost),
        *gone(state, tree.pods(), STATE_FILE),
        *pooled(tree, others, state.default, EMPTY, lost),
    ]


def test_a_clean_node(tmp_path: Path) -> None:
    assert judged(make(tmp_path)) == []


def _cpuset(
    identifier: str, cpus: str, pod: str = LATENCY, qos: str = ""
) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        folder = root / kubepods.MOUNT / kubepods.container_path(pod, identifier, qos)
        (folder / "cpuset.cpus").write_text(f"{cpus}\n")
        (folder / "cpuset.cpus.effective").write_text(f"{cpus or ONLINE}\n")

    return write


def _effective(root: Path) -> None:
    path = f"{kubepods.MOUNT}/{kubepods.container_path(LATENCY, FAST)}/cpuset.cpus.effective"
    (root / path).write_text("2\n")


def _thread(pid: int, allowed: str, place: str) -> Callable[[Path], object]:
    return lambda root: processes.write(root, Thread(pid, "x", allowed, place, tid=999))


def _state(entries: dict[str, dict[str, str]], default: str = DEFAULT) -> Callable[[Path], object]:
    return lambda root: kubepods.write_state(root, default, entries)


def _remove(pod: str) -> Callable[[Path], object]:
    def remove(root: Path) -> None:
        folder = root / kubepods.MOUNT / kubepods.pod_path(pod)
        folder.rename(root / "gone")
        for process in (root / "proc").iterdir():
            if kubepods.pod_path(pod) in (process / "cgroup").read_text():
                process.rename(root / f"ended-{process.name}")

    return remove


@pytest.mark.parametrize(
    ("change", "who", "observed", "wanted"),
    [
        pytest.param(
            _cpuset(FAST, "0-1"), "container fast 11a", "CPUs 0-1", "CPUs 2-3", id="moved"
        ),
        pytest.param(_cpuset(FAST, ""), "container fast 11a", "of its pod", "CPUs 2-3", id="none"),
        pytest.param(_cpuset(FAST, "2-4"), "fast", "CPUs 2-4", "CPUs 2-3", id="wider"),
        pytest.param(_effective, "container fast 11a", "CPU 2", "CPUs 2-3", id="effective"),
        pytest.param(
            _thread(110, "0-7", _place(FAST)),
            "1 thread of container fast",
            "0-7",
            "2-3",
            id="thread",
        ),
        pytest.param(
            _cpuset(RADIO, "4-6", MIXED), "container radio", "4-6", "4-7", id="half-shared"
        ),
        pytest.param(_cpuset(SIDE, "0-7"), "container 12a", "CPUs 0-7", "0-1,6-7", id="pool"),
        pytest.param(
            _cpuset(PAGE, "2-3", WEB, "besteffort"),
            "container 20b",
            "2-3",
            "0-1,6-7",
            id="on-others",
        ),
        pytest.param(
            _remove(LATENCY), "container fast of pod 1a-1", "no control group", "2-3", id="gone"
        ),
    ],
)
def test_one_change(
    tmp_path: Path, change: Callable[[Path], object], who: str, observed: str, wanted: str
) -> None:
    change(make(tmp_path))
    (only,) = judged(tmp_path)
    assert who in only.who
    assert observed in only.observed
    assert wanted in only.wanted


def test_containers_with_the_same_wrong_cpus_are_one_finding(tmp_path: Path) -> None:
    make(tmp_path)
    kubepods.write_pod(
        tmp_path, "4d", {f"4{letter}": "0-3" for letter in "abcde"}, ONLINE, "burstable"
    )
    (only,) = judged(tmp_path)
    assert only.who == "containers 4a of pod 4d, 4b of pod 4d, 4c of pod 4d and 2 more"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_cpuset(FAST, "3,2"), id="equal"),
        pytest.param(
            _state({LATENCY: {"fast": "2-3", "init": "2"}, MIXED: {"radio": "4-5"}}), id="init"
        ),
    ],
)
def test_no_finding(tmp_path: Path, change: Callable[[Path], object]) -> None:
    change(make(tmp_path))
    assert judged(tmp_path) == []


def test_an_entry_whose_container_is_about_to_start(tmp_path: Path) -> None:
    make(tmp_path)
    folder = tmp_path / kubepods.MOUNT / kubepods.container_path(MIXED, RADIO)
    folder.rename(tmp_path / "gone")
    assert judged(tmp_path) == []


def test_links_to_logs_give_names(tmp_path: Path) -> None:
    """Two containers that have exchanged their CPUs, which sets alone do not tell."""
    make(tmp_path)
    _cpuset(SIDE, "4-5")(tmp_path)
    processes.write(tmp_path, Thread(120, "side", "4-5", _place(SIDE)))
    kubepods.write_state(
        tmp_path, DEFAULT, {LATENCY: {"fast": "4-5", "side": "2-3"}, MIXED: {"radio": "4-5"}}
    )
    strangers = judged(tmp_path)
    logs = tmp_path / "var/log/containers"
    logs.mkdir(parents=True)
    for name, identifier in (("fast", FAST), ("side", SIDE)):
        (logs / f"latency_default_{name}-{identifier}.log").touch()
    assert not strangers
    assert [misplaced.who.split()[1] for misplaced in judged(tmp_path)] == ["fast", "side"]


def test_cpus_that_a_partition_holds_are_reported_of_the_partition(tmp_path: Path) -> None:
    _effective(make(tmp_path))
    assert judged(tmp_path, CpuSet.parse("3")) == []


def test_cpus_that_a_limit_above_takes_are_reported_of_the_limit(tmp_path: Path) -> None:
    _effective(make(tmp_path))
    (tmp_path / kubepods.MOUNT / kubepods.PODS / "cpuset.cpus").write_text("0-2,4-7\n")
    assert judged(tmp_path) == []


def test_a_state_file_that_no_kubelet_reads(tmp_path: Path) -> None:
    path = make(tmp_path) / kubepods.STATE
    for text in ("", "[]", "{}", path.read_text().replace("2-3", "3-4")):
        path.write_text(text)
        assert assigned(Root(tmp_path), STATE_FILE).problem
    path.unlink()
    assert "not here" in assigned(Root(tmp_path), STATE_FILE).problem


def test_a_state_file_of_137_is_read_by_its_data(tmp_path: Path) -> None:
    path = make(tmp_path) / kubepods.STATE
    before = assigned(Root(tmp_path), STATE_FILE)
    given = json.loads(path.read_text())
    state = load(path.read_text(), given["policyName"], Gates())
    text = dump(state, given["policyName"], Gates(version=(1, 37)))
    path.write_text(text)
    assert assigned(Root(tmp_path), STATE_FILE) == before
    path.write_text(text.replace('"dataChecksum":', '"dataChecksum":1'))
    assert assigned(Root(tmp_path), STATE_FILE).problem


def test_a_container_of_control_groups_of_version_1(tmp_path: Path) -> None:
    folder = tmp_path / "sys/fs/cgroup/cpuset/kubepods/pod1a-1/11a"
    folder.mkdir(parents=True)
    for path in (folder, *list(folder.parents)[:3]):
        (path / "cpuset.cpus").write_text("2-3\n")
        (path / "cpuset.effective_cpus").write_text("2\n")
    tree = Tree(Root(tmp_path))
    (only,) = tree.containers()
    assert only == container_of("kubepods/pod1a-1/11a")
    assert (str(tree.cpus(only.path)), str(tree.effective(only.path))) == ("2-3", "2")
