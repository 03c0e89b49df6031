"""The rollout of an intent: in which order nodes go, how many at a time, at what price at most."""

from typing import TYPE_CHECKING, NamedTuple

from cpuplan.plan import ConfiguredPlan

if TYPE_CHECKING:
    from cpuplan.language.model.rollout import Rollout


class Wave(NamedTuple):
    """Nodes that go together, before those of the next number; `limit` is how many at once."""

    number: int
    name: str
    nodes: tuple[str, ...]
    limit: str = ""


class Waves(NamedTuple):
    """What the intent of a class states; empty where it states nothing."""

    waves: tuple[Wave, ...] = ()
    limit: str = ""
    max_impact: str = ""
    #: The wave in which its whole cluster goes; None where it is in none, and goes last.
    of_cluster: Wave | None = None


def of(node: ConfiguredPlan) -> Waves:
    """The rollout of a class of nodes."""
    stated, node_class = node.spec.rollout, node.node_class
    found = [
        Wave(wave.number, wave.name, wave.nodes, _text(stated.waves[wave.number].max_unavailable))
        for wave in node_class.waves
    ]
    turn = _of_cluster(stated, node_class.cluster)
    return Waves(tuple(found), _text(stated.max_unavailable), stated.max_impact or "", turn)


def _of_cluster(stated: "Rollout", cluster: str) -> Wave | None:
    for number, wave in enumerate(stated.waves):
        if wave.is_of_clusters and (not wave.clusters or cluster in wave.clusters):
            return Wave(number, wave.name, (), _text(wave.max_unavailable))
    return None


def _text(limit: int | str | None) -> str:
    return "" if limit is None else str(limit)
