"""PerformanceProfiles as they are, with the objects of their cluster beside them: checked, and taken as Intents."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.document import HOST_PATTERN, list_pattern
from cpuplan.intent import IntentSpec
from cpuplan.load import cluster, profile_rules, profiles
from cpuplan.load.documents import Document, validate
from cpuplan.load.profile_rules import Profile
from cpuplan.profile import API_VERSION, KIND, PerformanceProfileSpec
from cpuplan.source import Position, Source

_LIST = re.compile(list_pattern(r"[0-9]{1,19}(-[0-9]{1,19})?"))


class Profiles(NamedTuple):
    """What profiles come to. `broken` names the Intents that could not be made."""

    intents: list[Document]
    diagnostics: list[Diagnostic]
    broken: frozenset[tuple[str, str]]


class _Read(NamedTuple):
    """A profile that its CRD takes; not `whole` where some of its CPU lists cannot be read."""

    profile: Profile
    source: Source
    whole: bool


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
    problems = list(_text_problems(source))
    if name is None:
        problems.append(diagnose("CP202", source.value_at(("metadata",)), field="metadata.name"))
    elif not isinstance(name, str) or not re.fullmatch(HOST_PATTERN, name):
        problems.append(diagnose("CP207", source.value_at(("metadata", "name")), name=name))
    if "spec" not in data:
        return None, [*problems, diagnose("CP202", source.value_at(()), field="spec")]
    spec, found = validate(PerformanceProfileSpec, source, ("spec",))
    if found and all(problem.code == "CP208" for problem in found):
        spec = _without_bad_lists(source)
        found = [_by_operator(problem, source) for problem in found]
    if spec is None or problems:
        return None, [*problems, *found]

    def at(*field: str | int) -> Position:
        return source.value_at(("spec", *field))

    return _Read(Profile(str(name), spec, at), source, not found), found


def _text_problems(source: Source) -> Iterator[Diagnostic]:
    """Labels and annotations, which no CRD describes; null says nothing."""
    data: Any = source.data
    metadata = data.get("metadata")
    for key in ("labels", "annotations"):
        texts = metadata.get(key) if isinstance(metadata, dict) else None
        for name, value in texts.items() if isinstance(texts, dict) else ():
            if not isinstance(value, str | None):
                field = f"metadata.{key}.{name}"
                yield diagnose("CP279", source.value_at(("metadata", key, name)), field=field, value=value)
        if not isinstance(texts, dict | None):
            field = f"metadata.{key}"
            yield diagnose("CP279", source.value_at(("metadata", key)), field=field, value=texts)


def _without_bad_lists(source: Source) -> PerformanceProfileSpec | None:
    """The spec with some CPU in each list that cannot be read, so that everything else can be looked at."""
    data: Any = source.data
    spec = data["spec"]
    cpu = {
        name: "0" if name in profile_rules.CPU_SETS and not _is_list(value) else value
        for name, value in spec["cpu"].items()
    }
    return PerformanceProfileSpec.model_validate({**spec, "cpu": cpu})


def _by_operator(problem: Diagnostic, source: Source) -> Diagnostic:
    """The problem of a CPU list; one of our own where the operator reads the list, whose numbers are too high here."""
    data: Any = source.data
    cpu = data["spec"]["cpu"]
    places = {source.value_at(("spec", "cpu", name)): cpu[name] for name in profile_rules.CPU_SETS if name in cpu}
    if problem.position in places and _is_list_in_go(str(places[problem.position])):
        return diagnose("CP277", problem.position, problem=problem.message, remedy="number CPUs from 0 to 8191")
    return problem


def _is_list_in_go(text: str) -> bool:
    """k8s.io/utils/cpuset, Parse: numbers of 64 bits."""
    ranges = [item.partition("-") for item in text.split(",")] if _LIST.fullmatch(text) else []
    return bool(ranges) and all(int(first) <= int(last or first) < 2**63 for first, _, last in ranges)


def _is_list(value: object) -> bool:
    try:
        return isinstance(CpuSet.parse_kubelet(str(value)), CpuSet)
    except CpuSetError:
        return False


def _intent(one: _Read, objects: list[Any], found: list[_Read]) -> tuple[Document | None, list[Diagnostic]]:
    """The Intent of a profile that breaks no rule."""
    profile, source, whole = one
    others = [other.profile for other in found if other is not one]
    diagnostics = profile_rules.check(profile, cluster.nodes(objects), others, whole=whole)
    pools = cluster.matching(cluster.pools(objects), profile.spec.node_selector)
    diagnostics += _check_pool(profile, pools, objects)
    if not whole:
        return None, diagnostics
    facts = cluster.facts(objects)._replace(pools=tuple(pool.name for pool in cluster.pools(objects)))
    if len(pools) == 1 and any(item.get("kind") == "MachineConfigPool" for item in objects):
        facts = facts._replace(pool=pools[0].name, pool_labels=pools[0].labels)
    translation = profiles.intent(profile.name, profile.spec, source, facts)
    diagnostics += translation.diagnostics
    retold = translation.source(source)
    spec, problems = validate(IntentSpec, retold, ("spec",)) if not errors(diagnostics) else (None, [])
    # The CRD takes these values: they are nothing that an operator would refuse.
    diagnostics += [
        diagnose("CP277", problem.position, problem=problem.message, remedy=problem.remedy) for problem in problems
    ]
    return (None if spec is None else Document("Intent", profile.name, spec, retold, KIND)), diagnostics


def _check_pool(profile: Profile, pools: list[cluster.MachineConfigPool], objects: list[Any]) -> Iterator[Diagnostic]:
    """Exactly one pool with labels, where the cluster's pools are told or built in; else cpuplan writes the pool."""
    selected = profile.spec.node_selector
    known = any(item.get("kind") == "MachineConfigPool" for item in objects)
    built_in = profiles.role(selected) in cluster.BUILT_IN
    names = " and ".join(pool.name for pool in pools) or "no MachineConfigPool"
    if len(pools) == 1 and not pools[0].labels and profile.spec.machine_config_pool_selector is None:
        names += ", which has no labels"
    elif not (known or built_in) or len(pools) == 1:
        return
    selector = ", ".join(f"{key}={value}" for key, value in selected.items())
    yield diagnose("CP271", profile.at("nodeSelector"), field="spec.nodeSelector", selector=selector, found=names)
