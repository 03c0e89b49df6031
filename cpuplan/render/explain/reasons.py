"""The reasons of a CPU, pool or setting; what rules, goals, defaults and boot arguments mean."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted, joined, page
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.components import kernel
from cpuplan.components.chosen import DEFAULT
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.platforms import PLATFORMS
from cpuplan.facts.settings.costs import Rule
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.facts.settings.row import Default
from cpuplan.facts.settings.table import DEFAULTS, defaults_of, shown
from cpuplan.language.model.vocabulary import EXPERT_RULES, FIXED_RULES, GOALS
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from cpuplan.plan.setting import Effect, Setting, Value
from cpuplan.render.map.boxes import numa_title, type_words

if TYPE_CHECKING:
    from cpuplan.solve.alternatives import Alternative, Moves
    from cpuplan.upstream.linux.isolation import Booted

#: Above the rows of `switches`.
HEADING = "to change it (docs/defaults.md)"


def rows_of(setting: Setting) -> list[Default]:
    """The defaults that a setting comes from."""
    texts = {reason.text for reason in setting.reasons if reason.origin == DEFAULT}
    candidates = defaults_of(setting.component, setting.key)
    return [row for row in candidates if row.reason in texts]


def switches(rows: Iterable[Default]) -> list[tuple[str, str]]:
    """(name, what an intent writes not to have it) of each default, once."""
    return list(dict.fromkeys((row.name, off_switch(row)) for row in rows))


def off_switch(row: Default) -> str:
    """What an intent writes not to have a default."""
    return row.off_by or f"defaults: [{{disable: {row.name}, because: ...}}]"


def on_switch(row: Default) -> str:
    """What an intent writes to have a default where it is none, in Markdown."""
    if row.on_by:
        return f"`{row.on_by}`"
    also = ", or `workloadHints: {realTime: true}`" if row.real_time else ""
    return f"`defaults: [{{enable: {row.name}, because: ...}}]`{also}"


def table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of two columns; a first column that repeats is written once."""
    width = max((len(first) for first, _ in rows), default=0)
    lines = []
    before = None
    for first, second in rows:
        lines.append(f"  {'' if first == before else first:<{width}}  {second}")
        before = first
    return lines


def because(reasons: Iterable[Reason], locate: Locate) -> list[str]:
    """Each reason once, with the line that it comes from; nothing without reasons."""
    rows = list(dict.fromkeys(_located(reason, locate) for reason in reasons))
    return ["", "because", *table(rows)] if rows else []


def alternative_lines(alternatives: "Iterable[Alternative]", locate: Locate) -> Iterator[str]:
    """What else could be, and its price: the goals that get worse, or what forbids it."""
    for alternative in alternatives:
        yield ""
        if not alternative.is_known:
            yield f"{alternative.wish}: not known within the limit (--time-limit)"
        elif alternative.conflict:
            doubt = "" if alternative.is_proven else " (perhaps not all of it is needed)"
            yield f"{alternative.wish}: there is no such layout, because{doubt}"
            yield from table([_located(reason, locate) for reason in alternative.conflict])
        else:
            doubt = "" if alternative.is_proven else " of what was found within the limit"
            yield f"{alternative.wish}, at best{doubt}"
            yield from table([*_differences(alternative), *map(_moved, alternative.moves)])


def _differences(alternative: "Alternative") -> Iterator[tuple[str, str]]:
    for difference in alternative.differences:
        yield f"{'worse' if difference.is_worse else 'better'} {difference.goal}", difference.text
    if not alternative.differences:
        yield "no goal", "distinguishes it from this layout, which is the canonical choice"
    elif not alternative.differences[0].is_worse:
        text = "because it is committed; `cpuplan compile --resolve` takes the better one"
        yield "kept", text


def _moved(moves: "Moves") -> tuple[str, str]:
    words = [f"loses {moves.loses}"] if moves.loses else []
    words += [f"gets {moves.gets}"] if moves.gets else []
    return moves.name, ", ".join(words)


def _located(reason: Reason, locate: Locate) -> tuple[str, str]:
    """The text, and `intents/ran.yaml:14:7`, or `built-in rule whole-cores` if no file says it."""
    if ":" not in reason.origin:
        return reason.text, f"built-in {reason.origin or 'rule'}"
    return reason.text, str(locate(reason.origin) or reason.origin)


def explain_rule(name: str) -> str:
    """The page of a built-in rule or a goal; KeyError for another name."""
    if name in EXPERT_RULES:
        rule = EXPERT_RULES[name]
        verb = "disable" if rule.on else "enable"
        state = "It applies unless" if rule.on else "It applies only if"
        switch = f"{state} an intent has:\n\n  rules:\n  - {{{verb}: {name}, because: ...}}"
        codes = [f"Violations are reported as {joined(rule.codes)}."] if rule.codes else []
        return page(f"rule {name}: {rule.text}", rule.about, switch, *codes)
    if name in FIXED_RULES:
        text, about = FIXED_RULES[name]
        note = "It is part of the language and cannot be switched off."
        return page(f"rule {name}: {text}", about, note)
    text, about = GOALS[name]
    note = "docs/layout.md describes the order of goals, and how an intent changes it."
    return page(f"goal {name}: {text}", about, note)


def explain_default(name: str) -> str:
    """The page of a default; KeyError for another name."""
    rows = [row for row in DEFAULTS if row.name == name]
    if not rows:
        raise KeyError(name)
    platforms = sorted(
        platform.name for platform in PLATFORMS.values() if rows[0].on.includes(platform)
    )
    settings = [(setting, row.reason) for row in rows for setting in shown(row)]
    lines = [
        f"default {name}, set on {joined(platforms)} unless an intent changes it",
        "",
        *table(settings),
        "",
        HEADING,
        *table(switches(rows)),
    ]
    return "\n".join(lines) + "\n"


def explain_kernel(plan: ConfiguredPlan, node: str) -> str:
    """The prediction for a node, as its files and threads show it after a boot."""
    state = kernel.booted(plan)
    lines = [f"What {kernel.LINUX} makes of the boot arguments of {node}:", ""]
    lines += ["files", *table(list(_files(state))), "", "threads", *table(list(_threads(state)))]
    remarks = [f"{remark.key} ({remark.kind}): {remark.text}" for remark in kernel.remarks_of(plan)]
    if remarks:
        lines += ["", "remarks", *(f"  {remark}" for remark in remarks)]
    return "\n".join(lines) + "\n"


def _files(state: "Booted") -> Iterator[tuple[str, str]]:
    system = "/sys/devices/system/cpu"
    yield f"{system}/isolated", _list(state.isolated)
    yield (
        f"{system}/{NOHZ_FULL.key}",
        "(null)" if state.nohz_full is None else _list(state.nohz_full),
    )
    yield "/proc/irq/default_smp_affinity", _list(state.default_smp_affinity)
    yield "/sys/devices/virtual/workqueue/cpumask", _list(state.workqueue)
    yield "/proc/sys/kernel/watchdog_cpumask", _list(state.watchdog)
    yield "managed interrupts", _list(state.managed_irq)


def _threads(state: "Booted") -> Iterator[tuple[str, str]]:
    threads = state.threads
    yield "init, until systemd sets its own", _list(threads.init)
    yield "kthreadd", _list(threads.kthreadd)
    yield "kswapd0", _list(threads.kswapd0)
    yield "rcu_preempt", _list(threads.rcu_preempt)
    yield "kworkers without a CPU", " or ".join(map(_list, threads.unbound_kworkers))
    if threads.rcuog:
        yield "rcuog", " or ".join(map(_list, threads.rcuog))
        yield "RCU callbacks are taken off", _list(state.callbacks or 0)


def _list(bits: int) -> str:
    return str(CpuSet.from_bits(bits)) or "none"


def explain_cpu(
    plan: NodePlan,
    node: str,
    cpu: int,
    locate: Locate,
    settings: Sequence[Setting] = (),
    alternatives: "Sequence[Alternative]" = (),
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
    alternatives: "Sequence[Alternative]" = (),
) -> str:
    """Which CPUs a pool, partition or QoS set of `node` has and where they are, and why."""
    pool = plan.pool(name)
    lines = [f"{name} of {node} has no CPU."]
    if pool.cpus:
        parts = list(_parts(plan.topology, pool.cpus))
        parts += [("pods", text) for text in _pods_texts(plan, name)]
        lines = [f"{name} of {node} has {_sized(pool)}.", "", *table(parts)]
    lines += [*because(pool.because, locate), *_holding(settings)]
    return _text([*lines, *alternative_lines(alternatives, locate)])


def _pods_texts(plan: NodePlan, name: str) -> Iterator[str]:
    """How pods ask for a partition, by the mechanism of the target."""
    from cpuplan.components.dra import classes
    from cpuplan.components.koordinator import node as koordinator
    from cpuplan.components.nri import balloons, topologyaware

    for component in (balloons, topologyaware, classes, koordinator):
        text = component.pods_text(plan, name)
        if text:
            yield text


def explain_setting(
    setting: Setting,
    node: str,
    locate: Locate,
    names: Sequence[str] = (),
    alternatives: "Sequence[Alternative]" = (),
    rule: Rule | None = None,
) -> str:
    """A setting, the pools `names` that its CPUs are, why, and by `rule` what a change costs."""
    meaning = f" That is {joined(names)}." if names else ""
    value = " is set" if setting.value is True else f" is {_value(setting.value)}"
    lines = [f"{setting.key} of {setting.component} on {node}{value}.{meaning}"]
    lines += because(setting.reasons, locate)
    if rows := switches(rows_of(setting)):
        lines += ["", HEADING, *table(rows)]
    if setting.effect:
        lines += ["", "on the node", *table(list(_shown(setting.effect, rule)))]
    return _text([*lines, *alternative_lines(alternatives, locate)])


def _shown(effect: Effect, rule: Rule | None) -> Iterator[tuple[str, str]]:
    """Where a value shows, as `check` reads it, and what a change costs."""
    if effect.shown_by:
        yield "shown by", effect.shown_by
    for evidence in effect.evidence:
        since = f", from Linux {evidence.since} on" if evidence.since else ""
        yield "in force", f"/{evidence.path} = {_value(evidence.value) or 'empty'}{since}"
    yield "a change costs", (rule.cost if rule else effect.change_costs).value


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
