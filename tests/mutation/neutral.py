"""Changes that do not matter: the same value written otherwise, and what no plan speaks of."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components import cmdline, kernel
from tests.mutation.families.arguments import CMDLINE
from tests.mutation.families.tasks import moved
from tests.mutation.image import Content
from tests.mutation.mutation import NOTHING, Case, Mutation
from tests.mutation.values import written_otherwise

_MASKS = (
    "proc/irq/default_smp_affinity",
    "sys/devices/virtual/workqueue/cpumask",
    "proc/sys/net/core/rps_default_mask",
)
_FOREIGN: dict[str, Content] = {
    "etc/motd": "Welcome\n",
    "etc/sysctl.d/50-site.conf": "net.ipv4.ip_forward = 1\n",
    "etc/systemd/system/site.service": "[Service]\nExecStart=/usr/bin/true\n",
    "etc/systemd/system/kubelet.service.d/20-site.conf": "[Service]\nEnvironment=SITE=1\n",
    "etc/systemd/system.conf.d/20-site.conf": "[Manager]\nDefaultTimeoutStopSec=30s\n",
    "etc/modprobe.d/site.conf": "blacklist floppy\n",
    "etc/udev/rules.d/10-site.rules": "# nothing\n",
    "etc/tmpfiles.d/site.conf": "d /run/site 0755 root root -\n",
    "proc/sys/net/ipv4/ip_forward": "1\n",
    "proc/sys/kernel/pid_max": "4194304\n",
    "proc/loadavg": "3.10 2.20 1.00 2/300 4000\n",
}


def mutations(case: Case) -> Iterator[Mutation]:
    """Nothing may be found in any of these."""
    for path, content in _FOREIGN.items():
        yield _mutation(f"foreign {path}", {path: content})
    yield from _arguments(case)
    for path in _MASKS:
        text = case.image.text(path)
        if text:
            cpus = CpuSet.parse_mask(text.strip())
            yield _mutation(f"{path} with zeros", {path: f"{cpus.mask(256)}\n"})
    yield from _drop_ins(case)
    yield from _tasks(case)
    yield from _in_use(case)
    yield from _comments(case)


def _mutation(name: str, changes: dict[str, Content]) -> Mutation:
    return Mutation("neutral", name, changes, NOTHING)


def _arguments(case: Case) -> Iterator[Mutation]:
    line = (case.image.text(CMDLINE) or "").strip()
    if not line:
        return
    words = line.split()
    if "hugepagesz" not in line and line.count("isolcpus=") < 2:
        yield _mutation("arguments in another order", {CMDLINE: f"{' '.join(reversed(words))}\n"})
    for word in ("console=tty0", "rhgb", "rd.shell=0", "selinux=0", "net.ifnames=0"):
        yield _mutation(f"foreign {word}", {CMDLINE: f"{line} {word}\n"})
    for setting in case.expected.settings.of(kernel.NAME):
        for word in cmdline.words(setting.key, setting.value):
            other = re.sub(r"[\d,:/-]+\Z", _otherwise, word)
            if setting.key in cmdline.CPU_LISTS and word in words and other != word:
                changed: dict[str, Content] = {CMDLINE: f"{line.replace(word, other)}\n"}
                yield _mutation(f"{setting.key} written otherwise", changed)
            if word in words:
                again: dict[str, Content] = {CMDLINE: f"{line.replace(word, word + '  ')}\n"}
                yield _mutation(f"{setting.key} with blanks", again)


def _otherwise(match: re.Match[str]) -> str:
    text = match[0]
    comma = "," if text.startswith(",") else ""
    try:
        return comma + written_otherwise(CpuSet.parse_kernel(text.lstrip(",")))
    except CpuSetError:
        return text


def _drop_ins(case: Case) -> Iterator[Mutation]:
    drop_in = case.expected.release.kubelet_drop_in.lstrip("/")
    if drop_in and case.image.text(drop_in) is not None:
        head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        path = f"{drop_in.rpartition('/')[0]}/10-site.conf"
        yield _mutation("a drop-in of the kubelet", {path: f"{head}maxPods: 50\n"})
        ignored = f"{drop_in.rpartition('/')[0]}/99-zzz-site.yaml"
        yield _mutation("no drop-in of the kubelet", {ignored: f"{head}cpuManagerPolicy: none\n"})
    if case.image.names("etc/crio/crio.conf.d"):
        text = '[crio.runtime]\nlog_level = "info"\n'
        yield _mutation("a file of CRI-O", {"etc/crio/crio.conf.d/10-site.conf": text})


def _tasks(case: Case) -> Iterator[Mutation]:
    """A program on fewer CPUs than it might have, and one that went away."""
    reserved = case.expected.pool("reserved").cpus & case.expected.cpus("online CPUs")
    for pid in case.image.names("proc"):
        status = case.image.text(f"proc/{pid}/status") or ""
        comm = (case.image.text(f"proc/{pid}/comm") or "").strip()
        cgroup = case.image.text(f"proc/{pid}/cgroup") or ""
        if comm == "irqbalance" or "PPid:\t1\n" not in status or "kubepods" in cgroup:
            continue
        yield _mutation(f"{comm} on one CPU", moved(case, pid, CpuSet([reserved.first])))
        yield _mutation(f"{comm} gone", {f"proc/{pid}": None})
        return


def _comments(case: Case) -> Iterator[Mutation]:
    """In compiled files of nodes where no daemon compares bytes."""
    if case.expected.platform.has_pools:
        return
    for path, file in case.expected.files.items():
        if path.endswith((".service", ".conf", ".sh")) and not file.text.startswith("#!"):
            changed = f"{file.text}\n# of the site\n"
            yield _mutation(f"{path} with a comment", {path.lstrip("/"): changed})


def _in_use(case: Case) -> Iterator[Mutation]:
    """Less free memory, and interrupts that came."""
    meminfo = case.image.text("proc/meminfo")
    if meminfo:
        less = re.sub(r"(?m)^MemFree:.*$", "MemFree: 1000 kB", meminfo)
        yield _mutation("little memory free", {"proc/meminfo": less})
    text = case.image.text("proc/interrupts")
    if text:
        yield _mutation("interrupts counted", {"proc/interrupts": text.replace(" 0 ", " 9 ", 1)})
