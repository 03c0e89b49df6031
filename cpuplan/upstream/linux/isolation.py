"""What Linux 6.12 makes of a command line: the CPUs of its threads, interrupts and of init.

Each value names the file or the thread that shows it. What earlier and later kernels do differently
is not here.

Upstream: torvalds/linux kernel/sched/isolation.c kernel/rcu/tree_nocb.h kernel/irq/irqdesc.c
  kernel/workqueue.c kernel/params.c init/main.c @ adc218676eef25575469234709c2d87185ca223a
"""

import re
from collections.abc import Iterable, Iterator
from enum import Flag, auto
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.linux import bitmap_str
from cpuplan.upstream.linux.cmdline import Argument
from cpuplan.upstream.linux.kernel_parameters import WITHOUT_BUGS, CpuLimit, limiting


class Word(NamedTuple):
    """One option; `rest` is the command line behind it."""

    key: str
    value: str
    has_value: bool
    rest: str


class Line:
    """The options of a command line."""

    def __init__(self, text: str) -> None:
        self.words: list[Word] = []
        rest = text.strip()
        while rest:
            word, _, rest = rest.partition(" ")
            key, equals, value = word.partition("=")
            if key:
                # Options of the kernel itself have underscores, however they are written.
                name = key if "." in key else key.replace("-", "_")
                self.words.append(Word(name, value.replace('"', ""), bool(equals), rest))

    def last(self, key: str) -> str | None:
        """The value of the last option of this name; None without one."""
        return next((word.value for word in reversed(self.words) if word.key == key), None)

    def has(self, key: str) -> bool:
        """Whether the option is given."""
        return self.last(key) is not None

    def arguments(self) -> list[Argument]:
        """The options as arguments."""
        return [
            Argument(word.key, word.value if word.has_value else None, word.key)
            for word in self.words
        ]


class Work(Flag):
    """Kinds of work; a kind that nobody set is done by all possible CPUs."""

    TIMER = auto()
    RCU = auto()
    MISC = auto()
    TICK = auto()
    DOMAIN = auto()
    WQ = auto()
    MANAGED_IRQ = auto()
    KTHREAD = auto()


#: What nohz_full= sets.
NOHZ_FULL = Work.TICK | Work.WQ | Work.TIMER | Work.RCU | Work.MISC | Work.KTHREAD
_FLAGS = {"nohz": Work.TICK, "domain": Work.DOMAIN, "managed_irq": Work.MANAGED_IRQ}


class Housekeeping:
    """The CPUs of each kind, as bits, while the command line is read."""

    def __init__(
        self, possible: int, present: int, size: int, max_cpus: int, boot: int = 0
    ) -> None:
        self.possible, self.present, self.size = possible, present, size
        self.max_cpus, self.boot = max_cpus, boot
        self.kinds = Work(0)
        self.nohz_full: int | None = None
        self.log: list[str] = []
        self._cpus: dict[Work, int] = {}

    def cpus(self, kind: Work) -> int:
        """The CPUs that do this work."""
        return self._cpus.get(kind, self.possible)

    def nohz_full_setup(self, text: str) -> bool:
        """`nohz_full=text`; False for one that is dropped."""
        return self._setup(text, NOHZ_FULL)

    def isolcpus_setup(self, text: str) -> bool:
        """`isolcpus=text`; False for one that is dropped.

        `text` goes on behind a NUL with the rest of the command line, into which the kernel reads
        after a flag that has no comma.
        """
        kinds = Work(0)
        while text[:1].isascii() and text[:1].isalpha():
            word = re.split(r"[,\0]", text, maxsplit=1)[0]
            if word in _FLAGS and text[len(word) : len(word) + 1] == ",":
                kinds |= _FLAGS[word]
            elif re.fullmatch(r"[A-Za-z_]+", word):
                self.log.append(f"isolcpus: Skipped unknown flag {word}")
            else:
                self.log.append(f"isolcpus: Invalid flag {word}")
                return False
            text = text[len(word) + 1 :]
        return self._setup(text.partition("\0")[0], kinds or Work.DOMAIN)

    def _setup(self, text: str, kinds: Work) -> bool:
        left = bitmap_str.parse(text, self.size)
        if left.error:
            self.log.append("Housekeeping: nohz_full= or isolcpus= incorrect CPU range")
            return False
        isolated, staging = left.bits, self.possible & ~left.bits
        if _first(self.present & staging) >= min(self.size, self.max_cpus):
            staging |= 1 << self.boot
            isolated &= ~(1 << self.boot)
            if not self.kinds:
                text = f"must include one present CPU, using boot CPU:{self.boot}"
                self.log.append(f"Housekeeping: {text}")
        if not isolated:
            return False
        if any(self._cpus[kind] != staging for kind in kinds & self.kinds):
            self.log.append("Housekeeping: nohz_full= must match isolcpus=")
            return False
        self._cpus |= dict.fromkeys(kinds & ~self.kinds, staging)
        if Work.TICK in kinds and Work.TICK not in self.kinds:
            self.nohz_full = isolated
        self.kinds |= kinds
        return True


def _first(bits: int) -> int:
    """The lowest CPU; a number beyond all if there is none."""
    return (bits & -bits).bit_length() - 1 if bits else 1 << 30


class Hardware(NamedTuple):
    """The machine that boots; CPUs as bits."""

    possible: int  # all CPUs that it may ever have
    first_threads: int  # of each core
    node0: int  # NUMA node 0, on which kswapd0 runs
    #: The CPU that boots the others.
    boot: int = 0


class Threads(NamedTuple):
    """The CPUs of init and of kernel threads, as bits; several where threads of a name differ."""

    init: int
    kthreadd: int
    kswapd0: int
    rcu_preempt: int
    unbound_kworkers: tuple[int, ...]
    rcuog: tuple[int, ...] = ()
    #: CPUs that have a thread rcuop for their callbacks.
    rcuop: int = 0


def threads_of(
    housekeeping: Housekeeping,
    machine: Hardware,
    online: int,
    brought_up: int,
    workqueue: int,
    *,
    has_callbacks: bool,
) -> Threads:
    """The CPUs of threads; `brought_up` were online at some time of the boot."""
    first = 1 << machine.boot
    kthreads, rcu = housekeeping.cpus(Work.KTHREAD), housekeeping.cpus(Work.RCU)
    # Both start while only the boot CPU runs; CPUs that do not run yet are refused.
    kthreadd = kthreads if kthreads & first else first
    rcu_preempt = rcu if rcu & first else kthreadd
    callback_threads = tuple(_callback_threads(kthreads, kthreadd, brought_up))
    # A worker that exists when a CPU comes up gets those of its CPUs that are online.
    workers = {workqueue, workqueue & online or workqueue}
    return Threads(
        init=housekeeping.cpus(Work.DOMAIN),
        kthreadd=kthreadd,
        kswapd0=machine.node0 & online,
        rcu_preempt=rcu_preempt,
        unbound_kworkers=tuple(sorted(workers)),
        rcuog=callback_threads if has_callbacks else (),
        rcuop=brought_up if has_callbacks else 0,
    )


def _callback_threads(kthreads: int, kthreadd: int, brought_up: int) -> Iterator[int]:
    """The CPUs of threads rcuog: each is made when the first CPU of its group comes up.

    A group has as many CPUs as the square root of all (kernel/rcu/tree_nocb.h).
    """
    count = brought_up.bit_count()
    stride = max(int(count**0.5), 1)
    seen: set[int] = set()
    running = brought_up & -brought_up
    for cpu in list(CpuSet.from_bits(brought_up))[::stride]:
        running |= brought_up & ((1 << cpu) - 1)
        seen.add(kthreads if kthreads & running else kthreadd)
    yield from sorted(seen)


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
    limits = [limit for _, limit in limiting(line.arguments(), WITHOUT_BUGS)]
    possible = _possible(limits, machine.possible)
    size = possible.bit_length()
    max_cpus = min((limit.most for limit in limits if limit.most), default=size)
    housekeeping = Housekeeping(possible, possible, size, max_cpus, machine.boot)
    callbacks, dropped = _read(line, housekeeping, size)
    brought_up = _lowest(possible, max_cpus)
    online = brought_up
    if any(limit.is_one_thread for limit in limits):
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


def _possible(limits: Iterable[CpuLimit], cpus: int) -> int:
    """The CPUs within `possible_cpus=` and `nr_cpus=`."""
    size = min((limit.size for limit in limits if limit.size), default=cpus.bit_length())
    return cpus & ((1 << size) - 1)


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
            given = bitmap_str.parse(word.value, size)
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
    yield f"NO_HZ: Full dynticks CPUs: {to_text(cpus & ~(1 << boot_cpu))}."


def _of_callbacks(line: Line, callbacks: int | None) -> Iterator[str]:
    if callbacks is None:
        return
    yield f"rcu: Offload RCU callbacks from CPUs: {to_text(callbacks) or '(none)'}."
    if line.has("rcu_nocb_poll"):
        yield "rcu: Poll for callbacks from no-CBs CPUs."


def _irq_affinity(line: Line, size: int, boot_cpu: int) -> int:
    """Of a list with an error, the kernel keeps what comes before; the boot CPU is always added."""
    text = line.last("irqaffinity")
    if text is None:
        return (1 << size) - 1
    return bitmap_str.parse(text, size).bits | 1 << boot_cpu


def _workqueue(line: Line, housekeeping: Housekeeping, size: int) -> int:
    """The CPUs of unbound work; a restriction that would leave none is ignored."""
    restrictions = [housekeeping.cpus(Work.WQ), housekeeping.cpus(Work.DOMAIN)]
    if (text := line.last("workqueue.unbound_cpus")) is not None:
        given = bitmap_str.parse(text, size)
        restrictions += [given.bits] * bool(given.bits and not given.error)
    cpus = housekeeping.possible
    for restriction in restrictions:
        cpus = cpus & restriction or cpus
    return cpus


#: Kinds: the kernel does something else, does nothing, or would do the same without the option.
BENT, IGNORED, REDUNDANT = "bent", "ignored", "redundant"


class Remark(NamedTuple):
    """About the option `key`."""

    key: str
    kind: str
    text: str


def remarks(text: str, machine: Hardware) -> list[Remark]:
    """All remarks on a command line."""
    line = Line(text)
    booted = boot(line, machine)
    return [
        *_ignored(booted),
        *_tick(line, booted, machine),
        *_domains(line, booted),
        *_callbacks(line, booted),
        *_interrupts(line, booted),
        *_workqueues(line, booted),
    ]


def _ignored(booted: Booted) -> Iterator[Remark]:
    for word in booted.ignored:
        reason = "Linux 6.12 has no such option"
        if word.key in ("isolcpus", "nohz_full"):
            reason = (
                "it is empty, cannot be read, names a CPU that the machine does not have, or "
                "contradicts an earlier list, so that the kernel drops all of it"
            )
        yield Remark(word.key, IGNORED, reason)


def _tick(line: Line, booted: Booted, machine: Hardware) -> Iterator[Remark]:
    """nohz_full= and the CPU that keeps the time."""
    if any(word.key == "nohz_full" for word in booted.ignored):
        return
    given = _bits(line, "nohz_full", booted)
    if given >> machine.boot & 1:
        cpu = machine.boot
        text = f"CPU {cpu} keeps its tick, because it keeps the time, and kthreadd stays on it"
        yield Remark("nohz_full", BENT, text)


def _domains(line: Line, booted: Booted) -> Iterator[Remark]:
    """isolcpus= with flags that leave the scheduler alone."""
    values = [word.value for word in line.words if word.key == "isolcpus"]
    if not values or any(word.key == "isolcpus" for word in booted.ignored):
        return
    flags = {flag for value in values for flag in value.split(",")}
    if booted.nohz_full is not None and "nohz" in flags and not line.has("nohz_full"):
        text = (
            "the flag nohz stops the tick only; nohz_full= takes other work of the kernel off too"
        )
        yield Remark("isolcpus", BENT, text)
    if not booted.isolated and booted.nohz_full is None:
        text = "managed_irq alone keeps interrupts of some devices off, and isolates no CPU"
        yield Remark("isolcpus", BENT, text)


def _callbacks(line: Line, booted: Booted) -> Iterator[Remark]:
    if line.has("rcu_nocb_poll") and booted.callbacks is None:
        yield Remark("rcu_nocb_poll", IGNORED, "no RCU callbacks are taken off any CPU")
    text = line.last("rcu_nocbs")
    if text is None:
        return
    given = bitmap_str.parse(text, booted.possible.bit_length())
    if given.error:
        problem = "the list cannot be read, so that callbacks are taken off all CPUs"
        yield Remark("rcu_nocbs", BENT, problem)
    elif given.bits and not given.bits & ~(booted.nohz_full or 0):
        yield Remark("rcu_nocbs", REDUNDANT, "nohz_full= takes callbacks off its CPUs too")


def _interrupts(line: Line, booted: Booted) -> Iterator[Remark]:
    text = line.last("irqaffinity")
    if text is None:
        return
    given = bitmap_str.parse(text, booted.possible.bit_length())
    left = CpuSet.from_bits(booted.default_smp_affinity)
    if given.error or not given.bits:
        problem = f"the list cannot be read to its end, so that interrupts go to CPUs {left}"
        yield Remark("irqaffinity", BENT, problem)
    elif given.bits != booted.default_smp_affinity:
        yield Remark("irqaffinity", BENT, f"the kernel adds its boot CPU: CPUs {left}")


def _workqueues(line: Line, booted: Booted) -> Iterator[Remark]:
    key = "workqueue.unbound_cpus"
    text = line.last(key)
    if text is None:
        return
    given = bitmap_str.parse(text, booted.possible.bit_length())
    if given.error or not given.bits & booted.workqueue:
        problem = "the list cannot be read, or leaves unbound work no CPU"
        yield Remark(key, IGNORED, problem)
    elif not booted.possible & ~given.bits:
        yield Remark(key, REDUNDANT, "it has all CPUs")


def _bits(line: Line, key: str, booted: Booted) -> int:
    text = line.last(key) or ""
    return bitmap_str.parse(text, booted.possible.bit_length()).bits & booted.possible
