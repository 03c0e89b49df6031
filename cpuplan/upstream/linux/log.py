"""What the kernel says of boot arguments, huge pages and CPUs in its log (dmesg).

Its words are those of kernel/sched/isolation.c, kernel/rcu/tree_nocb.h, init/main.c and
mm/hugetlb.c from Linux 5.10 on.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.base import nodetext

#: `[    0.000000] `, `<6>[    0.000000] `, `kern  :info  : [Mon Nov 23 ...] `, or none at all.
_STAMP = re.compile(r"^(?:<\d+>|\w+ *:\w+ *: )?\[ *[^\]]{1,40}\] (?:\[ *[TC]\d+\] )?")
_FIRST = re.compile(r"Linux version \d|Booting Linux on physical CPU")
_LINE = re.compile(r"(?:Kernel c|C)ommand line: (.*)")
_UNKNOWN = re.compile(r'Unknown kernel command line parameters "?(.*?)"?, will be passed')
_CALLBACKS = re.compile(r"Offload RCU callbacks from CPUs: ([0-9,\-]+|\(none\)|all)\.?$")
_DROPPED = re.compile(
    r"incorrect CPU range|must match isolcpus=|must match nohz_full=|Invalid flag"
    r"|Skipped unknown flag|contains nonexistent CPUs"
    r"|bad CPU range|has no effect|Housekeeping: nohz unsupported"
)
_PAGES = re.compile(r"HugeTLB: allocating \d+ of page size \S+ \S+ failed|HugeTLB: unsupported")
_CPUS = re.compile(
    r"CPU ?\d+ (?:is now offline|failed to (?:come|boot)|.*not responding)|do_boot_cpu failed"
    r"|NR_CPUS/possible_cpus limit|CPU\d+: failed"
)
_ICPUS = ("isolcpus", "nohz_full", "Housekeeping")
_MAX_LINE = 4096


class Log(NamedTuple):
    """The lines of a boot, without their times, that say something of a plan."""

    #: False where the buffer lost its first lines: what is not there may have been said.
    is_whole: bool
    #: The command line as the kernel printed it; it may be cut off.
    command_line: str
    #: Arguments that nothing took, as `name` or `name=value`.
    unknown: tuple[str, ...]
    #: The CPUs whose RCU callbacks others run, as printed; None where nothing was said.
    callbacks: str | None
    #: Complaints about lists of CPUs.
    dropped: tuple[str, ...]
    #: Complaints about huge pages.
    pages: tuple[str, ...]
    #: CPUs that went off or did not come.
    cpus: tuple[str, ...]


def parse(text: str) -> Log:
    """The log in the form of dmesg or /dev/kmsg's messages, one to a line."""
    lines = [_STAMP.sub("", line[:_MAX_LINE]).strip() for line in nodetext.lines(text)]
    unknown = _first(_UNKNOWN, lines)
    return Log(
        any(_FIRST.match(line) for line in lines[:50]),
        _first(_LINE, lines) or "",
        tuple((unknown or "").split()),
        _first(_CALLBACKS, lines),
        tuple(line for line in lines if _DROPPED.search(line) and _is_about_cpus(line)),
        tuple(line for line in lines if _PAGES.search(line)),
        tuple(line for line in lines if _CPUS.search(line)),
    )


def _is_about_cpus(line: str) -> bool:
    return any(word in line for word in (*_ICPUS, "rcu"))


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    found = (match[1] for line in lines if (match := pattern.search(line)))
    return next(found, None)
