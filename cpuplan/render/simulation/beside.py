"""The same pods under the kubelet alone and under Koordinator, and what each can promise."""

from collections.abc import Iterator

from cpuplan.kubelet.bits import to_text
from cpuplan.render.tables import table
from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.fleet import Result
from cpuplan.simulate.names import full_name, listed

_HEAD = ("POD", "KUBELET", "KOORDINATOR")
_PROMISES = (
    ("PROMISE", "KUBELET", "KOORDINATOR"),
    ("CPUs of its own", "Guaranteed pods with whole CPUs", "LSE pods; LSR pods share with BE"),
    ("whole cores", "full-pcpus-only", "required FullPCPUs, of the pod or the node"),
    ("one NUMA node", "Topology Manager, with devices", "SingleNUMANode"),
    ("memory of that node", "Memory Manager", "no"),
    ("CPU sets of QoS classes", "no", "BE pods, by load"),
    ("known before a pod is bound", "how many CPUs", "which CPUs"),
    ("refusal", "on the node: the pod fails", "by the scheduler: the pod waits"),
    ("same CPUs after a restart", "state file", "annotation of the pod"),
)


def text(kubelet: Result, koordinator: Result) -> str:
    """A line for each pod, then one for each promise."""
    ones, others = dict(_cells(kubelet)), dict(_cells(koordinator))
    names = list(dict.fromkeys([*others, *ones]))
    rows = [(name, ones.get(name, ""), others.get(name, "")) for name in names]
    return f"\n{table([_HEAD, *rows])}\n{table(_PROMISES)}"


def _cells(result: Result) -> Iterator[tuple[str, str]]:
    """(pod, its CPUs or why it is refused), with its nodes where there are several."""
    several = sum(len(node.nodes) for node in result.nodes) > 1
    cells: dict[str, list[str]] = {}
    for node in result.nodes:
        where = f"{listed(node.nodes)}: " if several else ""
        for outcome in node.outcome.outcomes:
            cells.setdefault(full_name(outcome.pod), []).append(where + _cell(outcome))
    for refused in result.nowhere:
        cells.setdefault(full_name(refused.outcome.pod), []).append(_cell(refused.outcome))
    for name, found in cells.items():
        yield name, "; ".join(found)


def _cell(outcome: Outcome) -> str:
    if outcome.refused:
        return f"refused: {outcome.refused.reason}"
    own = [container.cpus for container in outcome.containers if container.is_exclusive]
    shared = [container.cpus for container in outcome.containers if not container.is_exclusive]
    texts = [to_text(cpus) for cpus in dict.fromkeys(own)]
    texts += [f"({to_text(cpus)})" for cpus in dict.fromkeys(shared)]
    return " ".join(texts)
