"""Sysctls: the values in force, and files that set others at the next boot."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.check.subject import Subject
from cpuplan.components.host import rps, sysctl, tuned
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Setting, Value

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
        yield _in_force(subject, setting, sysctl.shown_in(setting.key))
    yield from _files(subject)


def paths(subject: Subject) -> set[str]:
    """The files that settings of the plan write after the boot."""
    given = {sysctl.shown_in(each.key) for each in subject.expected.settings.of(sysctl.NAME)}
    for setting in subject.expected.settings.of(tuned.NAME):
        given.update(each.path for each in (setting.effect.evidence if setting.effect else ()))
    return given


def _in_force(subject: Subject, setting: Setting, path: str) -> Answer:
    text = subject.root.read(path)
    if text is None:
        folder = path.removeprefix("proc/sys/").rpartition("/")[0]
        known = subject.root.is_file(f"proc/sys/{folder}/{_ALWAYS.get(folder, '-')}")
        reason = "this kernel does not have it" if known else "there is no such file here"
        return subject.unverifiable(setting, path, reason)
    found, wanted = " ".join(text.split()), " ".join(str(setting.value).split())
    if found == wanted:
        return subject.held(setting, path)
    return subject.differs(
        setting, "CP8200", path, observed=found, expected=wanted, key=setting.key
    )


def _files(subject: Subject) -> Iterator[Answer]:
    """What the files of sysctl.d say together, in the order in which systemd-sysctl reads them."""
    masks = [one for one in subject.expected.settings.of(rps.NAME) if one.key == rps.MASK]
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
            heals=Heals.LIVE,
            key=setting.key,
            path=f"/{given.path}",
        )


def _is_same(found: str, wanted: Value) -> bool:
    """Whether a file gives the value; CPUs are a mask there."""
    if not isinstance(wanted, CpuSet):
        return found == " ".join(str(wanted).split())
    try:
        return CpuSet.parse_mask(found) == wanted
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
    found = {}
    for number, line in enumerate(nodetext.lines(text), start=1):
        key, equals, value = line.strip().partition("=")
        name = key.strip().removeprefix("-").strip()
        if equals and name[:1] not in ("#", ";"):
            found[_dotted(name)] = Line(" ".join(value.split()), path, number)
    return found


def _dotted(key: str) -> str:
    """`net/core/somaxconn` as `net.core.somaxconn`: the first separator says which is meant."""
    first = next((character for character in key if character in "./"), ".")
    return key.replace("/", ".") if first == "/" else key
