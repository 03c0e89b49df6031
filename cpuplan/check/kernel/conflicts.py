"""What works against the planned kernel: arguments that undo the plan, and another kernel."""

from collections.abc import Iterator, Mapping

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.subject import Subject
from cpuplan.components import cmdline, kernel
from cpuplan.components.derived import CGROUPS, HUGE_PAGES, ISOLATED, ONLINE
from cpuplan.components.host import systemd
from cpuplan.components.openshift import machineconfig
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.upstream.linux.kernel_parameters import Needs, undoing

_VERSION = "proc/version"
#: What each kind has in its version, as `uname -rv` prints it.
_MARKS = {machineconfig.REAL_TIME: ("PREEMPT_RT", "PREEMPT RT"), "64k-pages": ("64k",)}
_USUAL = "default"


def kernel_kind(subject: Subject) -> str | None:
    """`realtime`, `64k-pages` or `default`; None where nothing says it."""
    text = subject.root.read(_VERSION)
    if not text:
        return None
    marked = (name for name, marks in _MARKS.items() if any(mark in text for mark in marks))
    return next(marked, _USUAL)


def kernel_type(subject: Subject) -> Iterator[Answer]:
    """The kernel that a MachineConfig asks for."""
    for setting in subject.expected.settings.of(machineconfig.NAME):
        if setting.key != machineconfig.KERNEL_TYPE:
            continue
        found, wanted = kernel_kind(subject), str(setting.value)
        if found is None:
            yield subject.unverifiable(setting, _VERSION, "there is no such file here")
        elif found == wanted:
            yield subject.held(setting, _VERSION)
        else:
            yield subject.differs(setting, "CP8207", _VERSION, observed=found, expected=wanted)


_FACT = "boot arguments of others"


def conflicting(subject: Subject) -> Iterator[Answer]:
    """No argument that the plan does not have takes from it what it needs."""
    line = subject.root.read(CMDLINE)
    if line is None:
        yield subject.unverifiable(_FACT, CMDLINE, "the command line cannot be read")
        return
    path = subject.root.shown(CMDLINE)
    found = list(undoing(cmdline.pairs(line), _needs(subject)))
    for each in found:
        column = max(line.find(each.text), 0) + 1
        yield subject.differs(
            f"boot argument {each.name}",
            "CP815",
            Position(path, 1, column, column + len(each.text)),
            observed=each.text,
            expected="not given",
            heals=Heals.REBOOT,
            argument=each.text,
            effect=each.effect,
        )
    if not found:
        yield subject.held(_FACT, CMDLINE)


def _needs(subject: Subject) -> Needs:
    expected = subject.expected
    planned = expected.settings.of(kernel.NAME)
    online = expected.cpus(ONLINE)
    services = expected.settings.values(systemd.NAME).get(systemd.AFFINITY, EMPTY)
    return Needs(
        # Those to be switched off are online while the node boots.
        cpus=len(expected.topology.online),
        size=(expected.topology.online | expected.topology.offline).last + 1,
        has_siblings=any(len(online & each) > 1 for each in expected.topology.cores.values()),
        numa_nodes=len(expected.topology.numa_nodes),
        arguments=frozenset(map(_name, (setting.key for setting in planned))),
        is_cgroup_v1=expected.facts.get(CGROUPS) == "v1",
        has_huge_pages=_has_pages(expected.facts.get(HUGE_PAGES)),
        has_isolated=bool(expected.cpus(ISOLATED)),
        is_real_time_kernel=kernel_kind(subject) == machineconfig.REAL_TIME,
        system=services if isinstance(services, CpuSet) else EMPTY,
    )


def _name(key: str) -> str:
    return cmdline.canonical(key).partition("=")[0]


def _has_pages(nodes: object) -> bool:
    return isinstance(nodes, Mapping) and any(nodes.values())
