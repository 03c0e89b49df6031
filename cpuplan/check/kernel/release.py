"""Which kernel runs: the usual one, the real-time one, or one with large pages."""

from collections.abc import Iterator

from cpuplan.check.subject import Subject
from cpuplan.components.openshift import machineconfig
from cpuplan.plan.expected.answer import Answer

_VERSION = "proc/version"
#: What each kind has in its version, as `uname -rv` prints it.
_MARKS = {machineconfig.REAL_TIME: ("PREEMPT_RT", "PREEMPT RT"), "64k-pages": ("64k",)}
_USUAL = "default"


def kind(subject: Subject) -> str | None:
    """`realtime`, `64k-pages` or `default`; None where nothing says it."""
    text = subject.root.read(_VERSION)
    if not text:
        return None
    marked = (name for name, marks in _MARKS.items() if any(mark in text for mark in marks))
    return next(marked, _USUAL)


def kernel_type(subject: Subject) -> Iterator[Answer]:
    """The kernel that a MachineConfig asks for."""
    for setting in subject.expected.settings.of(machineconfig.NAME):
        if setting.key != machineconfig.KERNEL_TYPE:
            continue
        found, wanted = kind(subject), str(setting.value)
        if found is None:
            yield subject.unverifiable(setting, _VERSION, "there is no such file here")
        elif found == wanted:
            yield subject.held(setting, _VERSION)
        else:
            yield subject.differs(setting, "CP8207", _VERSION, observed=found, expected=wanted)
