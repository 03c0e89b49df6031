"""Interrupts, queues and packet steering stay off the CPUs that the plan keeps them from."""

import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import listed
from cpuplan.check.interrupts import irqs
from cpuplan.check.interrupts.irqs import Interrupt, named
from cpuplan.check.kernel import arguments
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.kernel.tunables import read_value
from cpuplan.check.subject import Subject
from cpuplan.components import derived, kernel
from cpuplan.components.cmdline import lists
from cpuplan.components.derived import ISOLATED
from cpuplan.components.host import interrupts, rps, tuned
from cpuplan.facts.settings.host import shown_in
from cpuplan.facts.settings.row import Form
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting, cpu_sets

_BY_UNIT = "run `systemctl start {unit}` and look at its log"
_BY_TUNED = (
    "look at the log of TuneD on the node, which places interrupts when it loads its profile"
)


class Promise(NamedTuple):
    """The setting, the CPUs that no movable interrupt comes to, and what to do where one does."""

    setting: Setting
    cpus: CpuSet
    remedy: str
    #: Whether interrupts of devices to come are part of it.
    has_default: bool = False


def promise_of(expected: Expected) -> Promise | None:
    """The promise of a plan; None where interrupts may come to every CPU.

    On OpenShift, TuneD places them, unless interrupts are left to CRI-O, which moves them pod by
    pod (`globallyDisableIrqLoadBalancing`).
    """
    for setting in expected.settings.of(interrupts.NAME):
        remedy = _BY_UNIT.format(unit=interrupts.UNIT)
        return Promise(setting, expected.cpus(derived.ISOLATED), remedy)
    options = expected.settings.values(tuned.NAME)
    for setting in expected.settings.of(tuned.NAME):
        cpus = setting.value
        if setting.key == tuned.ISOLATED_CORES and isinstance(cpus, CpuSet):
            is_left = options.get("scheduler.irq_process") == "false"
            return None if is_left else Promise(setting, cpus, _BY_TUNED, has_default=True)
    return None


def managed_irq(expected: Expected) -> tuple[Setting, CpuSet] | None:
    """The boot argument that keeps managed interrupts off CPUs, and these; None without one."""
    for setting in expected.settings.of(kernel.NAME):
        if setting.key == "isolcpus":
            flagged = (
                part
                for part in lists(setting.value)
                if isinstance(part, tuple) and "managed_irq" in part
            )
            cpus = union(cpu_sets(tuple(flagged)))
            return (setting, cpus) if cpus else None
    return None


FOLDER = "sys/class/net"
_CHANNELS, _REGEX = "channels", "devices_udev_regex"
_COUNT = re.compile(r"combined (\d+)\Z")


class _Card(NamedTuple):
    """A card: its name, its queues for receiving, and what TuneD's pattern is matched with."""

    name: str
    queues: int
    properties: str


def queue_counts(subject: Subject) -> Iterator[Answer]:
    """CP8206 for cards with more queues than wanted; one with fewer has no more of them."""
    settings = {setting.key: setting for setting in subject.expected.settings.of(tuned.NAME)}
    wanted = [
        (key, channels) for key, channels in settings.items() if key.endswith(f".{_CHANNELS}")
    ]
    cards = list(_cards(subject)) if wanted else []
    for key, setting in wanted:
        pattern = settings.get(f"{key.rpartition('.')[0]}.{_REGEX}")
        yield _answer(subject, setting, cards, str(pattern.value) if pattern else "")


def _answer(subject: Subject, setting: Setting, cards: list[_Card], pattern: str) -> Answer:
    match = _COUNT.match(str(setting.value))
    own = [card for card in cards if re.search(pattern, card.properties, re.MULTILINE)]
    if match is None or not own:
        reason = "no network card is shown here" if not cards else "no card is one of its devices"
        return subject.unverifiable(setting, FOLDER, reason)
    strays = [f"{card.name} has {card.queues}" for card in own if card.queues > int(match[1])]
    if not strays:
        return subject.held(setting, FOLDER)
    return subject.differs(
        setting, "CP8206", FOLDER, observed=named(strays), expected=str(setting.value)
    )


def _cards(subject: Subject) -> Iterator[_Card]:
    """The network devices that are hardware: others have no folder `device`."""
    for name in subject.root.names(FOLDER):
        folder = f"{FOLDER}/{name}"
        if not subject.root.names(f"{folder}/device"):
            continue
        queues = [queue for queue in subject.root.names(f"{folder}/queues") if queue[:3] == "rx-"]
        if queues:
            yield _Card(name, len(queues), _properties(subject, name))


def _properties(subject: Subject, name: str) -> str:
    """The properties of udev that a plan names, in the order of their names."""
    folder = f"{FOLDER}/{name}/device"
    model = (subject.root.read(f"{folder}/device") or "").strip()
    vendor = (subject.root.read(f"{folder}/vendor") or "").strip()
    return f"ID_MODEL_ID={model}\nID_VENDOR_ID={vendor}\nINTERFACE={name}\n"


#: The second reading of a snapshot.
LATER = "cpuplan/interrupts.later"
_COUNTED = "counts of interrupts"
_MANAGED = "managed interrupts"
#: How long the counts of a running host are watched, in seconds.
_PAUSE = 0.25
_NO_FOLDER = f"there is no /{irqs.FOLDER} here"


def kept_off(subject: Subject) -> Iterator[Answer]:
    """CP873, of all interrupts together, and CP866 of those that came to CPUs meanwhile."""
    promise = promise_of(subject.expected)
    if promise is None:
        return
    movable_irqs = [irq for irq in _interrupts(subject) if not irq.is_managed]
    if not movable_irqs:
        yield subject.unverifiable(promise.setting, irqs.FOLDER, _NO_FOLDER)
        return
    strays = {irq.number: cpus for irq in movable_irqs if (cpus := _stray(subject, promise, irq))}
    named = [
        f"{irq.number} ({irq.devices}) on {cpus_text(strays[irq.number])}"
        for irq in movable_irqs
        if irq.number in strays
    ]
    named += _stray_default(subject, promise)
    if named:
        yield _on_isolated(subject, promise, named)
    else:
        yield subject.held(promise.setting, irqs.FOLDER)
    yield _counts(subject, promise, [irq for irq in movable_irqs if irq.number not in strays])


def _interrupts(subject: Subject) -> list[Interrupt]:
    return subject.once(irqs.FOLDER, lambda: irqs.interrupts_in_use(subject.root))


def _stray(subject: Subject, promise: Promise, interrupt: Interrupt) -> CpuSet:
    """The CPUs that an interrupt must not come to, and may or does.

    None where the kernel has placed it nowhere: it is not started, or one of each CPU. Effective
    CPUs outside of the allowed ones are those before a move, which is made when the interrupt comes
    the next time (kernel/irq/migration.c): one that never came leaves them without a trace.
    """
    may, does = interrupt.allowed & subject.expected.cpus(derived.ONLINE), interrupt.effective
    if does is None:
        return may & promise.cpus
    if not does:
        return EMPTY
    return (may | does if interrupt.came else may) & promise.cpus


def _stray_default(subject: Subject, promise: Promise) -> list[str]:
    """What interrupts of devices to come would get."""
    cpus = irqs.cpus_of_mask(subject.root.read(irqs.DEFAULT)) if promise.has_default else None
    strays = cpus & promise.cpus if cpus else None
    return [f"those of new devices on {cpus_text(strays)}"] if strays else []


def _on_isolated(subject: Subject, promise: Promise, named: Sequence[str]) -> Answer:
    text = irqs.named(named)
    wanted = f"none on {cpus_text(promise.cpus)}"
    return subject.differs(
        promise.setting,
        "CP873",
        irqs.FOLDER,
        observed=text,
        expected=wanted,
        interrupts=text,
        how=promise.remedy,
    )


def _counts(subject: Subject, promise: Promise, others: Sequence[Interrupt]) -> Answer:
    """Whether CPUs got interrupts between two readings, of those that must not come to them.

    One that was moved comes once more to where it was: it is then that it is moved
    (kernel/irq/migration.c).
    """
    first, second = subject.root.read(irqs.TABLE), _later(subject)
    if first is None or second is None:
        reason = f"{subject.root.kind.value} has one reading of the counts"
        return subject.unverifiable(_COUNTED, irqs.TABLE, reason)
    numbers = {irq.number for irq in others}
    growths = irqs.grown(irqs.read_table(first), irqs.read_table(second), promise.cpus)
    named = [
        f"{growth.number} ({growth.devices}) {growth.times} times on {cpus_text(growth.cpus)}"
        for growth in growths
        if growth.number in numbers and growth.times > 1
    ]
    if not named:
        return subject.held(_COUNTED, irqs.TABLE)
    return subject.differs(
        _COUNTED,
        "CP866",
        irqs.TABLE,
        observed=irqs.named(named),
        expected=f"none on {cpus_text(promise.cpus)}",
        labels=subject.labels(promise.setting.reasons),
    )


def _later(subject: Subject) -> str | None:
    """A second reading: that of the snapshot, or one of a running host a little later."""
    captured = subject.root.read(LATER)
    if captured is not None or not subject.root.is_running:
        return captured
    time.sleep(_PAUSE)
    return subject.root.read(irqs.TABLE)


def managed(subject: Subject) -> Iterator[Answer]:
    """CP868: with isolcpus=managed_irq the kernel gives queues of several CPUs to the others."""
    promise = managed_irq(subject.expected)
    if promise is None:
        return
    setting, cpus = promise
    online = subject.expected.cpus(derived.ONLINE)
    managed_irqs = [irq for irq in _interrupts(subject) if irq.is_managed and irq.effective]
    shared = [irq for irq in managed_irqs if irq.allowed & cpus and (irq.allowed & online) - cpus]
    strays = [irq for irq in shared if irq.effective and irq.effective & cpus]
    if not _interrupts(subject):
        yield subject.unverifiable(_MANAGED, irqs.FOLDER, _NO_FOLDER)
    elif not shared:
        reason = "no managed interrupt has both isolated CPUs and others"
        yield subject.unshown(_MANAGED, irqs.FOLDER, reason)
    elif not strays:
        yield subject.held(_MANAGED, irqs.FOLDER)
    elif reason := arguments.unbooted(subject, "isolcpus"):
        yield subject.unverifiable(_MANAGED, CMDLINE, reason)
    else:
        named = [f"{irq.number} ({irq.devices}) on {irq.effective}" for irq in strays]
        yield subject.differs(
            _MANAGED,
            "CP868",
            irqs.FOLDER,
            observed=irqs.named(named),
            expected=f"none on {cpus_text(cpus)}",
            labels=subject.labels(setting.reasons),
        )


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
            yield _default_mask(subject, setting)
    promise = promise_of(subject.expected)
    if settings:
        yield from _queues(subject, settings[0])
    elif promise:
        # Nobody asked for steering: the kernel's own masks are empty.
        yield from (answer for answer in _queues(subject, promise.setting) if answer.finding)


def _default_mask(subject: Subject, setting: Setting) -> Answer:
    path = shown_in(setting.key)
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
    return subject.differs(setting, code, path, observed=observed, expected=wanted)


def _mask(text: str | None) -> CpuSet | None:
    try:
        value = None if text is None else read_value(Form.MASK, text)
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
        )
    elif read_any:
        yield subject.held(fact, _NET)
    else:
        yield subject.unverifiable(fact, _NET, "no queue of a network device is here")
