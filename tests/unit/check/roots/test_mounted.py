"""A part of a node: what is not mounted is not looked at, and what is for others is no finding."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.files import Unreadable
from cpuplan.check.host import check
from cpuplan.check.roots import mounted
from cpuplan.check.roots.mounted import HostReader
from cpuplan.check.roots.root import Kind, Root
from cpuplan.check.subject import nowhere
from cpuplan.plan.expected.evidence import Verdict
from tests import checked
from tests.machines.plans import plan, regular

LINES = """\
1 0 0:1 / / ro,relatime - overlay overlay rw
2 1 0:2 / /host/etc ro,relatime - ext4 /dev/vda rw
3 1 0:3 / /host/proc ro - proc proc rw
4 1 0:4 / /host/with\\040blank ro - ext4 /dev/vda rw
5 1 0:5 / /hostile ro - ext4 /dev/vda rw
"""


def test_parts_are_the_mounts_below(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(LINES)
    assert mounted.parts(Path("/host"), table) == frozenset(("etc", "proc", "with blank"))
    assert mounted.parts(Path("/hostile"), table) is None
    assert mounted.parts(Path("/"), table) is None
    assert mounted.parts(Path("/host"), tmp_path / "none") is None


def test_a_path_is_covered_by_whole_names() -> None:
    assert mounted.covers({"etc"}, "etc/hostname")
    assert mounted.covers({"etc"}, "etc")
    assert mounted.covers({"proc", "etc", "sys"}, "etc/hostname")
    assert not mounted.covers((), "etc")
    assert not mounted.covers({"etc"}, "etcetera")
    assert not mounted.covers({"var/lib/kubelet/config.yaml"}, "var/lib/kubelet")


def test_what_is_not_mounted_is_not_missing(tmp_path: Path) -> None:
    root = Root(tmp_path, parts={"etc"})
    assert root.kind is Kind.PART
    assert root.is_running
    assert root.covers("etc/cpuplan/plan.json")
    assert not root.covers("run/systemd/system")


def test_no_file_that_is_not_mounted_is_a_finding(tmp_path: Path) -> None:
    """Of a node of which only /etc is here, only what is below /etc can be missing."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "sys/devices").mkdir(parents=True)
    expected = checked.expected(plan(regular(cores=8), platform="kubernetes", version="1.34"))
    answers = check(Root(tmp_path, parts={"etc"}), expected, "worker-0", nowhere)
    findings = [answer.finding for answer in answers if answer.finding]
    missing = [finding for finding in findings if finding.code == "CP870"]
    assert missing
    assert "/usr/" not in missing[0].message
    shown = [answer for answer in answers if "/usr/" in answer.fact and not answer.finding]
    assert shown
    assert {answer.verdict for answer in shown} == {Verdict.UNVERIFIABLE}


class Denying(HostReader):
    """A reader who is not root."""

    def read(self, path: str, limit: int = 1024) -> bytes:
        if path.startswith("proc/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return super().read(path, limit)


@pytest.mark.parametrize("is_part", [True, False])
def test_what_an_agent_may_not_read_is_no_finding(tmp_path: Path, *, is_part: bool) -> None:
    (tmp_path / "sys/devices").mkdir(parents=True)
    expected = checked.expected(plan(regular(cores=8), platform="kubernetes", version="1.34"))
    parts = {"proc", "sys/devices"} if is_part else None
    root = Root(tmp_path, Denying(tmp_path), parts=parts)
    answers = check(root, expected, "worker-0", nowhere)
    codes = {answer.finding.code for answer in answers if answer.finding}
    withheld = [answer for answer in answers if answer.fact.startswith("readable ")]
    assert withheld
    assert ("CP805" in codes) is not is_part
    wanted = Verdict.UNVERIFIABLE if is_part else Verdict.DIFFERS
    assert {answer.verdict for answer in withheld} == {wanted}
    assert {answer.is_unshown for answer in withheld} == {is_part}


def test_a_single_file_that_was_replaced_is_not_believed(tmp_path: Path) -> None:
    """A file that is mounted by itself stays the old one, whose name another has."""
    (tmp_path / "config.yaml").write_text("new\n")
    with pytest.raises(Unreadable, match="replaced after it was mounted"):
        Stale(tmp_path).read("config.yaml")


class Stale(HostReader):
    """A reader of a mount whose file has no name any more."""

    def _status(self, path: str) -> Any:
        place, name, status = super()._status(path)
        values = list(status)
        values[3] = 0  # st_nlink
        return place, name, os.stat_result(values)
