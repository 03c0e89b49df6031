"""Why: the reasons of a CPU's place with the lines they come from, and the page of a diagnostic code."""

from collections.abc import Callable, Iterator, Sequence

from cpuplan.codes import CODES
from cpuplan.components.setting import Setting, Value
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.render.codes import wording
from cpuplan.render.machine import numa_title, type_words
from cpuplan.source import Position
from cpuplan.topology import UNKNOWN, Topology

#: Gives the place of a Reason's origin, None where it is not in a file.
Locate = Callable[[str], Position | None]


def explain_cpu(plan: NodePlan, node: str, cpu: int, locate: Locate, settings: Sequence[Setting] = ()) -> str:
    """What CPU `cpu` of `node` is, its pool, every reason with its place, and the `settings` that hold it."""
    topology = plan.topology
    if cpu in topology.offline:
        return f"CPU {cpu} of {node} is offline: it is in no pool.\nOffline CPUs: {topology.offline}\n"
    if cpu not in topology.online:
        return f"{node} has no CPU {cpu}: its CPUs are {topology.online}.\n"
    pool = plan.pool_of(cpu)
    lines = [f"CPU {cpu} of {node} is {pool.name if pool else 'in no pool'}.", ""]
    facts = [("where", text) for text in _places(topology, cpu)]
    if pool:
        size = f"{len(pool.cpus)} CPU{'s' if len(pool.cpus) > 1 else ''}"
        facts.append(("pool", f"{pool.name}, {size}: {pool.cpus}"))
    lines += _table(facts)
    if pool and pool.because:
        lines += ["", "because", *_table([(reason.text, _place(reason, locate)) for reason in pool.because])]
    if settings:
        rows = ((setting.component, _told(setting)) for setting in sorted(settings, key=lambda s: (s.component, s.key)))
        lines += ["", "so these settings hold it", *_table(list(rows))]
    return "\n".join(lines) + "\n"


def explain_code(code: str) -> str:
    """The page of a diagnostic code, in either case; KeyError for one that is not in the table."""
    from textwrap import fill

    code = code.upper()
    entry = CODES[code]
    message = f"{entry.severity}[{code}]: {wording(entry.message)}"
    parts = [f"{code}: {entry.title}", f"{message}\n  help: {wording(entry.remedy)}", fill(entry.about, 88)]
    return "\n\n".join(parts) + "\n"


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
        yield f"cache {of.uncore_cache}, " + (f"shared by {sharing} CPUs" if sharing > 1 else "its own")


def _place(reason: Reason, locate: Locate) -> str:
    """`intents/ran.yaml:14:7`; for what no file says, the name of the rule or goal: `built-in rule whole-cores`."""
    if ":" not in reason.origin:
        return f"built-in {reason.origin or 'rule'}"
    return str(locate(reason.origin) or reason.origin)


def _told(setting: Setting) -> str:
    return setting.key if setting.value is True else f"{setting.key} = {_value(setting.value)}"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(_value, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    return str(value)


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Rows of two columns; a first column that repeats is written once."""
    width = max((len(first) for first, _ in rows), default=0)
    shown = ["" if index and rows[index - 1][0] == first else first for index, (first, _) in enumerate(rows)]
    return [f"  {first:<{width}}  {second}" for first, (_, second) in zip(shown, rows, strict=True)]
