"""The rollout of an intent: in which order nodes go, how many at a time, at what price at most."""

from typing import Any, NamedTuple

from cpuplan.plan import ConfiguredPlan


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


def of(node: ConfiguredPlan) -> Waves:
    """The rollout of a class of nodes; none where intents have no such field."""
    stated: Any = getattr(node.spec, "rollout", None)
    if stated is None:
        return Waves()
    found = [
        Wave(wave.number, wave.name, wave.nodes, _text(stated.waves[wave.number].max_unavailable))
        for wave in getattr(node.node_class, "waves", ())
    ]
    return Waves(tuple(found), _text(stated.max_unavailable), stated.max_impact or "")


def _text(limit: int | str | None) -> str:
    return "" if limit is None else str(limit)
