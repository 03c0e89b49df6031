"""What shows that a boot argument took effect, for the machine and the whole line of a plan."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import cmdline
from cpuplan.facts.settings.row import Form
from cpuplan.plan.setting import Evidence, Setting
from cpuplan.upstream.linux import evidence
from cpuplan.upstream.linux.evidence import Shown
from cpuplan.upstream.linux.isolation import Booted, Hardware, Line, boot


@lru_cache(maxsize=64)
def machine_of(topology: Topology) -> Hardware:
    """The machine as a boot finds it: with all CPUs of the inventory, those to be offlined too."""
    every = topology.online | topology.offline
    numa_nodes = topology.numa_nodes
    first = numa_nodes[min(numa_nodes)] if numa_nodes else every
    return Hardware(
        every.bits, CpuSet(topology.cores).bits, first.bits, min(topology.online, default=0)
    )


def booted(settings: Iterable[Setting], topology: Topology) -> Booted:
    """What Linux makes of the arguments of a plan."""
    words = (cmdline.words(setting.key, setting.value) for setting in settings)
    line = " ".join(cmdline.quote(word) for each in words for word in each)
    return _booted(line, machine_of(topology))


@lru_cache(maxsize=1 << 10)
def _booted(line: str, machine: Hardware) -> Booted:
    return boot(Line(line), machine)


def with_evidence(settings: list[Setting], topology: Topology) -> Iterator[Setting]:
    """The arguments, each with the files that show its effect."""
    after = booted(settings, topology)
    for setting in settings:
        shown = tuple(map(_evidence, _shown(setting, after)))
        if setting.effect:
            yield setting._replace(effect=setting.effect._replace(evidence=shown))


def _shown(setting: Setting, after: Booted) -> tuple[Shown, ...]:
    key, value = cmdline.canonical(setting.key), setting.value
    if key in cmdline.CPU_LISTS:
        return evidence.of_lists(key, after)
    return evidence.of_argument(key, "" if value is True else str(value))


def _evidence(shown: Shown) -> Evidence:
    return Evidence(shown.path, Form(shown.form), shown.value, shown.since)
