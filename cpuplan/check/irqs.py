"""Interrupts on the CPUs that they may have, and irqbalance, which would move them."""

from collections.abc import Iterator
from itertools import islice

from cpuplan.check.compare import shown
from cpuplan.check.running import allowed, processes
from cpuplan.check.subject import Subject
from cpuplan.components import isolation
from cpuplan.components.host import interrupts, irqbalance
from cpuplan.components.host.irqbalance import LIST, MASK
from cpuplan.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.diagnostics import Diagnostic, diagnose

_IRQS = "proc/irq"
#: In the folder of an interrupt (kernel/irq/proc.c); what else is there names a device.
_FILES = frozenset(
    (
        "affinity_hint",
        "effective_affinity",
        "effective_affinity_list",
        "node",
        "smp_affinity",
        "smp_affinity_list",
        "spurious",
    )
)
#: Interrupts that are named in a message.
_MOST = 5


def placed(subject: Subject) -> Iterator[Diagnostic]:
    """Interrupts in use stand on no isolated CPU, but for those that the kernel places itself."""
    settings = subject.plan.settings.of(interrupts.NAME)
    if not settings:
        return
    isolated = isolation.isolated(subject.plan).cpus
    unmovable = (subject.root.read(interrupts.UNMOVABLE) or "").split()
    numbers = [name for name in subject.root.names(_IRQS) if name.isdecimal()]
    strays = []
    for number in sorted(set(numbers) - set(unmovable), key=int):
        action, cpus = _interrupt(subject, number)
        if action and cpus & isolated:
            strays.append(f"{number} ({action}) on {cpus_text(cpus & isolated)}")
    if strays:
        named = ", ".join(islice(strays, _MOST)) + (", ..." if len(strays) > _MOST else "")
        labels = subject.all_labels(settings)
        place = subject.place(_IRQS)
        yield diagnose("CP873", place, labels=labels, interrupts=named)


def _interrupt(subject: Subject, number: str) -> tuple[str, CpuSet]:
    """The device that asked for an interrupt, and the CPUs that get it; "" where none did."""
    folder = f"{_IRQS}/{number}"
    actions = [name for name in subject.root.names(folder) if name not in _FILES]
    for name in ("effective_affinity_list", "smp_affinity_list"):
        cpus = allowed(subject.root.read(f"{folder}/{name}") or "")
        if cpus:
            return (actions[0] if actions else "", cpus)
    return "", EMPTY


def balancer(subject: Subject) -> Iterator[Diagnostic]:
    """irqbalance runs with the list, and with no mask, which would override it."""
    for setting in subject.plan.settings.of(irqbalance.NAME):
        for process in processes(subject, "irqbalance"):
            path = f"proc/{process}/environ"
            pairs = (item.partition("=") for item in (subject.root.read(path) or "").split("\0"))
            variables = {name: value for name, _, value in pairs}
            if variables.get(MASK) or variables.get(LIST) != shown(setting.value):
                found = ", ".join(
                    f"{key}={variables[key]}" for key in (MASK, LIST) if key in variables
                )
                labels = subject.labels(setting.reasons)
                place = subject.place(path)
                wanted = f"{LIST}={shown(setting.value)} alone"
                yield diagnose(
                    "CP875", place, labels=labels, found=found or "neither", wanted=wanted
                )
