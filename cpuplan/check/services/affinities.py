"""CPUs, quotas and memory nodes that files of others give to services.

What a service has by CPUAffinity= or NUMAPolicy= is inherited by all that it starts: with the
kubelet's and the runtime's, pods have it (containerd/containerd#11345).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.check.services.systemd_units import (
    OWN,
    Line,
    UnitFiles,
    added_lines,
    cpus_of_lines,
    last_line,
    unit_lines,
)
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject, shown
from cpuplan.check.threads import programs
from cpuplan.check.threads.tasks import is_pod
from cpuplan.components import derived, kernel
from cpuplan.components.host import systemd
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.host import SERVICE_AFFINITY
from cpuplan.facts.settings.kernel import CPU_AFFINITY
from cpuplan.plan.expected.evidence import Answer

_AFFINITY, _QUOTA, _POLICY, _MASK = SERVICE_AFFINITY.key, "CPUQuota", "NUMAPolicy", "NUMAMask"
_ALLOWED, _MEMORY = "AllowedCPUs", "AllowedMemoryNodes"
_KEYS = (_AFFINITY, _ALLOWED, _MEMORY, _QUOTA, _POLICY, _MASK)
#: Where the plan has CPUs of these, their drop-ins are compared with it elsewhere.
_LIMITED = (".slice", ".scope")
_CONFINED = (".service", *_LIMITED)
#: What starts pods, by platform: the kubelet asks another program, unless both are one.
_RUNTIMES = frozenset(
    (
        "crio.service",
        "containerd.service",
        "k3s.service",
        "k3s-agent.service",
        "rke2-server.service",
        "rke2-agent.service",
    )
)
#: Of these, quotas and memory count as well.
_SERVING = _RUNTIMES | {"kubelet.service"}
#: What the kubelet makes below these has limits of its own.
_PODS = frozenset(("kubepods.slice", "kubepods-burstable.slice", "kubepods-besteffort.slice"))
_TRANSIENT = "run/systemd/transient/"
MANAGER = "etc/systemd/system.conf"
#: Of the manager's configuration, in the order of their strength (systemd-system.conf(5)).
_MANAGER_FOLDERS = (
    "etc/systemd/system.conf.d",
    "run/systemd/system.conf.d",
    "usr/local/lib/systemd/system.conf.d",
    "usr/lib/systemd/system.conf.d",
)
_ARGUMENT = CPU_AFFINITY.key


class _Found(NamedTuple):
    """What is wrong with a line of a unit."""

    unit: str
    line: Line
    problem: str


def foreign(subject: Subject) -> Iterator[Answer]:
    """CP869 for each unit whose files of others give it what the plan does not."""
    isolated = subject.expected.cpus(derived.ISOLATED)
    if not isolated:
        return
    confined = list(_units(subject, unit_files(subject)))
    confined += _manager(subject, isolated)
    subject.cache[programs.FOREIGN_AFFINITY_UNITS] = frozenset(
        affinity.unit for affinity in confined if affinity.line.key == _AFFINITY
    )
    if not confined and any(folder in unit_files(subject).folders for folder in OWN):
        yield subject.held("affinities of units", "etc/systemd/system")
    elif not confined:
        yield subject.unverifiable("affinities of units", OWN[0], "no unit of the node is here")
    for affinity in confined:
        path, line = (
            subject.root.shown(affinity.line.path),
            shown(f"{affinity.line.key}={affinity.line.value}"),
        )
        yield subject.differs(
            f"{affinity.line.key} of {affinity.unit}",
            "CP869",
            Position(path, affinity.line.number, 1),
            observed=line,
            expected="nothing of the kind",
            unit=affinity.unit,
            line=line,
            problem=affinity.problem,
        )


def _units(subject: Subject, files: UnitFiles) -> Iterator[_Found]:
    own = {path.lstrip("/") for path in subject.expected.files}
    judged = (unit for unit in files.units() if unit.endswith(_CONFINED))
    mentioned = {unit for unit in judged if _mentions(subject, files, unit)}
    for unit in sorted(mentioned):
        every = files.lines(unit)
        slice_ = last_line(every, "Slice")
        if slice_ and is_pod(slice_.value):
            continue  # judged as what runs in a pod
        given = [line for line in every if line.key in _KEYS]
        by_others = [line for line in given if line.path not in own]
        if unit.endswith(_LIMITED):
            by_others = [line for line in by_others if not line.path.startswith(_TRANSIENT)]
        if by_others and (affinity := _problem(subject, unit, given)):
            yield affinity


def _mentions(subject: Subject, files: UnitFiles, unit: str) -> bool:
    """Whether files of the unit name one of the keys."""
    for folder, names in files.folders.items():
        if unit in names and _names_key(subject, f"{folder}/{unit}"):
            return True
    return any(_names_key(subject, path) for path in files.drop_ins(unit))


def _names_key(subject: Subject, path: str) -> bool:
    if subject.root.link(path) is not None:
        return False  # a mask, or the file of a package
    text = subject.root.read(path) or ""
    return any(key in text for key in _KEYS)


def _problem(subject: Subject, unit: str, given: Sequence[Line]) -> _Found | None:
    affinity, allowed = added_lines(given, _AFFINITY), added_lines(given, _ALLOWED)
    quota, policy, mask = (last_line(given, key) for key in (_QUOTA, _POLICY, _MASK))
    if affinity and (problem := _affinity(subject, unit, cpus_of_lines(affinity))):
        return _Found(unit, affinity[-1], problem)
    if allowed and (problem := _confined(subject, unit, cpus_of_lines(allowed))):
        return _Found(unit, allowed[-1], problem)
    if unit in _PODS and (memory := last_line(given, _MEMORY)):
        return _Found(unit, memory, "pods get memory of these NUMA nodes alone")
    if quota and (unit in _SERVING or unit in _PODS):
        who = "pods are" if unit in _PODS else "it is"
        return _Found(unit, quota, f"{who} throttled")
    if unit in _RUNTIMES and (policy or mask):
        line = policy or mask
        return _Found(unit, line, "pods take their memory as it says") if line else None
    return None


def _affinity(subject: Subject, unit: str, allowed: CpuSet) -> str:
    """What is wrong with an affinity; the CPUs of isolcpus may be a program's on purpose."""
    isolated = subject.expected.cpus(derived.ISOLATED)
    isolcpus = subject.expected.pool("isolcpus").cpus
    strays = EMPTY if allowed <= isolcpus else allowed & isolated
    if strays:
        return f"it may run on isolated {cpus_text(strays)}"
    others = subject.expected.cpus(derived.SYSTEM)
    if unit in _RUNTIMES and not others <= allowed:
        return "pods inherit it"
    return ""


def _confined(subject: Subject, unit: str, allowed: CpuSet) -> str:
    """What is wrong with the cpuset of a unit: with CPUs that it should have, it uses these."""
    if unit in {
        setting.key for setting in subject.expected.settings if setting.key.endswith(_LIMITED)
    }:
        return ""
    if unit in _PODS:
        lost = subject.expected.cpus(derived.ONLINE) - allowed if allowed else EMPTY
        return f"pods are kept off {cpus_text(lost)}" if lost else ""
    isolated = subject.expected.cpus(derived.ISOLATED)
    isolcpus = subject.expected.pool("isolcpus").cpus
    if allowed <= isolcpus or allowed & subject.expected.cpus(derived.SYSTEM):
        return ""
    strays = allowed & isolated
    return f"it can run on isolated {cpus_text(strays)} only" if strays else ""


def _manager(subject: Subject, isolated: CpuSet) -> list[_Found]:
    """The manager's own affinity, which every unit without one has."""
    if _ARGUMENT in subject.expected.settings.values(kernel.NAME):
        return []  # overrides the files; one that is not planned does so until the next boot
    by_name: dict[str, str] = {}
    for folder in _MANAGER_FOLDERS:
        for name in subject.root.names(folder):
            if name.endswith(".conf"):
                by_name.setdefault(name, f"{folder}/{name}")
    paths = [MANAGER, *(path for _, path in sorted(by_name.items()))]
    lines = [line for path in paths for line in unit_lines(subject.root.read(path) or "", path)]
    own = systemd.MANAGER_PATH.lstrip("/")
    planned = subject.expected.settings.values(systemd.NAME).get(systemd.AFFINITY)
    given = added_lines(lines, _AFFINITY)
    strays = cpus_of_lines(given) & isolated
    by_others = [line for line in given if line.path != own]
    problems = []
    if by_others and strays:
        text = f"all services may run on isolated {cpus_text(strays)}"
        problems.append(_Found(programs.SYSTEMD, by_others[-1], text))
    elif by_others and planned and cpus_of_lines(given) != planned:
        problems.append(_Found(programs.SYSTEMD, by_others[-1], f"services should have {planned}"))
    policy = last_line(lines, _POLICY)
    if policy and policy.path != own and policy.value != "default":
        problems.append(
            _Found(programs.SYSTEMD, policy, "services and pods take their memory as it says")
        )
    return problems
