"""A root whose links and folders lead around costs a bounded number of questions.

It never holds for what was not read.
"""

import collections
import gzip
import io
import os
import tarfile
import weakref
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.files import TooLarge, archives
from cpuplan.base.roots.archive import ArchiveReader, Index, pieces_of
from cpuplan.check import host
from cpuplan.check.pods import cgroups as pods_tree
from cpuplan.check.pods.cgroups import MAX_DEPTH, MOUNT, Tree
from cpuplan.check.roots import openings as sources
from cpuplan.check.roots import root as module
from cpuplan.check.roots.limits import BUDGET, KEEPING, LIMITS
from cpuplan.check.roots.root import Kind, Root
from cpuplan.check.subject import Subject, nowhere
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import captured
from tests.mutation import cases

FILES = {
    "proc/cmdline": "quiet\n",
    "proc/1/status": "Name:\tsystemd\nCpus_allowed_list:\t0-3\n",
    "sys/devices/system/cpu/online": "0-15\n",
    "etc/systemd/system/a.service": "[Service]\n",
}
Make = Callable[[Path, dict[str, str], dict[str, str]], Root]


def folder(path: Path, files: dict[str, str], links: dict[str, str]) -> Root:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    for name, target in links.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).symlink_to(target)
    return Root(path)


def archive(path: Path, files: dict[str, str], links: dict[str, str]) -> Root:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return Root(path, ArchiveReader(Index(iter([whole.getvalue()]), KEEPING), LIMITS), Kind.COPY)


both = pytest.mark.parametrize("make", [folder, archive])


def answers(root: Root) -> list[Answer]:
    return host.check(root, captured.expected("plain"), "plain", nowhere)


def codes(checks: list[Answer]) -> set[str]:
    return {answer.finding.code for answer in checks if answer.finding}


@both
@pytest.mark.parametrize(
    "links",
    [
        {"sys/fs/cgroup": "/"},
        {"sys/fs/cgroup": "../.."},
        {"sys/fs/cgroup/a": "/sys/fs/cgroup", "sys/fs/cgroup/b": "..", "sys/fs/cgroup/c": "."},
        {"sys/fs/cgroup": "/etc", "etc/a": "/etc/b", "etc/b": "/sys/fs", "etc/c": "/"},
        {"etc/containers": "/", "etc/systemd/system/x.service.d": "/etc/systemd/system"},
        {"etc/crio/crio.conf.d": "/", "etc/kubernetes/kubelet.conf.d": "/etc"},
        {"proc/2": "1", "proc/3": "..", "proc/1/task": "/proc"},
    ],
    ids=str,
)
def test_links_that_lead_around(make: Make, links: dict[str, str], tmp_path: Path) -> None:
    root = make(tmp_path, FILES, links)
    answers(root)
    assert root.asked < 2500
    assert root.spent is None


@both
def test_many_links_to_one_large_folder_end_with_a_finding(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUDGET", BUDGET._replace(questions=5000))
    threads = {f"large/{number}/status": FILES["proc/1/status"] for number in range(100, 300)}
    links = {f"proc/{number}/task": "/large" for number in range(100, 200)}
    root = make(tmp_path, {**FILES, **threads}, links)
    checks = answers(root)
    assert root.asked <= 5001
    assert "CP8160" in codes(checks)
    (spent,) = [answer for answer in checks if answer.finding and answer.finding.code == "CP8160"]
    assert "at most 5,000" in (spent.finding.message if spent.finding else "")
    after = [answer for answer in checks if "5,000" in answer.reason]
    assert after
    assert all(answer.verdict is Verdict.UNVERIFIABLE for answer in after)


@pytest.mark.parametrize("limit", ["questions", "names", "bytes"])
@pytest.mark.parametrize("name", ["plain", "every-pool"])
def test_a_root_that_ends_early_holds_no_more(
    limit: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever reading ends: what was held is held by the whole root too, and the check fails."""
    expected = captured.expected(name)
    index = Index(pieces_of(str(captured.archive(name))), KEEPING)

    def check() -> tuple[Root, list[Answer]]:
        root = Root(Path("/node"), ArchiveReader(index, LIMITS), Kind.SNAPSHOT)
        return root, host.check(root, expected, name, nowhere)

    held = {answer.fact for answer in check()[1] if answer.verdict is Verdict.HELD}
    seen = 0
    for share in range(1, 2000, 130):
        size = share if limit != "bytes" else share * 300
        monkeypatch.setattr(module, "BUDGET", BUDGET._replace(**{limit: size}))
        root, checks = check()
        if root.spent is None:
            break
        seen += 1
        assert codes(checks) >= {"CP8160"}
        assert {answer.fact for answer in checks if answer.verdict is Verdict.HELD} <= held
    assert seen > 5


def _chain(depth: int) -> dict[str, str]:
    place = "/".join(f"{number}.slice" for number in range(depth))
    return {f"{MOUNT}/cgroup.controllers": "cpuset\n", f"{MOUNT}/{place}/cpuset.cpus": "0-3\n"}


@both
def test_control_groups_of_great_depth_are_not_judged(make: Make, tmp_path: Path) -> None:
    assert len(Tree(make(tmp_path / "a", _chain(MAX_DEPTH), {})).groups) == MAX_DEPTH + 1
    root = make(tmp_path / "b", {**FILES, **_chain(MAX_DEPTH + 1)}, {})
    deep = Tree(root)
    assert deep.problem.startswith("control groups lie deeper than 64 at /sys/fs/cgroup/0.slice/")
    assert set(deep.groups) == {""}
    checks = answers(root)
    assert "CP805" in codes(checks)
    about = [answer for answer in checks if answer.reason == deep.problem]
    assert {answer.verdict for answer in about} == {Verdict.UNVERIFIABLE}


def test_a_folder_with_two_paths_is_entered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As mounts can have it, which only root could make here."""
    root = folder(
        tmp_path, {f"{MOUNT}/a/b/cpuset.cpus": "0\n", f"{MOUNT}/x/cpuset.cpus": "1\n"}, {}
    )
    same = {f"{MOUNT}/x": f"{MOUNT}/a"}
    identity = root.identity

    def mounted(path: str) -> Hashable:
        return identity(same.get(path, path))

    monkeypatch.setattr(root, "identity", mounted)
    groups = set(Tree(root).groups)
    assert ("a" in groups) is not ("x" in groups)
    files = {"d/1/x": "", "d/2/y": ""}
    root = folder(tmp_path / "files", files, {})
    identity_of = root.identity
    monkeypatch.setattr(root, "identity", lambda path: identity_of(path.replace("2", "1")))
    assert len(root.files("d")) == 1


@pytest.fixture
def wide(tmp_path: Path) -> Root:
    """As many partitions as there may be groups, in groups as deep as they may be."""
    chain = "/".join(["a"] * (MAX_DEPTH - 1))
    files = {f"{MOUNT}/cgroup.controllers": "cpuset\n"}
    for number in range(200):
        place = f"{MOUNT}/{chain}/{number}"
        files[f"{place}/cpuset.cpus.partition"] = "root\n"
        files[f"{place}/cpuset.cpus.exclusive"] = "0-3\n"
    return archive(tmp_path, files, {})


def test_what_is_below_a_group_is_found_without_looking_at_all(wide: Root) -> None:
    tree = Tree(wide)
    path = "/".join(["a"] * (MAX_DEPTH - 1))
    assert tree.below(path) == sorted(f"{path}/{number}" for number in range(200))
    assert tree.below(f"{path}/1") == []
    assert len(pods_tree.above(f"{path}/1")) == MAX_DEPTH - 1


def test_hard_links_of_an_archive_cost_what_they_give(tmp_path: Path) -> None:
    """Each is the file that it names, and read as often as it is asked for."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        member = tarfile.TarInfo("etc/x")
        member.size = 1000
        tar.addfile(member, io.BytesIO(b"x" * 1000))
        for number in range(50):
            link = tarfile.TarInfo(f"etc/systemd/system/{number}.service")
            link.type, link.linkname = tarfile.LNKTYPE, "etc/x"
            tar.addfile(link)
    root = Root(
        tmp_path, ArchiveReader(Index(iter([whole.getvalue()]), KEEPING), LIMITS), Kind.COPY
    )
    for number in range(50):
        assert root.read(f"etc/systemd/system/{number}.service") == "x" * 1000
    assert root.asked == 50


def test_a_bind_mount_of_a_group_in_itself(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may mount")
    root = folder(tmp_path, {f"{MOUNT}/a/b/cpuset.cpus": "0\n", f"{MOUNT}/x/y": ""}, {})
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    source, target = str(tmp_path / MOUNT).encode(), str(tmp_path / MOUNT / "x").encode()
    if libc.mount(source, target, None, 4096, None):
        pytest.skip("mounts are not allowed here")
    try:
        assert set(Tree(root).groups) == {"", "a", "a/b"}
    finally:
        libc.umount2(target, 2)


@pytest.mark.parametrize("text", ["512\x1c", "1" * 5000, "\uff11", "\xb2", "1_0", "", "x"])
@pytest.mark.parametrize(
    "path",
    [
        "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
        "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
        "proc/interrupts",
        "cpuplan/interrupts.later",
        "proc/irq/24/smp_affinity_list",
        "proc/meminfo",
        "proc/1/stat",
        "proc/uptime",
        "run/cpuplan-unmovable-interrupts",
        "sys/fs/cgroup/cpu.max",
    ],
)
def test_what_is_almost_a_number(path: str, text: str) -> None:
    """No such text ends a check, and none makes it say yes where it said no."""
    case = cases.case("plain")
    whole = case.image.text(path) or "1\n"
    held = {answer.fact for answer in case.clean if answer.verdict is Verdict.HELD}
    for content in (
        text,
        f"{text}\n",
        f"           CPU0\n 24: {text}\n",
        whole[: len(whole) // 2] + text,
    ):
        checks = case.answers({path: content})
        assert {answer.fact for answer in checks if answer.verdict is Verdict.HELD} <= held


def test_rows_of_interrupts_that_end_early_are_said() -> None:
    case = cases.case("plain")
    table = case.image.text("proc/interrupts") or ""
    row = next(line for line in table.split("\n") if line.split(":")[0].strip().isdigit())
    number = row.partition(":")[0].strip()
    checks = case.answers({"proc/interrupts": table.replace(row, f" {number}: 5")})
    messages = [answer.finding.message for answer in checks if answer.finding]
    assert any(f"no count of each CPU for interrupt {number}" in message for message in messages)


def test_a_bomb_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_SMALL", 1 << 20)
    bomb = gzip.compress(bytes(64 << 20))
    with pytest.raises(TooLarge, match="more than 1,048,576 bytes unpacked, and more than 100"):
        collections.deque(archives.unpacked(iter([bomb])), maxlen=0)
    honest = os.urandom(3 << 20)
    assert b"".join(archives.unpacked(iter([gzip.compress(honest)]))) == honest


def test_a_must_gather_is_opened_node_by_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many nodes, the archives of two at most are in memory."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as tar:
        member = tarfile.TarInfo("proc/cmdline")
        tar.addfile(member, io.BytesIO())
    for number in range(20):
        path = tmp_path / "image/nodes" / f"worker-{number}" / "sysinfo.tgz"
        path.parent.mkdir(parents=True)
        path.write_bytes(body.getvalue())
    alive: list[weakref.ref[Index]] = []
    most = 0

    class Counted(Index):
        def __init__(self, *given: Any) -> None:
            nonlocal most
            super().__init__(*given)
            alive.append(weakref.ref(self))
            most = max(most, sum(reference() is not None for reference in alive))

    monkeypatch.setattr(sources, "Index", Counted)
    openings = sources.openings_at(tmp_path)
    assert [reference.host for reference in openings] == sorted(f"worker-{n}" for n in range(20))
    assert not alive
    for opening in openings:
        assert opening.open().kind is Kind.MUST_GATHER
    assert len(alive) == 20
    assert most <= 2


@pytest.mark.parametrize("place", ["etc/systemd/system", "etc/systemd/system/kubelet.service.d"])
def test_nothing_is_judged_by_a_part_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Also not by later steps, which take what the first one has read."""
    files = {**FILES, **{f"{place}/{number}.conf": "" for number in range(30)}}
    files["etc/systemd/system/kubelet.service"] = "[Service]\nExecStart=/usr/bin/kubelet\n"
    whole = {answer.fact: answer for answer in answers(folder(tmp_path / "a", files, {}))}
    monkeypatch.setattr("cpuplan.check.roots.mounted.LIMITS", LIMITS._replace(names=20))
    checks = answers(folder(tmp_path / "b", files, {}))
    assert "CP805" in codes(checks)
    judged = {"affinities of units", "tuned service.service.fwupd-refresh.timer"}
    seen = [answer for answer in checks if answer.fact in judged]
    assert whole["affinities of units"].verdict is Verdict.HELD
    assert seen
    for answer in seen:
        assert answer.verdict is Verdict.UNVERIFIABLE


def test_what_an_earlier_step_read_in_part_is_not_judged_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cpuplan.check.roots.mounted.LIMITS", LIMITS._replace(names=20))
    root = folder(tmp_path, {f"proc/{number}/x": "" for number in range(1, 30)}, {})
    subject = Subject(root, captured.expected("plain"))

    def reads(subject: Subject) -> Iterator[Answer]:
        subject.cache["processes"] = subject.root.names("proc")
        yield subject.held("one", "proc")

    def takes(subject: Subject) -> Iterator[Answer]:
        yield subject.held("two", str(subject.cache["processes"]))

    def looks_elsewhere(subject: Subject) -> Iterator[Answer]:
        yield subject.held("three", str(subject.root.names("sys")))

    steps = [reads, takes, looks_elsewhere]
    checks = [answer for step in steps for answer in host._run(step, subject)]
    verdicts = {answer.fact: answer.verdict for answer in checks if not answer.finding}
    unknown = Verdict.UNVERIFIABLE
    assert verdicts == {"one": unknown, "two": unknown, "three": Verdict.HELD}
