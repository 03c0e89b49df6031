"""Packet steering: the planned default mask for new devices, and those of queues."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.text import listed
from cpuplan.check.evidence import read
from cpuplan.check.interrupts import promised
from cpuplan.check.subject import Subject
from cpuplan.components.derived import ISOLATED
from cpuplan.components.host import rps, sysctl
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Form, Setting

_NET = "sys/class/net"
#: In the same folder of every kernel with a network.
_BESIDE = "proc/sys/net/core/somaxconn"
_QUEUE = re.compile(r"rx-[0-9]{1,5}")
#: Queues that are named in a message.
_MOST = 5


def steering(subject: Subject) -> Iterator[Answer]:
    """The default mask as planned, and no queue that works on isolated CPUs."""
    settings = subject.expected.settings.of(rps.NAME)
    for setting in settings:
        if setting.key == rps.MASK:
            yield _default(subject, setting)
    promise = promised.of(subject.expected)
    if settings:
        yield from _queues(subject, settings[0])
    elif promise:
        # Nobody asked for steering: the kernel's own masks are empty.
        yield from (each for each in _queues(subject, promise.setting) if each.finding)


def _default(subject: Subject, setting: Setting) -> Answer:
    path = sysctl.shown_in(setting.key)
    text = subject.root.read(path)
    if text is None and not subject.root.is_file(_BESIDE):
        return subject.unverifiable(setting, path, "there is no such file here")
    cpus = _mask(text)
    if cpus is not None and cpus == setting.value:
        return subject.held(setting, path)
    if text is None:
        code, observed = "CP8202", "unknown to this kernel"
    else:
        code, observed = "CP8200", text.strip()
    wanted = str(setting.value)
    return subject.differs(setting, code, path, observed=observed, expected=wanted, key=setting.key)


def _mask(text: str | None) -> CpuSet | None:
    try:
        value = None if text is None else read(Form.MASK, text)
    except ValueError:
        return None
    return value if isinstance(value, CpuSet) else None


def _queues(subject: Subject, setting: Setting) -> Iterator[Answer]:
    """Queues whose packets isolated CPUs work on; a mask of zeros steers nothing."""
    isolated = subject.expected.cpus(ISOLATED)
    read_any, strays = False, []
    for device in subject.root.names(_NET):
        folder = f"{_NET}/{device}/queues"
        for queue in filter(_QUEUE.fullmatch, subject.root.names(folder)):
            cpus = _mask(subject.root.read(f"{folder}/{queue}/rps_cpus"))
            read_any |= cpus is not None
            if (cpus or EMPTY) & isolated:
                strays.append(f"{device} {queue} ({(cpus or EMPTY) & isolated})")
    fact = "packet steering of queues"
    if strays:
        yield subject.differs(
            fact,
            "CP8205",
            _NET,
            observed=listed(strays, _MOST),
            expected=f"no CPU of {isolated}",
            labels=subject.labels(setting.reasons),
            heals=Heals.LIVE,
        )
    elif read_any:
        yield subject.held(fact, _NET)
    else:
        yield subject.unverifiable(fact, _NET, "no queue of a network device is here")
