"""The reasons of a CPU, pool or setting, with the lines they come from, and alternatives."""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted, joined
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.components.dra import classes
from cpuplan.components.koordinator import node as koordinator
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan, Pool
from cpuplan.plan.setting import Effect, Setting, Value
from cpuplan.render.explain import defaults
from cpuplan.render.explain.rows import alternative_lines, because, table
from cpuplan.render.map.words import numa_title, type_words
from cpuplan.solve.alternatives import Alternative


def explain_cpu(
    plan: NodePlan,
    node: str,
    cpu: int,
    locate: Locate,
    settings: Sequence[Setting] = (),
    alternatives: Sequence[Alternative] = (),
) -> str:
    """What CPU `cpu` of `node` is, with every reason, and the `settings` that name it."""
    topology = plan.topology
    if cpu in topology.offline:
        head = f"CPU {cpu} of {node} is offline: it is in no pool."
        return f"{head}\nOffline CPUs: {topology.offline}\n"
    if cpu not in topology.online:
        return f"{node} has no CPU {cpu}: its CPUs are {topology.online}.\n"
    pool = plan.pool_of(cpu)
    pools = [pool] if pool else []
    sets = [pool for pool in plan.sets if cpu in pool.cpus]
    inside = f", in {joined([pool.name for pool in sets])}" if sets else ""
    facts = [("where", text) for text in _places(topology, cpu)]
    if pool:
        facts.append(("pool", f"{pool.name}, {_sized(pool)}"))
        facts += [("set", f"{pool.name}, {_sized(pool)}") for pool in sets]
    reasons = [reason for pool in (*pools, *sets) for reason in pool.because]
    lines = [f"CPU {cpu} of {node} is {pool.name if pool else 'in no pool'}{inside}."]
    lines += ["", *table(facts), *because(reasons, locate), *_holding(settings)]
    return _text([*lines, *alternative_lines(alternatives, locate)])


def explain_pool(
    plan: NodePlan,
    node: str,
    name: str,
    locate: Locate,
    settings: Sequence[Setting] = (),
    alternatives: Sequence[Alternative] = (),
) -> str:
    """Which CPUs a pool, partition or QoS set of `node` has and where they are, and why."""
    pool = plan.pool(name)
    lines = [f"{name} of {node} has no CPU."]
    if pool.cpus:
        parts = list(_parts(plan.topology, pool.cpus))
        texts = (
            each.pods_text(plan, name) for each in (balloons, topologyaware, classes, koordinator)
        )
        parts += [("pods", text) for text in texts if text]
        lines = [f"{name} of {node} has {_sized(pool)}.", "", *table(parts)]
    lines += [*because(pool.because, locate), *_holding(settings)]
    return _text([*lines, *alternative_lines(alternatives, locate)])


def explain_setting(
    setting: Setting,
    node: str,
    locate: Locate,
    names: Sequence[str] = (),
    alternatives: Sequence[Alternative] = (),
) -> str:
    """A setting, the pools `names` that its CPUs are, and why."""
    meaning = f" That is {joined(names)}." if names else ""
    value = " is set" if setting.value is True else f" is {_value(setting.value)}"
    lines = [f"{setting.key} of {setting.component} on {node}{value}.{meaning}"]
    lines += because(setting.reasons, locate)
    if rows := defaults.switches(defaults.rows_of(setting)):
        lines += ["", defaults.HEADING, *table(rows)]
    if setting.effect:
        lines += ["", "on the node", *table(list(_shown(setting.effect)))]
    return _text([*lines, *alternative_lines(alternatives, locate)])


def _shown(effect: Effect) -> Iterator[tuple[str, str]]:
    """Where a value shows, as `check` reads it, and what a change costs."""
    if effect.shown_by:
        yield "shown by", effect.shown_by
    for evidence in effect.evidence:
        since = f", from Linux {evidence.since} on" if evidence.since else ""
        yield "in force", f"/{evidence.path} = {_value(evidence.value) or 'empty'}{since}"
    yield "a change costs", effect.change_costs.value


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _sized(pool: Pool) -> str:
    return f"{counted(len(pool.cpus), 'CPU')}: {pool.cpus}"


def _parts(topology: Topology, cpus: CpuSet) -> Iterator[tuple[str, str]]:
    """Whole cores and threads, and the CPUs on each NUMA node."""
    if topology.threads_per_core > 1:
        whole = sum(siblings <= cpus for siblings in topology.cores.values())
        split = len(topology.split_cores(cpus))
        words = [counted(whole, "whole core")] if whole else []
        words += [f"threads of {counted(split, 'shared core')}"] if split else []
        yield "cores", joined(words)
    for number, members in topology.numa_nodes.items():
        if number != UNKNOWN and cpus & members:
            yield "where", f"{numa_title(topology, number)}: {cpus & members}"


def _places(topology: Topology, number: int) -> Iterator[str]:
    """Where a CPU is, from its core outwards."""
    cpu = topology[number]
    siblings = topology.siblings(number)
    core_type = f", {type_words(cpu.core_type)}" if cpu.core_type else ""
    others = "no siblings" if len(siblings) == 1 else f"siblings {siblings}"
    yield f"core {cpu.core}, {others}{core_type}"
    if cpu.socket != UNKNOWN:
        yield f"socket {cpu.socket}"
    if cpu.numa_node != UNKNOWN:
        yield numa_title(topology, cpu.numa_node)
    if cpu.uncore_cache != UNKNOWN:
        sharing = len(topology.uncore_caches[cpu.uncore_cache])
        owners = f"shared by {sharing} CPUs" if sharing > 1 else "its own"
        yield f"cache {cpu.uncore_cache}, {owners}"


def _holding(settings: Sequence[Setting]) -> list[str]:
    """The settings that name what is explained."""
    by_key = sorted(settings, key=lambda setting: (setting.component, setting.key))
    rows = [(setting.component, _assignment(setting)) for setting in by_key]
    return ["", "settings that contain it", *table(rows)] if rows else []


def _assignment(setting: Setting) -> str:
    """`key = value`, or the key of a flag."""
    return setting.key if setting.value is True else f"{setting.key} = {_value(setting.value)}"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        is_nested = any(isinstance(item, tuple) for item in value)
        return (" and " if is_nested else ",").join(map(_value, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    return str(value)
