"""What holds on a running node, where files alone do not say it.

Each step reads /proc and /sys, and says nothing where a copy of a node's files lacks them: the
files are compared by other steps.
"""

from collections.abc import Iterator

from cpuplan.check.compare import shown
from cpuplan.check.subject import Subject
from cpuplan.components.host import (
    kubelet_unit,
    rps,
    sysctl,
    systemd,
    tuned,
    workqueue,
)
from cpuplan.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.setting import Setting

ACTIVE_PROFILE = "etc/tuned/active_profile"


def sysctls(subject: Subject) -> Iterator[Diagnostic]:
    """Values in force, which a later file or another program may have changed.

    A kernel without the file has nothing that could be set.
    """
    for setting in subject.plan.settings.of(sysctl.NAME):
        path = sysctl.shown_in(setting.key)
        text = subject.root.read(path)
        if text is not None and text.strip() != setting.value:
            yield _differs(subject, setting, path, text.strip())


def steering(subject: Subject) -> Iterator[Diagnostic]:
    """The default mask of packet steering, which kernels before Linux 6.3 do not have."""
    for setting in subject.plan.settings.of(rps.NAME):
        path = sysctl.shown_in(setting.key)
        text = subject.root.read(path)
        if setting.key != rps.MASK or not subject.root.is_file("proc/sys/net/core/somaxconn"):
            continue
        if text is None or mask(text) != setting.value:
            yield _differs(subject, setting, path, (text or "unknown").strip())


def profile(subject: Subject) -> Iterator[Diagnostic]:
    """TuneD runs the compiled profile."""
    settings = subject.plan.settings.of(tuned.NAME)
    if not settings or subject.plan.node_class.platform.has_pools:
        return
    text = subject.root.read(ACTIVE_PROFILE)
    if text is None and subject.root.refused:
        return
    active = (text or "").strip() or "none"
    if active != tuned.PROFILE:
        place = subject.place(ACTIVE_PROFILE)
        labels = subject.labels(settings[0].reasons)
        yield diagnose("CP874", place, labels=labels, active=active, wanted=tuned.PROFILE)


def services(subject: Subject) -> Iterator[Diagnostic]:
    """The CPUs of pid 1, which services inherit, those of slices, and those of unbound work."""
    for setting in subject.plan.settings.of(systemd.NAME):
        path = f"sys/fs/cgroup/{setting.key}/cpuset.cpus.effective"
        if setting.key == systemd.AFFINITY:
            path = "proc/1/status"
        yield from _within(subject, setting, path, allowed(subject.root.read(path) or ""))
    for setting in subject.plan.settings.of(workqueue.NAME):
        path = setting.key.lstrip("/")
        yield from _within(subject, setting, path, mask(subject.root.read(path) or ""))


def _within(subject: Subject, setting: Setting, path: str, found: CpuSet) -> Iterator[Diagnostic]:
    if isinstance(setting.value, CpuSet) and found - setting.value:
        yield _differs(subject, setting, path, str(found))


def _differs(subject: Subject, setting: Setting, path: str, found: str) -> Diagnostic:
    """CP872: another value in force."""
    labels = subject.labels(setting.reasons)
    wanted = shown(setting.value)
    place = subject.place(path)
    return diagnose("CP872", place, labels=labels, key=setting.key, found=found, wanted=wanted)


def allowed(status: str) -> CpuSet:
    """The CPUs of a task's status, or of a file that has a list only; none of what is neither."""
    lines = [line for line in status.splitlines() if line.startswith("Cpus_allowed_list:")]
    text = lines[0].partition(":")[2] if lines else status
    try:
        return CpuSet.parse_kernel(text.strip())
    except CpuSetError:
        return EMPTY


def mask(text: str) -> CpuSet:
    try:
        return CpuSet.parse_mask(text.strip())
    except CpuSetError:
        return EMPTY


def kubelet_folder(subject: Subject) -> Iterator[Diagnostic]:
    """The kubelet reads the folder of its drop-ins."""
    wanted = subject.plan.settings.values(kubelet_unit.NAME).get(kubelet_unit.CONFIG_DIR)
    for process in processes(subject, "kubelet") if wanted else ():
        path = f"proc/{process}/cmdline"
        words = (subject.root.read(path) or "").split("\0")
        given = [f"{kubelet_unit.CONFIG_DIR}={wanted}", f"{kubelet_unit.CONFIG_DIR} {wanted}"]
        if words[0] and not any(flag in " ".join(words) for flag in given):
            yield diagnose("CP876", subject.place(path), folder=wanted)


def processes(subject: Subject, name: str) -> Iterator[str]:
    """The numbers of the processes of a program."""
    for number in subject.root.names("proc"):
        if number.isdecimal() and subject.root.read(f"proc/{number}/comm") == f"{name}\n":
            yield number
