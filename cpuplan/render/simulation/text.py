"""What became of pods on simulated nodes: a table for each node, and who has which CPUs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import Pool
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.plan import plan_map
from cpuplan.render.simulation import classes, data
from cpuplan.render.text import table
from cpuplan.simulate import fleet, runtimes
from cpuplan.simulate.admission import Answer, Outcome
from cpuplan.simulate.allocators.base import Left, Move, Placed, Refusal
from cpuplan.simulate.fleet import (
    Nowhere,
    Result,
    Simulated,
    full_name,
    listed_names,
    number_of_nodes,
)
from cpuplan.upstream.kubernetes.bits import to_text


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
    overview = "" if one_by_one else classes.by_class(result)
    limit = _limit_text(result)
    shown = nodes if one_by_one else _most_telling(nodes, _FEW_BLOCKS if overview else _MOST_BLOCKS)
    told = set(map(id, result.nodes))
    is_fleet = number_of_nodes(nodes) > 1 and not one_by_one
    blocks = [
        "\n".join(_node(node, is_example=id(node) not in told, is_one_of_many=is_fleet)) + "\n"
        for node in shown
    ]
    if rest := number_of_nodes(nodes) - number_of_nodes(shown):
        blocks.append(
            f"and {counted(rest, 'node')} in {len(nodes) - len(shown)} other states; -v shows "
            "them\n"
        )
    if result.nowhere:
        refused = (
            list(map(fleet.Refused, result.nowhere))
            if one_by_one
            else fleet.refused_workloads(result)
        )
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
    return f"{refused.reason}: {refused.message}" if refused else ""


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
    yield (
        f"left for exclusive use: {free}; the largest request that would be admitted is "
        f"{left.largest}"
    )
    if left.because:
        yield f"  a larger request is refused: {left.because}"
    for node, (cpus, largest) in left.by_numa_node.items():
        free = f"{counted(cpus.bit_count(), 'CPU')} ({to_text(cpus)})" if cpus else "no CPU"
        text = (
            f"not aligned ({TOPOLOGY_MANAGER_POLICY.key} none)"
            if largest is None
            else f"largest request {largest}"
        )
        yield f"  NUMA node {node}: {free}, {text}"


def order_text(answer: Answer, count: int) -> str:
    """What is known about the orders of arrival."""
    tried = (
        f"{counted(answer.tried, 'admission')} tried, {counted(answer.moments, 'distinct moment')}"
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
