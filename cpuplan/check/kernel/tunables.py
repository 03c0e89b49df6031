"""Settings of the running kernel in /proc/sys and /sys: sysctls, masks of workqueues, and others.

Each is compared with its file; of sysctls also the files that set others at the next boot.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError, cpus_text
from cpuplan.check.kernel import arguments
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.subject import Subject, shown
from cpuplan.components import kernel
from cpuplan.components.derived import ISOLATED, ONLINE, UNBOUND
from cpuplan.components.host import rps, sysctl, tuned, workqueue
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.host import SYSCTLS_BELOW, shown_in
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.facts.settings.row import Form
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Evidence, Setting, Value

#: `(null)`: what a list of sysfs has where no CPU is.
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
            yield _shown(subject, setting, evidence)


def _shown(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    path = evidence.path
    text = subject.root.read(path)
    if text is None:
        return _missing(subject, setting, evidence)
    try:
        actual = read_value(evidence.form, text)
    except ValueError:
        return subject.unverifiable(setting, path, "it cannot be read as its form says")
    if actual == evidence.value:
        return subject.held(setting, path)
    observed, expected = shown(actual) or "empty", shown(evidence.value) or "empty"
    code = "CP8200" if path.startswith(SYSCTLS_BELOW) else "CP8201"
    return subject.differs(setting, code, path, observed=observed, expected=expected)


def _missing(subject: Subject, setting: Setting, evidence: Evidence) -> Answer:
    """No file: unverifiable in a copy without its folder and before its release, else dead."""
    path, folder = evidence.path, evidence.path.rpartition("/")[0]
    running = kernel_release(subject)
    if not subject.root.names(folder):
        return subject.unverifiable(setting, path, f"there is no /{folder} here")
    if evidence.since and running and running < _numbers(evidence.since):
        reason = f"it came with Linux {evidence.since}, and the node runs {running[0]}.{running[1]}"
        return subject.unshown(setting, path, reason)
    if not (subject.root.is_running and subject.root.covers(path)):
        return subject.unverifiable(setting, path, f"{subject.root.kind.value} may lack it")
    expected = shown(evidence.value)
    return subject.differs(
        setting, "CP8202", path, observed="unknown to this kernel", expected=expected
    )


def kernel_release(subject: Subject) -> tuple[int, int] | None:
    """The kernel's release; None where nothing says it."""
    match = _RELEASE.match(subject.root.read("proc/version") or "")
    return (int(match[1]), int(match[2])) if match else None


def _numbers(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def read_value(form: Form, text: str) -> Value:
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


#: Of these folders a file counts by its name alone; of one name, that of the first folder
#: (sysctl.d(5)).
_FOLDERS = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d")
#: Read by `sysctl --system` after all others, and by systemd-sysctl not at all.
_LAST = "etc/sysctl.conf"
#: A setting in each folder that every kernel has: with it, a missing one is unknown to the kernel.
_ALWAYS = {
    "kernel": "osrelease",
    "vm": "overcommit_memory",
    "net/core": "somaxconn",
    "net/ipv4": "ip_forward",
}


class Line(NamedTuple):
    """A value that a file gives."""

    value: str
    path: str
    line: int


def sysctls(subject: Subject) -> Iterator[Answer]:
    """Values in force, which a later file or another program may have changed."""
    for setting in subject.expected.settings.of(sysctl.NAME):
        yield _in_force(subject, setting, shown_in(setting.key))
    yield from _files(subject)


def sysctl_paths(subject: Subject) -> set[str]:
    """The files that settings of the plan write after the boot."""
    given = {shown_in(planned.key) for planned in subject.expected.settings.of(sysctl.NAME)}
    for setting in subject.expected.settings.of(tuned.NAME):
        given.update(
            evidence.path for evidence in (setting.effect.evidence if setting.effect else ())
        )
    return given


def _in_force(subject: Subject, setting: Setting, path: str) -> Answer:
    text = subject.root.read(path)
    if text is None:
        folder = path.removeprefix("proc/sys/").rpartition("/")[0]
        known = subject.root.is_file(f"proc/sys/{folder}/{_ALWAYS.get(folder, '-')}")
        reason = "this kernel does not have it" if known else "there is no such file here"
        return subject.unverifiable(setting, path, reason)
    actual, wanted = " ".join(text.split()), " ".join(str(setting.value).split())
    if actual == wanted:
        return subject.held(setting, path)
    return subject.differs(setting, "CP8200", path, observed=actual, expected=wanted)


def _files(subject: Subject) -> Iterator[Answer]:
    """What the files of sysctl.d say together, in the order in which systemd-sysctl reads them."""
    masks = [
        setting for setting in subject.expected.settings.of(rps.NAME) if setting.key == rps.MASK
    ]
    yield from _compared(subject, subject.expected.settings.of(sysctl.NAME), sysctl.PATH)
    yield from _compared(subject, masks, rps.SYSCTL_PATH)


def _compared(subject: Subject, planned: Sequence[Setting], path: str) -> Iterator[Answer]:
    """What the files say of settings that one of the compiled ones has."""
    own = path.lstrip("/")
    if not planned or not subject.root.is_file(own):
        return
    values = _values(subject)
    for setting in planned:
        given = values.get(setting.key)
        fact = f"sysctl {setting.key} at the next boot"
        if given is None or _is_same(given.value, setting.value):
            yield subject.held(fact, given.path if given else own)
            continue
        if given.path == own:
            continue  # an edited file of the plan: said where files are compared
        yield subject.differs(
            fact,
            "CP865",
            Position(subject.root.shown(given.path), given.line, 1),
            observed=given.value,
            expected=str(setting.value),
            labels=subject.labels(setting.reasons),
            key=setting.key,
            path=f"/{given.path}",
        )


def _is_same(actual: str, wanted: Value) -> bool:
    """Whether a file gives the value; CPUs are a mask there."""
    if not isinstance(wanted, CpuSet):
        return actual == " ".join(str(wanted).split())
    try:
        return CpuSet.parse_mask(actual) == wanted
    except CpuSetError:
        return False


def _values(subject: Subject) -> dict[str, Line]:
    """The last value of each key."""
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        for name in subject.root.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    values: dict[str, Line] = {}
    for path in (*(files[name] for name in sorted(files)), _LAST):
        values |= _lines(path, subject.root.read(path) or "")
    return values


def _lines(path: str, text: str) -> dict[str, Line]:
    """The values of a file; in keys, `/` may stand for `.` (sysctl.d(5))."""
    assignments = {}
    for number, line in enumerate(nodetext.lines(text), start=1):
        key, equals, value = line.strip().partition("=")
        name = key.strip().removeprefix("-").strip()
        if equals and name[:1] not in ("#", ";"):
            assignments[_dotted(name)] = Line(" ".join(value.split()), path, number)
    return assignments


def _dotted(key: str) -> str:
    """`net/core/somaxconn` as `net.core.somaxconn`: the first separator says which is meant."""
    first = next((character for character in key if character in "./"), ".")
    return key.replace("/", ".") if first == "/" else key


_FOLDER = "sys/devices/virtual/workqueue"
_MASK = f"{_FOLDER}/cpumask"
_FACT = "CPUs of unbound work"


def workqueue_masks(subject: Subject) -> Iterator[Answer]:
    """The mask of all unbound work, as planned or as the boot arguments make it."""
    planned = subject.expected.settings.of(workqueue.NAME)
    for setting in planned:
        path = setting.key.lstrip("/")
        wanted = setting.value if isinstance(setting.value, CpuSet) else CpuSet()
        yield _mask_answer(subject, setting, path, wanted)
    if not planned and subject.expected.cpus(ISOLATED):
        answer = _mask_answer(subject, _FACT, _MASK, subject.expected.cpus(UNBOUND))
        reason = arguments.unbooted(subject, NOHZ_FULL.key, "isolcpus") if answer.finding else ""
        yield subject.unverifiable(_FACT, CMDLINE, reason) if reason else answer
    yield from _single(subject)


def _mask_answer(subject: Subject, about: Setting | str, path: str, wanted: CpuSet) -> Answer:
    """Held where no CPU beyond `wanted` takes part; others may narrow it further."""
    cpus = _mask(subject, path)
    if cpus is None:
        return subject.unverifiable(about, path, "there is no mask here")
    online = subject.expected.cpus(ONLINE)
    if cpus and not (cpus & online) - wanted:
        answer = subject.held(about, path)
        return answer._replace(expected=str(wanted), observed=str(cpus))
    return subject.differs(
        about, "CP8203", path, observed=shown(cpus) or "empty", expected=str(wanted), key=f"/{path}"
    )


def _mask(subject: Subject, path: str) -> CpuSet | None:
    text = subject.root.read(path)
    try:
        value = None if text is None else read_value(Form.MASK, text)
    except ValueError:
        return None
    return value if isinstance(value, CpuSet) else None


def _single(subject: Subject) -> Iterator[Answer]:
    """Masks of single queues, such as writeback: somebody chose isolated CPUs.

    A queue runs where its mask and the one of all work meet, so that all CPUs is no choice
    (kernel/workqueue.c, wqattrs_actualize_cpumask).
    """
    isolated, online = subject.expected.cpus(ISOLATED), subject.expected.cpus(ONLINE)
    chosen = {}
    for name in subject.root.names(_FOLDER) if isolated else ():
        cpus = _mask(subject, f"{_FOLDER}/{name}/cpumask")
        if cpus is not None and not online <= cpus and cpus & isolated & online:
            chosen[name] = cpus & isolated
    for name, cpus in chosen.items():
        yield subject.differs(
            f"workqueue {name}",
            "CP8204",
            f"{_FOLDER}/{name}/cpumask",
            observed=cpus_text(cpus),
            expected=str(online - isolated),
            key=f"/{_FOLDER}/{name}/cpumask",
        )
