"""What a check reads of a node at most, and what of an archive it keeps."""

from cpuplan.base.roots.archive import Keeping
from cpuplan.base.roots.tree import Budget, Limits

#: Of one file: the kernel's own have some kB, configurations that people write too.
MAX_FILE = 1024 * 1024
#: Of a table with something for each CPU, thread or unit: interrupts of 512 CPUs have 8 MiB.
MAX_TABLE = 32 * 1024 * 1024
_TABLES = (
    "proc/interrupts",
    "proc/cpuinfo",
    "proc/softirqs",
    "cpuplan/interrupts.later",
    "cpuplan/systemctl-show",
    "/dmesg",
    "/systemctl_show_service_--all",
    "/ps_auxwwwm",
    "/ps_auxwww",
    "/cpu_affinities.json",
)
#: Names in one folder, and files below it: 8,192 CPUs have as many folders.
MAX_NAMES = 20_000
#: The largest node that is judged, with 100,000 threads, takes about two million steps.
LIMITS = Limits(names=MAX_NAMES, steps=10_000_000)
#: What a check asks of one root in all, however its links lead around. The largest node that is
#: judged, with 100,000 threads and 20,000 control groups, is asked some 600,000 times.
BUDGET = Budget(questions=1_000_000, names=2_000_000, bytes=512 * 1024 * 1024)
#: A must-gather has an archive of each node: of 2,000 CPUs some 4 MiB.
NESTED = "sysinfo.tgz"
MAX_NESTED = 16 * 1024 * 1024
#: Unpacked, as `import` reads it: 1,920 CPUs need 103 MiB.
MAX_NESTED_UNPACKED = 384 * 1024 * 1024
#: Folders of sosreports and must-gathers that hold most of their bytes, and no node's files.
_LOGS = frozenset({"audit_logs", "host_service_logs", "journal", "namespaces", "sos_logs"})


def limit_of(path: str) -> int:
    """How many bytes of a file are read; also of one in an archive, with folders before it."""
    return MAX_TABLE if path.endswith(_TABLES) else MAX_FILE


def _limit_of_member(name: str) -> int:
    return MAX_NESTED if name.endswith(f"/{NESTED}") else limit_of(name)


def _is_log(name: str) -> bool:
    return not _LOGS.isdisjoint(name.split("/"))


#: A sosreport has logs of some GiB; of what is kept, a node of 2,000 threads has some MiB.
KEEPING = Keeping(
    unpacked=8 * 1024 * 1024 * 1024,
    kept=256 * 1024 * 1024,
    limit_of=_limit_of_member,
    is_log=_is_log,
)
