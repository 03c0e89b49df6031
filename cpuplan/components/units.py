"""systemd: units that prepare a node before its kubelet starts, with their scripts.

Units and scripts have the names, order and environment of the node tuning operator's; their texts
are cpuplan's own (`templates/`). The setting of a unit is its environment, that of a script is
True.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.patterns import expression
from cpuplan.components import hugepages
from cpuplan.components.base import template
from cpuplan.components.chosen import stated
from cpuplan.components.emission import emit
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME, UNIT_FOLDER, BIN = rows.UNITS, rows.UNIT_FOLDER, rows.BIN
OFFLINE_UNIT = rows.OFFLINE_UNIT.key
HUGE_PAGES_UNIT = "hugepages-allocation.service"
CHECK_UNIT = "hugepages-check.service"
_CHECK = "hugepages-check"
#: Scripts by the beginning of the names of their units.
_SCRIPTS = {
    OFFLINE_UNIT: rows.OFFLINE_SCRIPT,
    HUGE_PAGES_UNIT.removesuffix(".service"): rows.ALLOCATION_SCRIPT,
    _CHECK: rows.CHECK_SCRIPT,
}
#: Runs a script whose file is not executable.
SHELL = "/bin/bash "

_PATH_LINE = expression(r"^# (/\S+)\n", re.MULTILINE)
_ENVIRONMENT = expression(r"^Environment=(\w+)=(.*)$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Units by name, files by path."""
    units = list(awaited(plan))
    yield from units
    yield from scripts(plan, units)


def awaited(plan: NodePlan) -> Iterator[Setting]:
    """The units that the kubelet of a node without an operator waits for."""
    yield from prepared(plan)
    yield from _check_units(plan)


def prepared(plan: NodePlan) -> Iterator[Setting]:
    """The units that the plan itself needs."""
    yield from _offline_unit(plan)
    yield from _huge_page_units(plan)


def _offline_unit(plan: NodePlan) -> Iterator[Setting]:
    offlined = plan.pool("offlined")
    if offlined.cpus:
        environment: Value = {"OFFLINE_CPUS": offlined.cpus}
        yield from emit(plan, rows.OFFLINE_UNIT, environment, offlined.because)


def _huge_page_units(plan: NodePlan) -> Iterator[Setting]:
    """One unit for each size and NUMA node: boot arguments of older kernels know no nodes."""
    for index, pages in enumerate(plan.spec.huge_pages.pages):
        if pages.numa_node is not None:
            kib, node = hugepages.to_kib(pages.size), pages.numa_node
            environment: dict[str, Value] = {
                "HUGEPAGES_COUNT": str(pages.count),
                "HUGEPAGES_SIZE": str(kib),
                "NUMA_NODE": str(node),
            }
            text = f"{pages.count} pages of {pages.size} on NUMA node {node}"
            reason = stated(plan, text, f"hugePages.pages.{index}")
            names = {"kib": str(kib), "node": str(node)}
            yield from emit(plan, rows.ALLOCATION_UNIT, environment, (reason,), **names)


def _check_units(plan: NodePlan) -> Iterator[Setting]:
    """One unit for each size of which the kernel sets aside pages at boot: it may find too few."""
    counts = hugepages.per_node(plan).values()
    reasons: dict[int, list[Reason]] = {}
    for entry in hugepages.entries(plan):
        if entry.numa_node is None and entry.number:
            reason = Reason(f"{entry.number} pages of {entry.size}", entry.place)
            reasons.setdefault(entry.kib, []).append(reason)
    for kib, because in reasons.items():
        total = sum(pages.get(kib, 0) for pages in counts)
        value: Value = {"HUGEPAGES_COUNT": str(total), "HUGEPAGES_SIZE": str(kib)}
        yield from emit(plan, rows.CHECK_UNIT, value, tuple(because), kib=str(kib))


def scripts(plan: NodePlan, units: Sequence[Setting]) -> Iterator[Setting]:
    """The scripts that units run, with the reasons of the first unit that runs each."""
    for start, row in _SCRIPTS.items():
        users = [unit for unit in units if unit.key.startswith(start)]
        if users:
            yield from emit(plan, row, True, users[0].reasons)


def units(settings: Sequence[Setting]) -> dict[str, str]:
    """The texts of the units, by name."""
    return {
        setting.key: text_of(setting.key, setting.value)
        for setting in settings
        if not is_file(setting.key)
    }


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The texts of scripts and drop-ins, by absolute path."""
    return {
        setting.key: text_of(setting.key, setting.value)
        for setting in settings
        if is_file(setting.key)
    }


def is_file(key: str) -> bool:
    """Whether a setting is of a file, which has its path, and not of a unit, which has its name."""
    return key.startswith("/")


def is_check(key: str) -> bool:
    """Whether a unit or script only looks whether huge pages are there."""
    return _CHECK in key


def text_of(key: str, value: Value, shell: str = SHELL) -> str:
    """The text of a unit or file. `shell` is empty where scripts are executable."""
    if isinstance(value, dict):
        kinds = (OFFLINE_UNIT, CHECK_UNIT, HUGE_PAGES_UNIT)
        starts = (kind.removesuffix(".service") for kind in kinds)
        kind = next(start for start in starts if key.startswith(start))
        return _unit(f"{kind}.service", value, shell)
    if isinstance(value, str):
        return value
    return template(f"bin/{key.rpartition('/')[2]}")


def _unit(name: str, environment: Mapping[str, Value], shell: str) -> str:
    values = {key: _plain(value) for key, value in environment.items()}
    return template(f"units/{name}.j2", environment=values, shell=shell)


def _plain(value: Value) -> str:
    return value.expanded() if isinstance(value, CpuSet) else str(value)


def render(settings: Sequence[Setting]) -> str:
    """All texts, each under a line with its path, as `systemctl cat` shows units."""
    return joined(units(settings) | files(settings))


def joined(texts: Mapping[str, str]) -> str:
    """The texts of units and files in the form of `render`."""
    return "".join(f"# {_path(key)}\n{text}" for key, text in texts.items())


def _path(key: str) -> str:
    return key if is_file(key) else f"{UNIT_FOLDER}/{key}"


def parse(text: str) -> dict[str, Value]:
    """The settings of `render`'s text; a file that was edited has its text as value."""
    return {key: value_of(key, content) for key, content in sections(text)}


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(key, text) of each unit and file in the form of `render`."""
    _, *parts = _PATH_LINE.split(text)
    for path, content in zip(parts[::2], parts[1::2], strict=True):
        yield (path.rpartition("/")[2] if path.endswith(".service") else path), content


def value_of(key: str, text: str) -> Value:
    """The value of the setting whose unit or file has this text."""
    if not is_file(key):
        return {name: _cpus(name, value) for name, value in environment(text).items()}
    return True if text_of(key, True) == text else text


def environment(text: str) -> dict[str, str]:
    """The variables that a unit sets."""
    return dict(_ENVIRONMENT.findall(text))


def _cpus(key: str, value: str) -> Value:
    try:
        return CpuSet.parse_kernel(value) if key == "OFFLINE_CPUS" else value
    except CpuSetError:
        return value
