"""Housekeeping: which CPUs do the kernel's own work (kernel/sched/isolation.c).

`nohz_full=` and `isolcpus=` each take CPUs out of several kinds of work. Of a kind that is set
twice, both lists must be the same, or the second is dropped.
"""

import re
from enum import Flag, auto

from cpuplan.upstream.linux import cpulist


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
        left = cpulist.parse(text, self.size)
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
