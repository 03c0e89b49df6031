"""What became of pods on simulated nodes: tables for nodes and classes, and who has which CPUs."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, listed
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import Pool
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.plan import plan_map
from cpuplan.render.simulation import data
from cpuplan.render.text import MOST, Line, Member, interval, table, together
from cpuplan.simulate import fleet, runtimes
from cpuplan.simulate.admission import Answer, Outcome
from cpuplan.simulate.allocators.base import Left, Move, Placed, Refusal
from cpuplan.simulate.fleet import (
    Nowhere,
    Result,
    Simulated,
    full_name,
    groups_of_nodes,
    listed_names,
    number_of_nodes,
    workload_of,
)
from cpuplan.upstream.kubernetes.bits import to_text

_CLASS_HEAD = ("CLASS", "NODES", "PODS", "REFUSED", "CPUS LEFT", "LARGEST REQUEST")
_NUMBER = re.compile(r"\d+")
#: Ranges of names in a line, and lines of refusals, before the others are only counted.
_MOST_RANGES, _MOST_REASONS = 4, 10
#: Lines of what is unlike the others.
_MOST_OUTLIERS = 10


def by_class(result: Result) -> str:
    """The table of several classes, and why pods were refused; nothing for a single class.

    Of many classes a line for what they have in common.
    """
    by_line = together(result.nodes, _member)
    classes = {member for line in by_line for member in line.members}
    if len(classes) < 2:
        return ""
    shown = list(by_line.items())[:MOST]
    head = _CLASS_HEAD if len(classes) == len(by_line) else ("CLASSES", *_CLASS_HEAD[1:])
    lines = [table([head, *(_row(line.title, nodes) for line, nodes in shown)]).rstrip("\n")]
    if rest := [node for nodes in list(by_line.values())[MOST:] for node in nodes]:
        lines.append(f"and {counted(number_of_nodes(rest), 'node')} more")
    outliers = [text for line, nodes in by_line.items() for text in _told(line, nodes)]
    lines += outliers[:_MOST_OUTLIERS]
    if len(outliers) > _MOST_OUTLIERS:
        lines.append(f"and {len(outliers) - _MOST_OUTLIERS} more that differ; -v shows them")
    lines += _reasons(result.nodes)
    return "\n".join(lines) + "\n"


def _member(node: Simulated) -> Member:
    of = node.plan.node_class
    return Member(of.cluster, of.intent, of.name)


def _name(node: Simulated) -> str:
    return node.plan.node_class.full_name


def _row(name: str, nodes: Sequence[Simulated]) -> tuple[str, ...]:
    """Numbers of each node, from the least to the most, where they differ."""
    left = [node.outcome.remainder.left for node in nodes]
    return (
        name,
        str(number_of_nodes(nodes)),
        interval(_admitted(node) for node in nodes),
        str(sum(_refused(node) * len(node.nodes) for node in nodes)),
        interval(free.cpus.bit_count() for free in left if free),
        interval(free.largest for free in left if free),
    )


def _told(line: Line, nodes: Sequence[Simulated]) -> Iterator[str]:
    """The few classes of a line with refusals, or without, then nodes unlike their class."""
    by_class: dict[str, list[Simulated]] = {}
    for node in nodes:
        by_class.setdefault(_name(node), []).append(node)
    refusing = [name for name, own in by_class.items() if any(map(_refused, own))]
    others = [name for name in by_class if name not in refusing]
    if refusing and others:
        few, which = (refusing, "refusals") if len(refusing) < len(others) else (others, "all fits")
        yield f"{which} in {line.title}: {listed(few, _MOST_RANGES)}"
    for name, own in by_class.items():
        yield from _outliers(name, own)


def _refused(node: Simulated) -> int:
    outcomes = node.outcome.outcomes
    return sum(outcome.refused is not None and not outcome.is_unknown for outcome in outcomes)


def _admitted(node: Simulated) -> int:
    return sum(not outcome.refused for outcome in node.outcome.outcomes)


def _outliers(name: str, nodes: Sequence[Simulated]) -> Iterator[str]:
    """The nodes of a class that are in another state than most of it."""
    states = sorted(groups_of_nodes(nodes, across_classes=False), key=lambda node: -len(node.nodes))
    for state in states[1:]:
        ranges = listed(fold_names(state.nodes), _MOST_RANGES)
        left = state.outcome.remainder.left
        free = f", {counted(left.cpus.bit_count(), 'CPU')} left" if left else ""
        no = f", {_refused(state)} refused" if _refused(state) else ""
        yield f"not as most of {name}: {ranges}: {counted(_admitted(state), 'pod')}{no}{free}"


def _reasons(nodes: Iterable[Simulated]) -> Iterator[str]:
    """Refusals by workload and reason, with the classes of the nodes that gave them.

    Reasons that differ in their numbers are one: machines of other sizes give other numbers.
    """
    refusals: dict[tuple[str, str], Counter[str]] = {}
    reasons: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        for outcome in node.outcome.outcomes:
            if outcome.refused and not outcome.is_unknown:
                pods = "/".join(filter(None, workload_of(outcome.pod)))
                reason = outcome.refused.words
                key = pods, _NUMBER.sub("0", reason)
                refusals.setdefault(key, Counter())[_name(node)] += len(node.nodes)
                reasons.setdefault(key, set()).add(reason)
    for key, classes in list(refusals.items())[:_MOST_REASONS]:
        where = [f"{number} on {name}" for name, number in classes.items()]
        more = " (elsewhere with other numbers)" if len(reasons[key]) > 1 else ""
        yield f"refused: {key[0]} ({listed(where, _MOST_RANGES)}): {min(reasons[key])}{more}"
    if len(refusals) > _MOST_REASONS:
        yield f"and {len(refusals) - _MOST_REASONS} other reasons; -v shows them"


def owners_map(node: Simulated, name: str, spec: HardwareSpec | None = None) -> Map:
    """The node with the containers that have exclusive CPUs; elsewhere its pools and partitions."""
    owned = [
        Pool(f"{full_name(outcome.pod)} {container.name}", CpuSet.from_bits(container.cpus), ())
        for outcome in node.outcome.outcomes
        for container in outcome.containers
        if container.is_exclusive
    ]
    drawn = plan_map(node.plan, name, spec, owned)
    return drawn._replace(about=f"containers with exclusive CPUs on {name}")


#: What became of pods.
_ADMITTED, _REFUSED, _UNKNOWN = "admitted", "refused", "not simulated"
_HEAD = ("POD", "CONTAINER", "QOS", "CPUS", "MEMORY OF NODES")
#: Groups of nodes that are printed one by one.
_MOST_BLOCKS = 20
#: The same where a table has a line for each class, too.
_FEW_BLOCKS = 3
#: Refused pods of one workload that are told one by one on one node of many.
_FEW_ALIKE = 3


def report(result: Result, *, one_by_one: bool = False) -> str:
    """Nodes with the same result together: their pods, refusals and what is left; and a sum."""
    nodes = result.nodes if one_by_one else fleet.groups_of_nodes(result.nodes, across_classes=True)
    overview = "" if one_by_one else by_class(result)
    limit = _limit_text(result)
    shown = nodes if one_by_one else _most_telling(nodes, _FEW_BLOCKS if overview else _MOST_BLOCKS)
    told = set(map(id, result.nodes))
    is_fleet = number_of_nodes(nodes) > 1 and not one_by_one
    blocks = [
        "\n".join(_node(node, is_example=id(node) not in told, is_one_of_many=is_fleet)) + "\n"
        for node in shown
    ]
    if rest := number_of_nodes(nodes) - number_of_nodes(shown):
        states = f"{len(nodes) - len(shown)} other states"
        blocks.append(f"and {counted(rest, 'node')} in {states}; -v shows them\n")
    if result.nowhere:
        refused = fleet.refused_workloads(result)
        if one_by_one:
            refused = list(map(fleet.Refused, result.nowhere))
        # Of pods that a node was not asked about any more, nobody knows whether it has room.
        is_known = not any(pod.is_unknown for pod in result.nowhere)
        blocks.append("\n".join(_nowhere(refused, len(result.nowhere), is_known=is_known)) + "\n")
    if overview:
        blocks.append(overview)
    if number_of_nodes(nodes) > 1:
        blocks.append(_sum(result))
    if limit:
        blocks.append(limit)
    return "\n".join(blocks)


def _limit_text(result: Result) -> str:
    """How many pods were simulated where the limit of work was reached before some of them."""
    known = came = 0
    for node in result.nodes:
        outcomes = node.outcome.outcomes
        came += len(node.nodes) * len(outcomes)
        known += len(node.nodes) * sum(not outcome.is_unknown for outcome in outcomes)
    came += len(result.nowhere)
    known += sum(not pod.is_unknown for pod in result.nowhere)
    if known == came:
        return ""
    pods = f"{known} of {counted(came, 'pod')} simulated"
    return f"not proven: {pods} within the limit of work; --time-limit gives it longer\n"


def _most_telling(nodes: Sequence[Simulated], most: int) -> Sequence[Simulated]:
    """As many as somebody reads, those that refuse something before others; in their order."""
    chosen = sorted(range(len(nodes)), key=lambda at: not _refuses(nodes[at]))[:most]
    return [nodes[at] for at in sorted(chosen)]


def _refuses(node: Simulated) -> bool:
    return any(outcome.refused for outcome in node.outcome.outcomes)


def _nowhere(refused: Iterable[fleet.Refused], count: int, *, is_known: bool) -> Iterator[str]:
    """The pods that no node admits, each with its reasons and the nodes that give them."""
    where = "refused by every node" if is_known else "on no node"
    yield f"{where} ({count}); the last node of each class says:"
    for pod in refused:
        more = f" and {pod.number - 1} more like it" if pod.number > 1 else ""
        nodes: dict[str, list[str]] = {}
        for node, outcome in pod.first.refusals:
            nodes.setdefault(_refusal(outcome.refused), []).append(node)
        reasons = [f"{reason} (on {', '.join(names)})" for reason, names in nodes.items()]
        yield f"  {full_name(pod.first.outcome.pod)}{more}: {reasons[0]}"
        yield from (f"    {reason}" for reason in reasons[1:])


def _sum(result: Result) -> str:
    """`3000 nodes: 42000 pods admitted, 12 refused`."""
    nodes = 0
    numbers: Counter[str] = Counter(map(_became, result.nowhere))
    for node in result.nodes:
        nodes += len(node.nodes)
        for outcome in node.outcome.outcomes:
            numbers[_became(outcome)] += len(node.nodes)
    return f"{counted(nodes, 'node')}: {_numbers(numbers)}\n"


def _became(pod: Outcome | Nowhere) -> str:
    """What became of a pod, in a word."""
    if pod.is_unknown:
        return _UNKNOWN
    is_refused = isinstance(pod, Nowhere) or pod.refused
    return _REFUSED if is_refused else _ADMITTED


def _numbers(numbers: Mapping[str, int]) -> str:
    """`40 pods admitted, 2 refused`."""
    words = [f"{counted(numbers[_ADMITTED], 'pod')} {_ADMITTED}"]
    words += [f"{numbers[word]} {word}" for word in (_REFUSED, _UNKNOWN) if numbers[word]]
    return ", ".join(words)


def _node(
    node: Simulated, *, is_example: bool = False, is_one_of_many: bool = False
) -> Iterator[str]:
    """Its pods and what is left; those of an example are as on the first of several nodes."""
    came = node.outcome.outcomes
    refused = [outcome for outcome in came if outcome.refused]
    count = _numbers(Counter(map(_became, came)))
    yield f"{listed_names(node.nodes)}: {count}{' each' if is_example else ''}"
    if is_example and came:
        yield f"as on {node.nodes[0]}; the others have pods of the same workloads on the same CPUs"
    if rows := [row for outcome in came if not outcome.refused for row in _rows(outcome)]:
        yield table([_HEAD, *rows]).rstrip("\n")
        if any(row[3].startswith("(") for row in rows):
            yield "CPUs in brackets are shared with other containers without exclusive CPUs"
    yield from _refusals(refused, most=_FEW_ALIKE if is_one_of_many else len(refused))
    yield from data.runtime_lines(came)
    yield from _moves(came)
    for departure in node.outcome.departures:
        yield f"{departure.uid} ends"
        yield from map(_move, _exclusive(departure.moves))
    if sets := runtimes.runtime_of(node.plan).sets:
        yield runtimes.sets_text(sets)
    if node.outcome.remainder.left:
        yield from _left(node.outcome.remainder.left)
    if limit := node.outcome.remainder.limit:
        yield f"what is left was not found within the limit of {limit} of work"


def _refusals(refused: Iterable[Outcome], most: int) -> Iterator[str]:
    """Refused pods; of more than `most` of a workload with one reason the first."""
    groups: dict[tuple[object, Refusal | None], list[Outcome]] = {}
    for outcome in refused:
        groups.setdefault((fleet.workload_of(outcome.pod), outcome.refused), []).append(outcome)
    for group in groups.values():
        shown = group if len(group) <= most else group[:1]
        rest = f" and {len(group) - 1} more like it" if len(shown) < len(group) else ""
        for outcome in shown:
            yield f"{_became(outcome)}: {full_name(outcome.pod)}{rest}: {_refusal(outcome.refused)}"


def _rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for container in outcome.containers:
        memory = ",".join(map(str, container.numa_nodes)) or "any"
        yield full_name(outcome.pod), container.name, outcome.qos, _cpus(container), memory


def _cpus(container: Placed) -> str:
    text = to_text(container.cpus if container.is_exclusive else container.started.effective)
    return text if container.is_exclusive else f"({text})"


def _refusal(refused: Refusal | None) -> str:
    return refused.words if refused else ""


def _moves(came: Iterable[Outcome]) -> Iterator[str]:
    """The exclusive CPUs that containers exchange for others, in the order of the changes."""
    for outcome in came:
        moves = _exclusive(outcome.moves)
        if moves:
            yield f"moved to make room for {full_name(outcome.pod)}, in this order:"
        yield from map(_move, moves)
        if moves and not outcome.is_exact:
            yield "  (the search was stopped: fewer CPUs might have to move)"


def _exclusive(moves: Iterable[Move]) -> list[Move]:
    return [move for move in moves if move.is_exclusive]


def _move(move: Move) -> str:
    return f"  {move.pod} {move.container}: CPUs {to_text(move.old)} -> {to_text(move.new)}"


def _left(left: Left) -> Iterator[str]:
    """The CPUs that can still become exclusive, and the largest request."""
    free = f"CPUs {to_text(left.cpus)}" if left.cpus else "no CPU"
    request = f"the largest request that would be admitted is {left.largest}"
    yield f"left for exclusive use: {free}; {request}"
    if left.because:
        yield f"  a larger request is refused: {left.because}"
    for node, (cpus, largest) in left.by_numa_node.items():
        free = f"{counted(cpus.bit_count(), 'CPU')} ({to_text(cpus)})" if cpus else "no CPU"
        text = f"largest request {largest}"
        if largest is None:
            text = f"not aligned ({TOPOLOGY_MANAGER_POLICY.key} none)"
        yield f"  NUMA node {node}: {free}, {text}"


def order_text(answer: Answer, count: int, unproven: str = "") -> str:
    """What is known about the orders of arrival; `unproven`: what was not simulated."""
    tried = (
        f"{counted(answer.tried, 'admission')} tried, {counted(answer.moments, 'distinct moment')}"
    )
    if answer.is_proven and unproven:
        return (
            f"not proven: {unproven}, these {count} can come in every order of arrival ({tried})\n"
        )
    if answer.is_proven:
        return f"all {count} pods are admitted in every order of arrival ({tried})\n"
    if answer.refused is None:
        return (
            f"not proven: {answer.works} of {answer.orders} orders of arrival work, and none that "
            f"was tried failed, within the limit of {answer.limit} of work ({tried})\n"
        )
    lines = ["in this order of arrival, the last pod is refused:"]
    lines += [f"  {number}. {full_name(pod)}" for number, pod in enumerate(answer.failing, 1)]
    return "\n".join([*lines, f"  {_refusal(answer.refused)}", f"({tried})"]) + "\n"
