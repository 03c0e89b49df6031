"""Which CPUs a plan keeps programs and kernel threads off, and by which settings."""

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.check.threads.task import cpu_list
from cpuplan.check.threads.users import Promise
from cpuplan.components import crio, kernel, units
from cpuplan.components.host import partitions, systemd
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting, Value, cpu_sets

#: (component, key) of what keeps programs off CPUs, the strongest first.
_KEEPING = (
    (systemd.NAME, systemd.AFFINITY),
    (kernel.NAME, "systemd.cpu_affinity"),
    (kernel.NAME, "isolcpus"),
    (partitions.NAME, partitions.THREADS),
)
#: Open vSwitch chooses its CPUs where it is told to, or has cores of its own.
_OPEN_VSWITCH = frozenset(("ovs-vswitchd", "ovsdb-server"))
#: What watches a container for CRI-O has CPUs of its own.
_MONITOR = frozenset(("conmon",))


def settings(expected: Expected) -> list[Setting]:
    """The settings that keep programs off CPUs."""
    wanted = ((expected.settings.of(component), key) for component, key in _KEEPING)
    return [one for found, key in wanted for one in found if one.key == key]


def setting(expected: Expected, key: str) -> Setting | None:
    """The boot argument `key`, if it is planned."""
    return next((one for one in expected.settings.of(kernel.NAME) if one.key == key), None)


def promise(expected: Expected, online: CpuSet) -> Promise:
    """What these settings promise of the CPUs that run."""
    forbidden = EMPTY
    for one in settings(expected):
        if one.key == "isolcpus":
            forbidden |= kernel.unbalanced([one])
        elif one.component == partitions.NAME:
            forbidden |= cpus(one.value)
        else:
            forbidden |= online - (cpus(one.value) or online)
    return Promise(forbidden & online, online, expected.pool("isolcpus").cpus)


def cpus(value: Value) -> CpuSet:
    """The CPUs of a value, a set or a list in text."""
    return cpu_list(value) if isinstance(value, str) else union(cpu_sets(value))


def spared(expected: Expected) -> frozenset[str]:
    """Programs that choose their CPUs, or have them from somebody else, by the plan."""
    names: frozenset[str] = frozenset()
    if any("ovs" in one.key for one in expected.settings.of(units.NAME)):
        names |= _OPEN_VSWITCH
    if "infra_ctr_cpuset" in expected.settings.values(crio.NAME):
        names |= _MONITOR
    return names
