"""Files of the kernel that show a setting by themselves, as the setting says."""

import re
from collections.abc import Iterator

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.check.subject import Subject
from cpuplan.check.values import shown
from cpuplan.components import kernel
from cpuplan.components.host import sysctl
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Evidence, Form, Setting, Value

#: `(null)`: what `nohz_full` has where no CPU is.
_NO_CPUS = ("", "(null)")
_BRACKETS = re.compile(r"\[([^]]+)\]")
#: A boot argument that was not given has no effect, which is no second finding
#: (`check.kernel.effects`).
_OWN_STEPS = (kernel.NAME,)
_RELEASE = re.compile(r"Linux version ([0-9]{1,6})\.([0-9]{1,6})")


def shown_by_files(subject: Subject) -> Iterator[Answer]:
    """An answer for each file that a setting names."""
    for setting in subject.expected.settings:
        if setting.component in _OWN_STEPS:
            continue
        for evidence in setting.effect.evidence if setting.effect else ():
            yield _answer(subject, setting, evidence)


def _answer(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    path = evidence.path
    text = subject.root.read(path)
    if text is None:
        return _missing(subject, setting, evidence)
    try:
        found = read(evidence.form, text)
    except ValueError:
        return subject.unverifiable(setting, path, "it cannot be read as its form says")
    if found == evidence.value:
        return subject.held(setting, path)
    observed, expected = shown(found) or "empty", shown(evidence.value) or "empty"
    code = "CP8200" if path.startswith(sysctl.SHOWN_BELOW) else "CP8201"
    return subject.differs(
        setting, code, path, observed=observed, expected=expected, key=setting.key
    )


def _missing(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    """No file: unverifiable in a copy without its folder and before its release, else dead."""
    path, folder = evidence.path, evidence.path.rpartition("/")[0]
    running = release(subject)
    if not subject.root.names(folder):
        return subject.unverifiable(setting, path, f"there is no /{folder} here")
    if evidence.since and running and running < _numbers(evidence.since):
        reason = f"it came with Linux {evidence.since}, and the node runs {running[0]}.{running[1]}"
        return subject.unshown(setting, path, reason)
    if not (subject.root.is_running and subject.root.covers(path)):
        return subject.unverifiable(setting, path, f"{subject.root.kind.value} may lack it")
    expected = shown(evidence.value)
    return subject.differs(
        setting,
        "CP8202",
        path,
        observed="unknown to this kernel",
        expected=expected,
        key=setting.key,
    )


def release(subject: Subject) -> tuple[int, int] | None:
    """The kernel's release; None where nothing says it."""
    match = _RELEASE.match(subject.root.read("proc/version") or "")
    return (int(match[1]), int(match[2])) if match else None


def _numbers(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def read(form: Form, text: str) -> Value:
    """The value of a file's text. Raises ValueError for what has another form."""
    text = text.strip()
    if form is Form.TEXT:
        return text
    if form is Form.NUMBER:
        number = nodetext.integer(text)
        if number is None:
            raise ValueError("it is no number")
        return number
    if form is Form.WORD:
        match = _BRACKETS.search(text)
        return match[1] if match else text
    if text in _NO_CPUS:
        return EMPTY
    try:
        return CpuSet.parse_mask(text) if form is Form.MASK else CpuSet.parse_kernel(text)
    except CpuSetError as error:
        raise ValueError(str(error)) from error
