"""A cluster as its API shows it, and waiting until a rollout has arrived there.

It is read in two rounds: the first has all but rendered MachineConfigs, of which only those of
pools and nodes count.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.check.cluster.answers import check_node, check_objects
from cpuplan.check.cluster.live_objects import KINDS, Objects
from cpuplan.check.cluster.machineconfig import CURRENT
from cpuplan.check.cluster.reading import Reader, UnreachableError, Wanted
from cpuplan.components import derived, nrt
from cpuplan.components.dra import resource_slices
from cpuplan.components.nrt import VERSION
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import SOMETHING, Answer, Threshold, is_verified
from cpuplan.plan.expected.folder import Compiled
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate.files.objects import Object

_MCO, _CONFIG = "v1", "MachineConfig"
#: Problems that a rollout waits for, in words.
_MAX_LINES = 5


class Compilation(NamedTuple):
    """All that was compiled for a cluster."""

    name: str
    states: tuple[Expected, ...]
    objects: tuple[Compiled, ...]


class Seen(NamedTuple):
    """The answers on each node, by name, and those on the objects of the cluster.

    `refused` are findings about what the API did not tell.
    """

    nodes: dict[str, list[Answer]]
    objects: list[Answer]
    refused: tuple[Diagnostic, ...] = ()

    def all(self) -> list[Answer]:
        """Every answer."""
        return [*(answer for answers in self.nodes.values() for answer in answers), *self.objects]


def look(reader: Reader, compilation: Compilation, locate: Locate) -> Seen:
    """What the API says of everything that was compiled. Raises UnreachableError."""
    reader.begin()
    first = reader.read(_first(compilation))
    configs = set(_configs(first, compilation)) - {""}
    rendered = reader.read(Wanted(_CONFIG, _MCO, name) for name in sorted(configs))
    objects = first.joined(rendered) if configs else first
    nodes = {
        name: check_node(objects, state, name, locate)
        for state in compilation.states
        for name in state.nodes
    }
    return Seen(nodes, check_objects(objects, compilation.objects, locate), objects.refusals)


def _first(compilation: Compilation) -> Iterator[Wanted]:
    states = compilation.states
    nodes = frozenset(name for state in states for name in state.nodes)
    yield Wanted("Node", "v1", nodes=nodes)
    if any(derived.RENDERED in state.facts for state in states):
        yield Wanted("MachineConfigPool", _MCO)
    for version in dict.fromkeys(filter(None, map(_topology_version, states))):
        yield Wanted("NodeResourceTopology", version, nodes=nodes)
    if any(state.settings.of(resource_slices.NAME) for state in states):
        yield Wanted("ResourceSlice", "v1", nodes=nodes)
    if any(state.facts.get(derived.KOORDLET) for state in states):
        yield Wanted("Pod", "v1", nodes=nodes)
    for planned in compilation.objects:
        if not planned.is_for_host and planned.kind in KINDS:
            version = str(planned.data.get("apiVersion", "")).rpartition("/")[2]
            yield Wanted(planned.kind, version, planned.name, planned.namespace)


def _topology_version(state: Expected) -> str:
    value = state.settings.values(nrt.NAME).get(VERSION, "")
    return str(value).rpartition("/")[2]


def _configs(objects: Objects, compilation: Compilation) -> Iterator[str]:
    """The rendered MachineConfigs that pools want; without a pool, those that its nodes have."""
    for state in compilation.states:
        expected = state.facts.get(derived.RENDERED)
        if not isinstance(expected, dict) or "pool" not in expected:
            continue
        pool = objects.find("MachineConfigPool", str(expected["pool"]))
        if isinstance(pool, Object):
            yield str(value_of(pool.data, ("spec", "configuration", "name")) or "")
            continue
        for name in state.nodes:
            node = objects.find("Node", name)
            yield node.annotations.get(CURRENT, "") if isinstance(node, Object) else ""


def summary_of(seen: Seen, threshold: Threshold = SOMETHING) -> list[str]:
    """What a rollout waits for: what is not told, problems of objects, counts of nodes."""
    findings = (answer.finding for answer in seen.all())
    problems = dict.fromkeys(
        finding.message
        for finding in (*seen.refused, *findings)
        if finding and finding.code in ("CP8130", "CP8131", "CP887", "CP888", "CP892")
    )
    waiting = [name for name, answers in seen.nodes.items() if any(map(_differs, answers))]
    unseen = list(_unverified(seen, threshold))
    lines = list(problems)[:_MAX_LINES]
    if len(problems) > _MAX_LINES:
        lines.append(f"and {len(problems) - _MAX_LINES} more")
    if waiting:
        lines.append(f"{len(waiting)} of {len(seen.nodes)} nodes differ")
    if unseen:
        lines.append(f"{len(unseen)} of {len(seen.nodes)} nodes are not verified")
    return lines


def _differs(answer: Answer) -> bool:
    return answer.finding is not None


def _unverified(seen: Seen, threshold: Threshold) -> Iterator[str]:
    """The nodes of which too little is seen."""
    for name, answers in seen.nodes.items():
        if not is_verified(answers, threshold):
            yield name


def has_arrived(seen: Seen, threshold: Threshold = SOMETHING) -> bool:
    """Whether nothing differs, and enough was seen to say so."""
    is_seen = not seen.refused and not any(_unverified(seen, threshold))
    of_objects = not seen.objects or is_verified(seen.objects, SOMETHING)
    return is_seen and of_objects and not any(map(_differs, seen.all()))


class Clock(NamedTuple):
    """The time in seconds, how to let it pass, and how long between two looks."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    interval: float


def wait(
    look: Callable[[], Seen],
    seconds: float,
    clock: Clock,
    say: Callable[[str], None],
    threshold: Threshold = SOMETHING,
) -> Seen:
    """What is seen once nothing differs and enough is seen, or when `seconds` are over.

    What it waits for is told when it changes. An API that cannot be asked for a while, as while a
    control plane is updated, is waited for too: UnreachableError only from the last look.
    """
    end = clock.now() + seconds
    told: list[str] = []
    while True:
        is_last = clock.now() >= end
        try:
            seen = look()
            waits = summary_of(seen, threshold)
            if is_last or has_arrived(seen, threshold):
                return seen
        except UnreachableError as error:
            if is_last:
                raise
            waits = [f"the cluster cannot be read: {error}"]
        if waits != told:
            for line in waits:
                say(f"waiting: {line}")
            told = waits
        clock.sleep(max(0.0, min(clock.interval, end - clock.now())))
