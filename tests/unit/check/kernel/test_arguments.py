"""Boot arguments: the entry that boots next, what it lacks, and where a finding points."""

from functools import cache
from pathlib import Path

import pytest

from cpuplan.check.kernel import arguments
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components import kernel
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.upstream.linux.loaders import Entry
from tests import checked
from tests.machines.plans import plan

CONFS, ENTRIES = "boot/loader/loader.conf", "boot/loader/entries"
GRUB, BLOCK = "boot/grub/grub.cfg", "boot/grub/grubenv"


@cache
def expected() -> Expected:
    """Of a plain node: `audit=0 skew_tick=1` and what follows from its pools."""
    spec = {"kernel": {"extraArguments": ["audit=0", "skew_tick=1"]}}
    made = plan(platform="kubernetes", version="1.34", spec=spec)
    return checked.expected(made)


@cache
def planned() -> str:
    """The command line that the plan asks for."""
    settings = expected().settings.of(kernel.NAME)
    return " ".join(map(kernel.argument, settings))


def subject(root: Path, files: dict[str, str]) -> Subject:
    for path, text in {"proc/cmdline": planned(), **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text.replace("PLANNED", planned()))
    return Subject(Root(root), expected())


def lacking(root: Path, files: dict[str, str]) -> tuple[str, int, list[str]] | None:
    """The file that decides, its line, and the planned arguments that it has not."""
    lack = arguments.lacking_at_boot(subject(root, files))
    if lack is None:
        return None
    keys = [setting.key for setting in lack.settings if setting.key in ("audit", "skew_tick")]
    return lack.source.path, lack.source.line, keys


BOTH = ["audit", "skew_tick"]
MENU = (
    "menuentry 'a' --id one {\n linux /vmlinuz PLANNED\n}\n"
    "menuentry 'b' --id two {\n linux /vmlinuz ro\n}\n"
)


@pytest.mark.parametrize(
    ("files", "decides"),
    [
        ({}, None),
        ({GRUB: MENU}, (GRUB, 2, [])),
        ({GRUB: f'set default="1"\n{MENU}'}, (GRUB, 6, BOTH)),
        ({GRUB: f'set default="0"\n{MENU}'}, (GRUB, 3, [])),
        ({GRUB: f'set default="two"\n{MENU}'}, (GRUB, 6, BOTH)),
        ({GRUB: f'set default="b"\n{MENU}'}, (GRUB, 6, BOTH)),
        ({GRUB: f'set default="sub>two"\n{MENU}'}, (GRUB, 6, BOTH)),
        ({GRUB: f'set default="t*"\n{MENU}'}, (GRUB, 6, BOTH)),
        ({GRUB: f'set default="none"\n{MENU}'}, (GRUB, 3, [])),
        ({GRUB: f'set default="9"\n{MENU}'}, (GRUB, 3, [])),
        ({GRUB: MENU, BLOCK: "# GRUB Environment Block\nsaved_entry=two\n"}, (GRUB, 5, BOTH)),
        (
            {f"{ENTRIES}/a.conf": "version 1\noptions PLANNED\n", f"{ENTRIES}/b.txt": "options ro"},
            (f"{ENTRIES}/a.conf", 2, []),
        ),
        (
            {
                f"{ENTRIES}/a.conf": "version 2\noptions PLANNED\n",
                f"{ENTRIES}/b.conf": "version 1\n\noptions audit=0\n",
                CONFS: "default b.conf\n",
            },
            (f"{ENTRIES}/b.conf", 3, ["skew_tick"]),
        ),
        (
            {f"{ENTRIES}/rescue.conf": "version 2\noptions PLANNED\n"},
            (f"{ENTRIES}/rescue.conf", 2, []),
        ),
        # A menu that was made is right, and what the next one is made from is not.
        (
            {GRUB: MENU, "etc/default/grub": "GRUB_CMDLINE_LINUX=ro\n"},
            ("etc/default/grub", 1, BOTH),
        ),
        ({GRUB: MENU, "etc/kernel/cmdline": "audit=0\n"}, ("etc/kernel/cmdline", 1, ["skew_tick"])),
        ({"etc/kernel/cmdline": "audit=0\n"}, None),
        ({"etc/default/grub.d/x": ""}, None),
        (
            {"etc/default/grub.d/x.cfg": "GRUB_TIMEOUT=1\n"},
            ("etc/default/grub.d/50-cpuplan.cfg", 1, BOTH),
        ),
        (
            {
                "etc/default/grub.d/a.cfg": 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX audit=0"\n',
                "etc/default/grub.d/b.cfg": "GRUB_TIMEOUT=1\n",
            },
            ("etc/default/grub.d/a.cfg", 1, ["skew_tick"]),
        ),
    ],
)
def test_what_decides_about_the_next_boot(
    tmp_path: Path, files: dict[str, str], decides: tuple[str, int, list[str]] | None
) -> None:
    assert lacking(tmp_path, files) == decides


@pytest.mark.parametrize(
    ("wanted", "is_named"),
    [
        ("", False),
        (">", False),
        ("abc", True),
        ("abc.conf", True),
        ("A title", True),
        ("more>abc", True),
        ("a*", True),
        ("*b", False),
        ("A*", False),
    ],
)
def test_the_name_of_an_entry(wanted: str, is_named: bool) -> None:
    """A pattern is one of ids and files, not of titles."""
    assert arguments._is_named(Entry("abc", "A title", ""), wanted) is is_named


def of_line(root: Path, line: str) -> list[Answer]:
    made = subject(root, {"proc/cmdline": line})
    return [
        answer
        for answer in arguments.arguments(made)
        if answer.finding and answer.finding.code != "CP811"
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [("ro audit=1 {}", "CP813"), ("{} audit=1", "CP812"), ("{} audit=0", "CP813")],
)
def test_a_finding_points_at_the_last_word(tmp_path: Path, line: str, code: str) -> None:
    """The last of two counts."""
    written = line.format(planned())
    [finding] = [answer.finding for answer in of_line(tmp_path, written) if answer.finding]
    start = written.rindex("audit=")
    assert finding.code == code
    assert finding.position is not None
    assert finding.position[1:] == (1, start + 1, start + 1 + len("audit=0"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", ""),
        ("{} audit=1", "the kernel was not booted with audit as planned"),
        ("audit=1 {}", "the kernel was not booted with audit as planned"),
        ("audit=0 {}", ""),
        ("ro", "the kernel was not booted with audit and skew_tick as planned"),
    ],
)
def test_what_follows_from_an_argument_that_was_not_booted(
    tmp_path: Path, line: str, reason: str
) -> None:
    made = subject(tmp_path, {"proc/cmdline": line.format(planned())})
    assert arguments.unbooted(made, "audit", "skew_tick") == reason


def test_without_a_command_line_nothing_is_said_to_be_wrong(tmp_path: Path) -> None:
    made = Subject(Root(tmp_path), expected())
    assert arguments.unbooted(made, "audit") == ""
    codes = [answer.finding.code for answer in arguments.arguments(made) if answer.finding]
    assert codes == ["CP810"]
    [others] = arguments.conflicting(made)
    assert others.verdict is Verdict.UNVERIFIABLE
    long = subject(tmp_path / "long", {"proc/cmdline": "x" * 65_537})
    assert arguments.running_arguments(long) is None
    assert arguments.running_arguments(subject(tmp_path / "most", {"proc/cmdline": "x" * 65_536}))


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("Linux version 5.14 #1 SMP PREEMPT_RT", "realtime"),
        ("Linux version 5.14 #1 SMP PREEMPT RT", "realtime"),
        ("Linux version 5.14.el9_64k #1 SMP", "64k-pages"),
        ("Linux version 5.14 #1 SMP PREEMPT_DYNAMIC", "default"),
        ("", None),
    ],
)
def test_the_kind_of_a_kernel(tmp_path: Path, version: str, kind: str | None) -> None:
    assert arguments.kernel_kind(subject(tmp_path, {"proc/version": version})) == kind
