"""What Linux 6.12 makes of a command line: the CPUs of its threads, interrupts and of init.

Each value names the file or the thread that shows it. What earlier and later kernels do differently
is not here.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux import cpulist
from cpuplan.upstream.linux.commandline import Line, Word
from cpuplan.upstream.linux.housekeeping import Housekeeping, Work
from cpuplan.upstream.linux.threads import Hardware, Threads, threads_of

#: Options that no 6.12 knows, though people write them.
UNKNOWN = ("kthread_cpus",)


class Booted(NamedTuple):
    """A booted machine; sets are bits. `nohz_full` is None where the file says `(null)`."""

    possible: int
    online: int
    isolated: int
    nohz_full: int | None
    default_smp_affinity: int
    workqueue: int
    watchdog: int
    managed_irq: int
    #: CPUs whose RCU callbacks other CPUs run; None where the kernel has no threads for it.
    callbacks: int | None
    threads: Threads
    #: Options that nothing took.
    ignored: tuple[Word, ...]
    log: tuple[str, ...]


def boot(line: Line, machine: Hardware) -> Booted:
    """The machine after a boot with this command line."""
    possible = _possible(line, machine.possible)
    size = possible.bit_length()
    max_cpus = 1 if line.has("nosmp") else line.number("maxcpus", size)
    max_cpus = max(max_cpus, 1)
    housekeeping = Housekeeping(possible, possible, size, max_cpus, machine.boot)
    callbacks, dropped = _read(line, housekeeping, size)
    brought_up = _lowest(possible, max_cpus)
    online = brought_up
    if line.last("nosmt") in ("", "force"):
        online &= machine.first_threads
    log = [*housekeeping.log, *_unknown(dropped), *_of_tick(housekeeping)]
    nohz_full = housekeeping.nohz_full
    if nohz_full is not None:
        nohz_full &= ~(1 << machine.boot)
    if nohz_full:
        callbacks = (callbacks or 0) | nohz_full
    log += _of_callbacks(line, callbacks)
    if nohz_full:
        log.append("watchdog: Disabling watchdog on nohz_full cores by default")
    workqueue = _workqueue(line, housekeeping, size)
    return Booted(
        possible,
        online,
        possible & ~housekeeping.cpus(Work.DOMAIN),
        nohz_full,
        _irq_affinity(line, size, machine.boot),
        workqueue,
        housekeeping.cpus(Work.TIMER),
        housekeeping.cpus(Work.MANAGED_IRQ),
        callbacks,
        threads_of(
            housekeeping,
            machine,
            online,
            brought_up,
            workqueue,
            has_callbacks=callbacks is not None,
        ),
        tuple(dropped),
        tuple(log),
    )


def _possible(line: Line, cpus: int) -> int:
    """The CPUs within `possible_cpus=` and `nr_cpus=`."""
    size = cpus.bit_length()
    limit = min(line.number("possible_cpus", size), line.number("nr_cpus", size))
    return _lowest(cpus, max(limit, 1))


def _lowest(bits: int, count: int) -> int:
    """The first `count` CPUs of a set."""
    if count >= bits.bit_count():
        return bits
    kept = 0
    while bits and count > 0:
        low = bits & -bits
        kept, bits, count = kept | low, bits ^ low, count - 1
    return kept


def _read(line: Line, housekeeping: Housekeeping, size: int) -> tuple[int | None, list[Word]]:
    """The CPUs of rcu_nocbs=, None without it, and the options that go on to init."""
    callbacks: int | None = None
    dropped = []
    for word in line.words:
        taken = word.key not in UNKNOWN
        if word.key == "nohz_full":
            taken = word.has_value and housekeeping.nohz_full_setup(word.value)
        elif word.key == "isolcpus":
            taken = word.has_value and housekeeping.isolcpus_setup(f"{word.value}\0{word.rest}")
        elif word.key == "rcu_nocbs":
            given = cpulist.parse(word.value, size)
            callbacks = given.bits
            if given.error:
                callbacks = (1 << size) - 1
                housekeeping.log.append("rcu: rcu_nocbs= bad CPU range, all CPUs set")
        if not taken:
            dropped.append(word)
    return callbacks, dropped


def _unknown(dropped: Iterable[Word]) -> Iterator[str]:
    """The kernel's line about options that nothing took: words first, then those with values."""
    words = [word.key for word in dropped if not word.has_value]
    pairs = [f"{word.key}={word.value}" for word in dropped if word.has_value]
    if words or pairs:
        text = " ".join([*words, *pairs])
        yield f'Unknown kernel command line parameters "{text}", will be passed to user space.'


def _of_tick(housekeeping: Housekeeping) -> Iterator[str]:
    cpus, boot_cpu = housekeeping.nohz_full, housekeeping.boot
    if cpus is None:
        return
    if cpus >> boot_cpu & 1:
        yield f"NO_HZ: Clearing {boot_cpu} from nohz_full range for timekeeping"
    yield f"NO_HZ: Full dynticks CPUs: {_list(cpus & ~(1 << boot_cpu))}."


def _of_callbacks(line: Line, callbacks: int | None) -> Iterator[str]:
    if callbacks is None:
        return
    yield f"rcu: Offload RCU callbacks from CPUs: {_list(callbacks) or '(none)'}."
    if line.has("rcu_nocb_poll"):
        yield "rcu: Poll for callbacks from no-CBs CPUs."


def _irq_affinity(line: Line, size: int, boot_cpu: int) -> int:
    """Of a list with an error, the kernel keeps what comes before; the boot CPU is always added."""
    text = line.last("irqaffinity")
    if text is None:
        return (1 << size) - 1
    return cpulist.parse(text, size).bits | 1 << boot_cpu


def _workqueue(line: Line, housekeeping: Housekeeping, size: int) -> int:
    """The CPUs of unbound work; a restriction that would leave none is ignored."""
    restrictions = [housekeeping.cpus(Work.WQ), housekeeping.cpus(Work.DOMAIN)]
    if (text := line.last("workqueue.unbound_cpus")) is not None:
        given = cpulist.parse(text, size)
        restrictions += [given.bits] * bool(given.bits and not given.error)
    cpus = housekeeping.possible
    for restriction in restrictions:
        cpus = cpus & restriction or cpus
    return cpus


def _list(bits: int) -> str:
    return str(CpuSet.from_bits(bits))
