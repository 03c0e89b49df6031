"""The same pods under several mechanisms, side by side: where they run, and what is promised."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic
from cpuplan.render.simulation.data import to_data
from cpuplan.render.text import table
from cpuplan.simulate import comparison, fleet
from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.allocators.base import Left
from cpuplan.simulate.comparison import Under
from cpuplan.simulate.fleet import Result, Simulated, full_name, listed_names, number_of_nodes
from cpuplan.simulate.mechanisms import KOORDINATOR, KUBELET, PROMISES, RELEASES, Promise
from cpuplan.upstream.kubernetes.bits import to_text

#: Of a list of shared CPUs in a column.
_MOST_LETTERS = 16


def text(compared: Sequence[Under], *, whole: bool = False) -> str:
    """A line for each pod, what is left, what cannot be kept, and the promises.

    Shared CPUs are counted and promises have one word, unless the `whole` is asked for.
    """
    results = {under.mechanism: under.result for under in compared}
    heads = _heads(results)
    blocks = [pods_text(results, whole=whole)]
    blocks.append(table([("LEFT", *heads), *_left_rows(compared)]))
    blocks += map(_problems, compared)
    blocks.append(promises_text(list(results), whole=whole))
    return "\n".join(filter(None, blocks))


def pods_text(results: Mapping[str, Result | None], *, whole: bool) -> str:
    """A line for each pod, with the mechanisms' results from left to right."""
    text = table([("POD", *_heads(results)), *_rows(results.values(), whole=whole)])
    return text + "CPUs in brackets are shared with other containers\n" * ("(" in text)


def _heads(mechanisms: Iterable[str]) -> list[str]:
    return [mechanism.upper() for mechanism in mechanisms]


def promises_text(mechanisms: Sequence[str], *, whole: bool) -> str:
    """How far each mechanism holds what users count on, and the releases that this is for."""
    rows = [(promise.title, *_held(promise, mechanisms, whole=whole)) for promise in PROMISES]
    releases = ", ".join(dict.fromkeys(RELEASES[mechanism] for mechanism in mechanisms))
    more = "" if whole else "; -v says for whom, and by what"
    return f"{table([('PROMISE', *_heads(mechanisms)), *rows])}as of {releases}{more}\n"


def _held(promise: Promise, mechanisms: Iterable[str], *, whole: bool) -> Iterator[str]:
    for mechanism in mechanisms:
        held = promise.held[mechanism]
        yield held.text if whole else str(held.answer)


def _rows(results: Iterable[Result | None], *, whole: bool) -> Iterator[tuple[str, ...]]:
    cells = [dict(_cells(result, whole=whole)) for result in results]
    yield from _side_by_side(cells, missing="does not start")


def _side_by_side(columns: Sequence[Mapping[str, str]], missing: str) -> Iterator[tuple[str, ...]]:
    """A row for each name that a column has, with `missing` where another one lacks it."""
    for name in dict.fromkeys(chain.from_iterable(columns)):
        yield (name, *(column.get(name, missing) for column in columns))


def _cells(result: Result | None, *, whole: bool) -> Iterator[tuple[str, str]]:
    """(pod, its CPUs or why it is refused), with its nodes where there are several."""
    if result is None:
        return
    several = number_of_nodes(result.nodes) > 1
    cells: dict[str, list[str]] = {}
    for node in fleet.groups_of_nodes(result.nodes, across_classes=False):
        where = f"{listed_names(node.nodes)}: " if several else ""
        for outcome in node.outcome.outcomes:
            cells.setdefault(full_name(outcome.pod), []).append(where + cell(outcome, whole=whole))
    for refused in result.nowhere:
        cells.setdefault(full_name(refused.outcome.pod), []).append(
            cell(refused.outcome, whole=whole)
        )
    for name, texts in cells.items():
        yield name, "; ".join(texts)


def cell(outcome: Outcome, *, whole: bool) -> str:
    """The CPUs of a pod: its own, and in brackets those that it shares; or why it is refused."""
    if outcome.is_unknown:
        return "not simulated"
    if outcome.refused:
        return f"refused: {outcome.refused.reason}"
    own = [container.cpus for container in outcome.containers if container.is_exclusive]
    shared = [container.cpus for container in outcome.containers if not container.is_exclusive]
    texts = [to_text(cpus) for cpus in dict.fromkeys(own)]
    texts += [f"({_shared(cpus, whole=whole)})" for cpus in dict.fromkeys(shared)]
    return " ".join(texts)


def _shared(cpus: int, *, whole: bool) -> str:
    """A list that fits into a column, else how many there are."""
    listed_cpus = to_text(cpus)
    is_short = whole or len(listed_cpus) <= _MOST_LETTERS
    return listed_cpus if is_short else counted(cpus.bit_count(), "CPU")


def _left_rows(compared: Sequence[Under]) -> Iterator[tuple[str, ...]]:
    """What is left on each group of nodes that come out alike under the first mechanism."""
    lefts = [dict(_lefts(under.result)) for under in compared]
    yield from _side_by_side(lefts, missing="")


def _lefts(result: Result | None) -> Iterator[tuple[str, str]]:
    """By class: nodes of a class may differ, and the one with the least room speaks for all."""
    classes: dict[str, list[Simulated]] = {}
    for node in result.nodes if result else ():
        classes.setdefault(node.plan.node_class.full_name, []).append(node)
    for name, nodes in classes.items():
        node = min(nodes, key=_room)
        number = number_of_nodes(nodes)
        more = f" (the fullest of {counted(number, 'node')})" if number > 1 else ""
        yield name, f"{_left_text(node.outcome.remainder.left)}{more}"


def _room(node: Simulated) -> int:
    left = node.outcome.remainder.left
    return left.largest if left else -1


def _left_text(left: Left | None) -> str:
    if left is None:
        return "no container has CPUs of its own"
    free = counted(left.cpus.bit_count(), "CPU")
    return f"{free}, at most {left.largest} for a container"


def _problems(under: Under) -> str:
    """What the mechanism cannot keep, and which pods lose their own CPUs, below its name."""
    lines = [*map(_problem, under.problems), *_losing(under)]
    return "\n".join([f"with {under.mechanism}:", *lines]) + "\n" if lines else ""


def _losing(under: Under) -> Iterator[str]:
    if under.losing:
        what = comparison.wanted_of_pods(under.mechanism)
        remedy = f"; they need {what} (--adapt gives them that)" if what else ""
        yield f"  no CPUs of their own for {listed_names(under.losing)}{remedy}"


def _problem(problem: Diagnostic) -> str:
    place = f" ({problem.position})" if problem.position else ""
    return f"  {problem.severity.value}[{problem.code}]: {problem.message}{place}"


def data(compared: Sequence[Under]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "version": 1,
        "mechanisms": [_under_data(under) for under in compared],
        "promises": [_promise_data(promise, compared) for promise in PROMISES],
    }


def _under_data(under: Under) -> dict[str, Any]:
    simulated = to_data(under.result) if under.result else {"nodes": [], "refused": []}
    return {
        "mechanism": under.mechanism,
        "release": RELEASES[under.mechanism],
        "planned": under.is_planned,
        "starts": under.result is not None,
        "nodes": simulated["nodes"],
        "refused": simulated["refused"],
        "losing": list(under.losing),
        "problems": [_problem_data(problem) for problem in under.problems],
    }


def _problem_data(problem: Diagnostic) -> dict[str, Any]:
    return {"code": problem.code, "severity": problem.severity.value, "message": problem.message}


def _promise_data(promise: Promise, compared: Sequence[Under]) -> dict[str, Any]:
    held = {}
    for under in compared:
        answer = promise.held[under.mechanism]
        held[under.mechanism] = {
            "answer": answer.answer,
            "by": answer.by,
            "source": answer.source,
        }
    return {"name": promise.name, "title": promise.title, "held": held}


def koordinator_text(kubelet: Result, koordinator: Result) -> str:
    """A line for each pod, then one for each promise."""
    pods = pods_text({KUBELET: kubelet, KOORDINATOR: koordinator}, whole=True)
    return f"\n{pods}\n{promises_text([KUBELET, KOORDINATOR], whole=True)}"
