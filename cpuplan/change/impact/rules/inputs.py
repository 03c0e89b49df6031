"""What the rules read: what differs between the halves of a pair, and what a cluster has beside."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.backends.openshift import merged
from cpuplan.base.text import at_most
from cpuplan.change.impact.setting_rules import Changed
from cpuplan.change.impact.snapshot import Object, ObjectId, Pair, Snapshot
from cpuplan.fleet.previous import Key
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import NodeClass
from cpuplan.plan.expected.state import Expected

Manifest = Mapping[str, Any]


class Cluster(NamedTuple):
    """MachineConfigs of others, and the MachineConfiguration with node disruption policies."""

    machine_configs: tuple[Manifest, ...] = ()
    configuration: Manifest = MappingProxyType({})


#: By the names of clusters; a cluster that is not in it has nothing of others.
Context = Mapping[str, Cluster]


def context_of(classes: Iterable[NodeClass]) -> Context:
    """What the Cluster documents of a project say."""
    return {node_class.cluster: _cluster(node_class.cluster_facts) for node_class in classes}


def _cluster(facts: ClusterSpec) -> Cluster:
    policy = facts.node_disruption_policy
    given = policy.model_dump(mode="json", by_alias=True, exclude_none=True) if policy else {}
    return Cluster(
        tuple(map(merged.foreign_object, facts.machine_configs)),
        {"spec": {"nodeDisruptionPolicy": given}},
    )


#: The key under which the order of a component's settings counts as one.
ORDER = "order"
#: The component whose settings are read in their order.
_ORDERED = "kernel"
_MOST = 6


class Half(NamedTuple):
    """One side of a pair: the class and its plan; nothing of nodes that are in no class."""

    side: Snapshot
    key: Key | None

    @property
    def plan(self) -> Mapping[str, Any]:
        """The file of the class."""
        return self.side.classes[self.key] if self.key else {}

    @property
    def state(self) -> Expected | None:
        """The expected state of the class; None without one that can be read."""
        return _state(self.side, self.key) if self.key else None

    def value(self, component: str, key: str) -> Any:
        """The value of a setting; None without it."""
        for entry in self.plan.get("settings", ()):
            if (entry["component"], entry["key"]) == (component, key):
                return entry["value"]
        return None


@lru_cache(maxsize=16)
def _state(side: Snapshot, key: Key) -> Expected | None:
    """Read once for all rules of a pair."""
    return side.state(key)


@lru_cache(maxsize=8)
def objects(side: Snapshot, cluster: str) -> Mapping[ObjectId, Object]:
    """The objects of a cluster, read once for all of its classes."""
    return side.objects(cluster)


def halves(pair: Pair, before: Snapshot, after: Snapshot) -> tuple[Half, Half]:
    """Both sides of a pair. A class that a side does not have counts as none."""
    old = pair.before if pair.before in before.classes else None
    new = pair.after if pair.after in after.classes else None
    return Half(before, old), Half(after, new)


def changed(before: Half, after: Half) -> tuple[Changed, ...]:
    """The settings that differ, in the order of the side after."""
    old, new = _by_key(before.plan), _by_key(after.plan)
    return (*_values(old, new), *_order(old, new))


def _values(old: "_Settings", new: "_Settings") -> Iterator[Changed]:
    for component, key in dict.fromkeys([*new, *old]):
        was, now = old.get((component, key)), new.get((component, key))
        values = was and was.values, now and now.values
        if values[0] != values[1]:
            known = now or was
            origin = known.origin if known else ""
            yield Changed(component, key, _plain(values[0]), _plain(values[1]), origin)


def _order(old: "_Settings", new: "_Settings") -> Iterator[Changed]:
    """The same settings of the command line in another order."""
    was, now = _keys(old), _keys(new)
    if was != now and sorted(was) == sorted(now):
        yield Changed(_ORDERED, ORDER, was, now)


def _keys(settings: "_Settings") -> list[str]:
    return [key for component, key in settings if component == _ORDERED]


class _Values(NamedTuple):
    values: tuple[Any, ...]
    origin: str


_Settings = Mapping[tuple[str, str], _Values]


def _by_key(plan: Mapping[str, Any]) -> _Settings:
    """A key that is there several times has all its values."""
    settings: dict[tuple[str, str], _Values] = {}
    for entry in plan.get("settings", ()):
        key = entry["component"], entry["key"]
        known = settings.get(key, _Values((), _origin(entry)))
        settings[key] = _Values((*known.values, entry["value"]), known.origin)
    return settings


def _origin(entry: Mapping[str, Any]) -> str:
    """The first statement among the reasons of a setting."""
    origins = (str(reason["origin"]) for reason in entry.get("because", ()))
    return next((origin for origin in origins if ":" in origin), "")


def _plain(values: tuple[Any, ...] | None) -> Any:
    if values is None:
        return None
    return values[0] if len(values) == 1 else values


def unequal(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The names under which two maps have not the same."""
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))


def listed(names: Iterable[str]) -> str:
    """Names in words; of many the first ones."""
    return at_most(list(dict.fromkeys(names)), _MOST)


def told(changes: Iterable[Changed]) -> str:
    """Settings in words, each component once."""
    keys: dict[str, list[str]] = {}
    for change in changes:
        keys.setdefault(change.component, []).append(change.key)
    return "; ".join(f"{component} {listed(of)}" for component, of in keys.items())


def origin_of(changes: Iterable[Changed]) -> str:
    """The first statement that asked for one of them."""
    return next((change.origin for change in changes if change.origin), "")
