"""Files of the kernel that show a setting: their forms, and those that are not there."""

from functools import cache
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.kernel import tunables
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.facts.settings.row import Form
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Evidence, Setting, Value
from tests import checked
from tests.machines.plans import plan

FILE, OTHER = "sys/kernel/x/limit", "sys/kernel/x/other"
LACKING = "a copy of a root file system may lack it"


@cache
def expected() -> Expected:
    return checked.expected(plan(platform="kubernetes", version="1.34"))


def answer(root: Path, evidence: Evidence, files: dict[str, str]) -> Answer:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    setting = Setting("tuned", "limit", evidence.value, ())
    return tunables._shown(Subject(Root(root), expected()), setting, evidence)


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (Form.TEXT, " a b \n", "a b"),
        (Form.NUMBER, "-1\n", -1),
        (Form.NUMBER, "0x1f\n", 31),
        (Form.WORD, "always [madvise] never\n", "madvise"),
        (Form.WORD, "madvise\n", "madvise"),
        (Form.MASK, "00000000,0000000f\n", CpuSet(range(4))),
        (Form.CPUS, "0-3\n", CpuSet(range(4))),
        (Form.CPUS, " (null)\n", CpuSet()),
        (Form.CPUS, "\n", CpuSet()),
    ],
)
def test_forms(tmp_path: Path, form: Form, text: str, value: Value) -> None:
    held = answer(tmp_path, Evidence(FILE, form, value), {FILE: text})
    assert held.verdict.value == "held"


@pytest.mark.parametrize(
    ("path", "form", "text", "code"),
    [
        (FILE, Form.NUMBER, "4\n", "CP8201"),
        ("proc/sys/vm/limit", Form.NUMBER, "4\n", "CP8200"),
        (FILE, Form.NUMBER, "\n", None),
        (FILE, Form.NUMBER, "x\n", None),
        (FILE, Form.CPUS, "x\n", None),
        (FILE, Form.MASK, "x\n", None),
    ],
)
def test_another_value(tmp_path: Path, path: str, form: Form, text: str, code: str | None) -> None:
    value = 5 if form is Form.NUMBER else CpuSet((5,))
    given = answer(tmp_path, Evidence(path, form, value), {path: text})
    assert (given.finding and given.finding.code) == code
    if code is None:
        assert given.reason == "it cannot be read as its form says"


@pytest.mark.parametrize(
    ("since", "version", "files", "reason"),
    [
        ("", "6.11.0", {}, "there is no /sys/kernel/x here"),
        ("6.11", "6.10.9", {OTHER: ""}, "it came with Linux 6.11, and the node runs 6.10"),
        ("6.11", "6.11.0", {OTHER: ""}, LACKING),
        ("6.11", "7.0.0", {OTHER: ""}, LACKING),
        ("6.9", "6.10.0", {OTHER: ""}, LACKING),
        ("6.11", "", {OTHER: ""}, LACKING),
        ("", "5.0.0", {OTHER: ""}, LACKING),
    ],
)
def test_a_file_that_is_not_there(
    tmp_path: Path, since: str, version: str, files: dict[str, str], reason: str
) -> None:
    """One that came with a later kernel is not missing; of a running node it would be."""
    running = {"proc/version": f"Linux version {version} (gcc) #1 SMP\n"} if version else {}
    given = answer(tmp_path, Evidence(FILE, Form.NUMBER, 5, since), files | running)
    assert given.reason == reason
    assert given.is_unshown is ("came with" in reason)
    assert given.finding is None
