"""PerformanceProfiles as they are, with the objects of their cluster beside them: checked, and taken as Intents."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.document import HOST_PATTERN
from cpuplan.intent import IntentSpec
from cpuplan.load import cluster, profile_rules, profiles
from cpuplan.load.documents import Document, validate
from cpuplan.load.profile_rules import Profile
from cpuplan.profile import API_VERSION, KIND, PerformanceProfileSpec
from cpuplan.source import Position, Source


class Profiles(NamedTuple):
    """What profiles come to. `broken` names the Intents that could not be made."""

    intents: list[Document]
    diagnostics: list[Diagnostic]
    broken: frozenset[tuple[str, str]]


class _Read(NamedTuple):
    """A profile that its CRD takes."""

    profile: Profile
    source: Source


def read(sources: Iterable[Source]) -> Profiles:
    """The Intents of all PerformanceProfiles among `sources`; other objects tell of the cluster."""
    diagnostics: list[Diagnostic] = []
    broken: set[tuple[str, str]] = set()
    found: list[_Read] = []
    objects: list[Any] = []
    for source in sources:
        data: Any = source.data
        if data.get("kind") != KIND:
            objects.append(data)
            if data.get("kind") not in cluster.KINDS:
                place = source.value_at(("kind",))
                diagnostics.append(diagnose("CP275", place, kind=data.get("kind"), version=data.get("apiVersion")))
            continue
        one, problems = _profile(source)
        diagnostics += problems
        if one is None:
            broken.add(("Intent", ""))
        else:
            found.append(one)
    intents = []
    for one in found:
        document, problems = _intent(one, objects, found)
        diagnostics += problems
        if document is None:
            broken.add(("Intent", one.profile.name))
        else:
            intents.append(document)
    return Profiles(intents, diagnostics, frozenset(broken))


def _profile(source: Source) -> tuple[_Read | None, list[Diagnostic]]:
    """The profile by its CRD."""
    data: Any = source.data
    if data.get("apiVersion") != API_VERSION:
        place = source.value_at(("apiVersion",))
        return None, [diagnose("CP204", place, found=data.get("apiVersion"), expected=API_VERSION)]
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    problems = []
    if name is None:
        problems.append(diagnose("CP202", source.value_at(("metadata",)), field="metadata.name"))
    elif not isinstance(name, str) or not re.match(HOST_PATTERN, name):
        problems.append(diagnose("CP207", source.value_at(("metadata", "name")), name=name))
    if "spec" not in data:
        return None, [*problems, diagnose("CP202", source.value_at(()), field="spec")]
    spec, found = validate(PerformanceProfileSpec, source, ("spec",))
    problems += found
    if spec is None or problems:
        return None, problems

    def at(*field: str | int) -> Position:
        return source.value_at(("spec", *field))

    return _Read(Profile(str(name), spec, at), source), []


def _intent(one: _Read, objects: list[Any], found: list[_Read]) -> tuple[Document | None, list[Diagnostic]]:
    """The Intent of a profile that breaks no rule."""
    profile, source = one
    others = [other.profile for other in found if other is not one]
    diagnostics = profile_rules.check(profile, cluster.nodes(objects), others)
    pools = cluster.matching(cluster.pools(objects), profile.spec.node_selector)
    diagnostics += _check_pool(profile, pools, objects)
    facts = cluster.facts(objects)._replace(pools=tuple(pool.name for pool in cluster.pools(objects)))
    if len(pools) == 1 and any(item.get("kind") == "MachineConfigPool" for item in objects):
        facts = facts._replace(pool_labels=pools[0].labels)
    translation = profiles.intent(profile.name, profile.spec, source, facts)
    diagnostics += translation.diagnostics
    retold = translation.source(source)
    spec, problems = validate(IntentSpec, retold, ("spec",)) if not errors(diagnostics) else (None, [])
    diagnostics += problems
    return (None if spec is None else Document("Intent", profile.name, spec, retold, KIND)), diagnostics


def _check_pool(profile: Profile, pools: list[cluster.MachineConfigPool], objects: list[Any]) -> Iterator[Diagnostic]:
    """Exactly one pool, where the cluster's pools are told; else cpuplan writes the pool itself."""
    known = any(item.get("kind") == "MachineConfigPool" for item in objects)
    if known and len(pools) != 1:
        selector = ", ".join(f"{key}={value}" for key, value in profile.spec.node_selector.items())
        names = " and ".join(pool.name for pool in pools) or "no MachineConfigPool"
        yield diagnose("CP271", profile.at("nodeSelector"), field="spec.nodeSelector", selector=selector, found=names)
