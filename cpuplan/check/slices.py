"""Slices of pods: what the drop-ins of systemd add up to, and what the kernel has of it."""

from collections.abc import Iterator

from cpuplan.check.compare import line_of
from cpuplan.check.subject import Subject
from cpuplan.components import slices
from cpuplan.components.host import partitions
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import Unreadable
from cpuplan.runtime.qossets import ALL_PODS
from cpuplan.setting import Setting, Value
from cpuplan.source import Position

#: Where systemd looks for drop-ins; an earlier folder hides files of the same name in later ones
#: (systemd.unit(5)).
FOLDERS = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
)
CGROUPS = "sys/fs/cgroup"
_KEY = "AllowedCPUs"


def limits(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned slice has its CPUs after all drop-ins, and in the kernel where it exists."""
    for setting in subject.plan.settings.of(slices.NAME):
        findings = list(_files(subject, setting))
        yield from findings or _kernel(subject, setting)


def _files(subject: Subject, setting: Setting) -> Iterator[Diagnostic]:
    """CP860 and CP861: the drop-ins do not give the slice its CPUs."""
    paths = drop_ins(subject, setting.key)
    texts = [subject.root.read(path) or "" for path in paths]
    if subject.root.refused:
        return
    limiting = [path for path, text in zip(paths, texts, strict=True) if _KEY in text]
    if not limiting:
        place = subject.place(slices.path(setting.key).lstrip("/"))
        labels = subject.labels(setting.reasons)
        yield diagnose("CP860", place, labels=labels, slice=setting.key, wanted=setting.value)
        return
    found = slices.allowed(texts)
    if found != setting.value:
        place = line_of(subject, limiting[-1], _KEY)
        yield _differs("CP861", place, subject, setting, found)


def drop_ins(subject: Subject, name: str) -> list[str]:
    """The drop-ins of a slice in the order in which systemd reads them: that of their names."""
    start = name.partition("-")[0]
    prefixes = [f"{start}-.slice"] if "-" in name else []
    by_name: dict[str, str] = {}
    for unit in (name, *prefixes, "slice"):
        for folder in FOLDERS:
            for path in subject.root.files(f"{folder}/{unit}.d"):
                if path.endswith(".conf"):
                    by_name.setdefault(path.rpartition("/")[2], path)
    return [path for _, path in sorted(by_name.items())]


def cgroup(name: str) -> str:
    """The folder of a slice's control group (version 2)."""
    inner = "" if name == ALL_PODS else f"/{name}"
    return f"{CGROUPS}/{ALL_PODS}{inner}"


def _kernel(subject: Subject, setting: Setting) -> Iterator[Diagnostic]:
    """CP862: a program wrote over the slice, or systemd was not reloaded."""
    path = f"{cgroup(setting.key)}/cpuset.cpus"
    text = subject.root.read(path)
    try:
        cpus = None if text is None else CpuSet.parse_kernel(text)
    except CpuSetError:
        subject.root.refuse(path, Unreadable("it holds no list of CPUs"))
        return
    if cpus is not None and cpus != setting.value:
        yield _differs("CP862", subject.place(path), subject, setting, cpus)


def _differs(
    code: str, place: Position, subject: Subject, setting: Setting, found: Value
) -> Diagnostic:
    return diagnose(
        code,
        place,
        labels=subject.labels(setting.reasons),
        slice=setting.key,
        found=found or "all CPUs",
        wanted=setting.value,
    )


def partition(subject: Subject) -> Iterator[Diagnostic]:
    """CP863: the partition of isolcpus is there and valid; reading it is the only way to know."""
    planned = subject.plan.settings.of(partitions.NAME)
    for setting in (each for each in planned if each.key == partitions.THREADS):
        path = f"{partitions.CGROUP}/cpuset.cpus.partition"
        state = subject.root.read(path)
        cpus = subject.root.read(f"{partitions.CGROUP}/cpuset.cpus.exclusive.effective")
        if subject.root.refused or not subject.root.names(CGROUPS):
            return
        shown = (state or "missing").strip()
        if shown != "isolated" or (cpus or "").strip() != str(setting.value):
            labels = subject.labels(setting.reasons)
            place = subject.place(path)
            yield diagnose("CP863", place, labels=labels, state=shown, wanted=setting.value)
