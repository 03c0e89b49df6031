"""Why: the reasons of a CPU, a pool or a setting with the lines they come from, and what else could
be.
"""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.codes import CODES
from cpuplan.cpuset import CpuSet
from cpuplan.defaults import DEFAULTS
from cpuplan.diagnostics import Reason
from cpuplan.model.rulebook import EXPERT_RULES, FIXED_RULES, GOALS
from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.plan import NodePlan, Pool
from cpuplan.render import defaults
from cpuplan.render.codes import wording
from cpuplan.render.map.machine import numa_title, type_words
from cpuplan.setting import Setting, Value
from cpuplan.solve.alternatives import Alternative, Moves
from cpuplan.source import Locate
from cpuplan.text import counted, joined


def explain_cpu(
    plan: NodePlan,
    node: str,
    cpu: int,
    locate: Locate,
    settings: Sequence[Setting] = (),
    alternatives: Sequence[Alternative] = (),
) -> str:
    """What CPU `cpu` of `node` is, its pool, every reason with its place, and the `settings` that
    hold it.
    """
    topology = plan.topology
    if cpu in topology.offline:
        return (
            f"CPU {cpu} of {node} is offline: it is in no pool.\nOffline CPUs: {topology.offline}\n"
        )
    if cpu not in topology.online:
        return f"{node} has no CPU {cpu}: its CPUs are {topology.online}.\n"
    pool = plan.pool_of(cpu)
    over = [each for each in plan.sets if cpu in each.cpus]
    inside = f", in {joined([each.name for each in over])}" if over else ""
    lines = [f"CPU {cpu} of {node} is {pool.name if pool else 'in no pool'}{inside}.", ""]
    facts = [("where", text) for text in _places(topology, cpu)]
    if pool:
        facts += [
            ("pool" if each is pool else "set", f"{each.name}, {_sized(each)}")
            for each in (pool, *over)
        ]
    lines += _table(facts)
    lines += _because((reason for each in (pool, *over) if each for reason in each.because), locate)
    return "\n".join([*lines, *_settings(settings), *_alternatives(alternatives, locate)]) + "\n"


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
    if not pool.cpus:
        lines = [f"{name} of {node} has no CPU."]
    else:
        lines = [
            f"{name} of {node} has {_sized(pool)}.",
            "",
            *_table(list(_parts(plan.topology, pool.cpus))),
        ]
    lines += _because(pool.because, locate)
    return "\n".join([*lines, *_settings(settings), *_alternatives(alternatives, locate)]) + "\n"


def explain_setting(
    setting: Setting,
    node: str,
    locate: Locate,
    names: Sequence[str] = (),
    alternatives: Sequence[Alternative] = (),
) -> str:
    """A setting, the pools `names` that its CPUs are, and why."""
    of = f" That is {joined(names)}." if names else ""
    value = "" if setting.value is True else f" is {_value(setting.value)}"
    lines = [f"{setting.key} of {setting.component} on {node}{value or ' is set'}.{of}"]
    lines += _because(setting.reasons, locate)
    if rows := defaults.told(defaults.rows_of(setting)):
        lines += ["", "to change it (docs/defaults.md)", *_table(rows)]
    return "\n".join([*lines, *_alternatives(alternatives, locate)]) + "\n"


def explain_code(code: str) -> str:
    """The page of a diagnostic code, in either case; KeyError for one that is not in the table."""
    code = code.upper()
    entry = CODES[code]
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    return _page(
        f"{code}: {entry.title}", f"{message}\n  help: {wording(entry.remedy)}", entry.about
    )


def explain_rule(name: str) -> str:
    """The page of a built-in rule or a goal; KeyError for another name."""
    if name in EXPERT_RULES:
        rule = EXPERT_RULES[name]
        verb = "disable" if rule.on else "enable"
        state = "It applies unless" if rule.on else "It applies only if"
        switch = f"{state} an intent has:\n\n  rules:\n  - {{{verb}: {name}, because: ...}}"
        codes = f"Violations are reported as {joined(rule.codes)}." if rule.codes else ""
        return _page(f"rule {name}: {rule.text}", rule.about, switch, *([codes] if codes else []))
    if name in FIXED_RULES:
        text, about = FIXED_RULES[name]
        return _page(
            f"rule {name}: {text}", about, "It is part of the language and cannot be switched off."
        )
    text, about = GOALS[name]
    return _page(
        f"goal {name}: {text}",
        about,
        "docs/layout.md describes the order of goals, and how an intent changes it.",
    )


def explain_default(name: str) -> str:
    """The page of a default; KeyError for another name."""
    rows = [row for row in DEFAULTS if row.name == name]
    if not rows:
        raise KeyError(name)
    lines = [f"default {name}, set on {joined(rows[0].on)} unless an intent changes it", ""]
    lines += _table([(setting, row.reason) for row in rows for setting in row.settings])
    return (
        "\n".join([*lines, "", "to change it (docs/defaults.md)", *_table(defaults.told(rows))])
        + "\n"
    )


def _page(*parts: str) -> str:
    """Paragraphs; what has lines of its own keeps them."""
    from textwrap import fill

    return "\n\n".join(part if "\n" in part else fill(part, 88) for part in parts) + "\n"


def _sized(pool: Pool) -> str:
    return f"{counted(len(pool.cpus), 'CPU')}: {pool.cpus}"


def _parts(topology: Topology, cpus: CpuSet) -> Iterator[tuple[str, str]]:
    """Whole cores and threads, and what it has of each NUMA node or else socket."""
    whole = [siblings for siblings in topology.cores.values() if siblings <= cpus]
    split = topology.split_cores(cpus)
    if topology.threads_per_core > 1:
        some = [counted(len(whole), "whole core")] if whole else []
        some += [f"threads of {counted(len(split), 'shared core')}"] if split else []
        yield "cores", joined(some)
    for number, part in topology.numa_nodes.items():
        if number != UNKNOWN and cpus & part:
            yield "where", f"{numa_title(topology, number)}: {cpus & part}"


def _because(reasons: Iterable[Reason], locate: Locate) -> list[str]:
    rows = list(dict.fromkeys((reason.text, _place(reason, locate)) for reason in reasons))
    return ["", "because", *_table(rows)] if rows else []


def _settings(settings: Sequence[Setting]) -> list[str]:
    rows = [
        (setting.component, told(setting))
        for setting in sorted(settings, key=lambda s: (s.component, s.key))
    ]
    return ["", "settings that contain it", *_table(rows)] if rows else []


def _alternatives(alternatives: Sequence[Alternative], locate: Locate) -> list[str]:
    """What else could be, and its price: the goals that get worse, or the statements that forbid
    it.
    """
    lines = []
    for each in alternatives:
        if each.conflict:
            rows = [(reason.text, _place(reason, locate)) for reason in each.conflict]
            lines += ["", f"{each.wish}: there is no such layout, because", *_table(rows)]
            continue
        rows = [
            (f"{'worse' if one.is_worse else 'better'} {one.goal}", one.text)
            for one in each.differences
        ]
        if not rows:
            rows = [("no goal", "distinguishes it from this layout, which is the canonical choice")]
        elif not each.differences[0].is_worse:
            rows.append(
                (
                    "kept",
                    "because it is committed; `cpuplan compile --resolve` takes the better one",
                )
            )
        rows += [(moves.name, _moved(moves)) for moves in each.moves]
        lines += ["", f"{each.wish}, at best", *_table(rows)]
    return lines


def _moved(moves: Moves) -> str:
    words = [
        f"{verb} {cpus}" for verb, cpus in (("loses", moves.loses), ("gets", moves.gets)) if cpus
    ]
    return ", ".join(words)


def _places(topology: Topology, cpu: int) -> Iterator[str]:
    of = topology[cpu]
    siblings = topology.siblings(cpu)
    alone = "no siblings" if len(siblings) == 1 else f"siblings {siblings}"
    yield f"core {of.core}, {alone}" + (f", {type_words(of.core_type)}" if of.core_type else "")
    if of.socket != UNKNOWN:
        yield f"socket {of.socket}"
    if of.numa_node != UNKNOWN:
        yield numa_title(topology, of.numa_node)
    if of.uncore_cache != UNKNOWN:
        sharing = len(topology.uncore_caches[of.uncore_cache])
        yield f"cache {of.uncore_cache}, " + (
            f"shared by {sharing} CPUs" if sharing > 1 else "its own"
        )


def _place(reason: Reason, locate: Locate) -> str:
    """`intents/ran.yaml:14:7`; for what no file says, the name of the rule or goal: `built-in rule
    whole-cores`.
    """
    if ":" not in reason.origin:
        return f"built-in {reason.origin or 'rule'}"
    return str(locate(reason.origin) or reason.origin)


def told(setting: Setting) -> str:
    """`key = value`, or the key of a flag."""
    return setting.key if setting.value is True else f"{setting.key} = {_value(setting.value)}"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return (" and " if any(isinstance(each, tuple) for each in value) else ",").join(
            map(_value, value)
        )
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    return str(value)


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of two columns; a first column that repeats is written once."""
    width = max((len(first) for first, _ in rows), default=0)
    shown = [
        "" if index and rows[index - 1][0] == first else first
        for index, (first, _) in enumerate(rows)
    ]
    return [f"  {first:<{width}}  {second}" for first, (_, second) in zip(shown, rows, strict=True)]
