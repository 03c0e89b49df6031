"""A sosreport: copies of files, and outputs of commands in `sos_commands/`, some for files.

Names of outputs: sos/report/plugins/__init__.py, _mangle_command.
"""

from collections.abc import Iterator

from cpuplan.base import nodetext
from cpuplan.base.files import Unreadable
from cpuplan.base.roots.reader import Reader
from cpuplan.check.roots.overlay import OverlayReader, Stand, readable

MARK = "sos_commands"
_SYSCTLS = f"{MARK}/kernel/sysctl_-a"
_PROCESSES = (f"{MARK}/process/ps_auxwwwm", f"{MARK}/process/ps_auxwww")
#: File -> outputs that say the same, the first that exists.
_OUTPUTS = {
    "cpuplan/dmesg": (f"{MARK}/kernel/dmesg", "var/log/dmesg"),
    "cpuplan/systemctl-show": (f"{MARK}/systemd/systemctl_show_service_--all",),
    "cpuplan/systemctl-list-units": (f"{MARK}/systemd/systemctl_list-units_--all",),
    "cpuplan/tuned-adm-verify": (f"{MARK}/tuned/tuned-adm_verify",),
    "etc/hostname": (f"{MARK}/host/hostname", f"{MARK}/general/hostname", "hostname"),
}
#: Programs whose command lines decide what a node does.
_PROGRAMS = frozenset({"kubelet", "crio", "containerd", "irqbalance", "tuned"})


def reader_of(report: Reader) -> Reader:
    """The report with files that outputs stand for: sysctls, and command lines of processes."""
    stands = {}
    for path, sources in _OUTPUTS.items():
        for source in sources:
            body = readable(report, source)
            if body and path not in stands:
                stands[path] = Stand(source, body)
    stands |= dict(_sysctls(report))
    stands |= dict(_processes(report))
    return OverlayReader(report, stands)


def _sysctls(report: Reader) -> Iterator[tuple[str, Stand]]:
    """`kernel.sched_rt_runtime_us = -1`; a dot in the name of a device is written as a slash."""
    for line in nodetext.lines((readable(report, _SYSCTLS) or b"").decode("utf-8", "replace")):
        key, separator, value = line.partition(" = ")
        names = key.translate(str.maketrans("./", "/."))
        if separator and key.isprintable() and not {"", ".", ".."}.intersection(names.split("/")):
            yield f"proc/sys/{names}", Stand(_SYSCTLS, f"{value}\n".encode())


def _processes(report: Reader) -> Iterator[tuple[str, Stand]]:
    """Command lines, where the report has the process: it copies its `status` and `cgroup` only."""
    source = next((path for path in _PROCESSES if readable(report, path)), "")
    for line in nodetext.lines((readable(report, source) or b"").decode("utf-8", "replace")):
        fields = line.split(None, 10)
        if len(fields) < 11 or nodetext.natural(fields[1]) is None:
            continue
        words = fields[10].split()
        program = words[0].rpartition("/")[2]
        script = words[1].rpartition("/")[2] if len(words) > 1 else ""
        if not _PROGRAMS.isdisjoint((program, script)) and _has(report, f"proc/{fields[1]}/status"):
            text = "".join(f"{word}\0" for word in words)
            yield f"proc/{fields[1]}/cmdline", Stand(source, text.encode())


def _has(report: Reader, path: str) -> bool:
    try:
        report.status(path)
    except (OSError, ValueError, Unreadable):
        return False
    return True
