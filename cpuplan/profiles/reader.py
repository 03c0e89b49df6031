"""Read PerformanceProfiles with the objects of their cluster, check them, and make Intents."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from cpuplan.base.text import joined
from cpuplan.components.openshift.performanceprofile import KIND
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.diagnostics.source import Mark, Marks, Source, within
from cpuplan.fleet import openshift
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import Document, validate
from cpuplan.profiles import intents, model, rules
from cpuplan.profiles.model import Profile, ReadProfile

#: The key of a ConfigMap that a NodePool names in `spec.tuningConfig` (hypershift,
#: nodepool_controller.go).
TUNING = "tuning"


class Object(NamedTuple):
    """A single object; `hosted` if a ConfigMap contains it."""

    source: Source
    hosted: bool = False


def unbundled(sources: Iterable[Source], diagnostics: list[Diagnostic]) -> Iterator[Object]:
    """Each object, with those inside Lists (`oc get -o yaml`) and hosted ConfigMaps.

    Problems are added to `diagnostics`.
    """
    for source in sources:
        data: Any = source.data
        items = data.get("items")
        if str(data.get("kind")).endswith("List") and isinstance(items, list):
            parts = [
                source.part(("items", index))
                for index, item in enumerate(items)
                if isinstance(item, dict)
            ]
            yield from unbundled(parts, diagnostics)
            continue
        tuning = _tuning(data)
        if tuning:
            yield from _inside(source, tuning, diagnostics)
        else:
            yield Object(source)


def _tuning(data: Any) -> str | None:
    """The text of a ConfigMap that contains a profile."""
    texts = data.get("data") if data.get("kind") == "ConfigMap" else None
    text = texts.get(TUNING) if isinstance(texts, dict) else None
    return text if isinstance(text, str) and KIND in text else None


def _inside(source: Source, text: str, diagnostics: list[Diagnostic]) -> Iterator[Object]:
    """The objects of the text, with their places in the file.

    The place of a text in quotes is where it begins.
    """
    own = source.mark_of(("data", TUNING))
    sources, problems = yaml.parse(source.path, text)
    moved = partial(within, own, text)

    for problem in problems:
        at = problem.position
        if at is None:
            diagnostics.append(problem)
            continue
        row, start, stop = moved((at.line - 1, at.column - 1, max(at.end, at.column) - 1))
        place = at._replace(line=row + 1, column=start + 1, end=stop + 1)
        diagnostics.append(problem._replace(position=place, labels=()))
    for unpacked in sources:
        marks: Marks = {}
        for container, places in unpacked.marks.items():
            marks[container] = {
                key: Mark(moved(mark.key), moved(mark.value)) for key, mark in places.items()
            }
        beginning = moved((*unpacked.start, unpacked.start[1]))[:2]
        yield Object(Source(source.path, unpacked.data, marks, beginning), hosted=True)


class Profiles(NamedTuple):
    """The Intents of profiles. `broken` names those that could not be made."""

    intents: list[Document]
    diagnostics: list[Diagnostic]
    broken: frozenset[tuple[str, str]]


def read(sources: Iterable[Source], release: Callable[[], str] = openshift.newest) -> Profiles:
    """The Intents of all PerformanceProfiles; other objects among `sources` describe the cluster.

    If none of them has its release, `release` returns it.
    """
    diagnostics: list[Diagnostic] = []
    broken: set[tuple[str, str]] = set()
    own: list[tuple[Source, bool]] = []
    objects: list[Any] = []
    for source, hosted in unbundled(sources, diagnostics):
        data: Any = source.data
        if data.get("kind") != KIND:
            objects.append(data)
            if data.get("kind") not in openshift.KINDS:
                place = source.value_at(("kind",))
                diagnostics.append(
                    diagnose("CP275", place, kind=data.get("kind"), version=data.get("apiVersion"))
                )
            continue
        own.append((source, hosted))
    facts = openshift.facts(objects, release) if own else openshift.Cluster()
    profiles: list[ReadProfile] = []
    for source, hosted in own:
        read_profile, problems = model.read_profile(source, facts.version)
        diagnostics += problems
        if read_profile is None:
            broken.add(("Intent", ""))
        else:
            profiles.append(read_profile._replace(hosted=hosted))
    documents = []
    for read_profile in profiles:
        document, problems = _intent(read_profile, objects, profiles, facts)
        diagnostics += problems
        if document is None:
            broken.add(("Intent", read_profile.profile.name))
        else:
            documents.append(document)
    return Profiles(documents, diagnostics, frozenset(broken))


def _intent(
    read_profile: ReadProfile,
    objects: list[Any],
    all_read: list[ReadProfile],
    facts: openshift.Cluster,
) -> tuple[Document | None, list[Diagnostic]]:
    """The Intent of a profile that breaks no rule."""
    profile, source, whole, hosted = read_profile
    # Each NodePool of a hosted cluster names its own profile, and all of these select the workers.
    others = [
        other.profile
        for other in all_read
        if other is not read_profile and not (hosted or other.hosted)
    ]
    nodes = openshift.nodes(objects)
    diagnostics = rules.check(profile, nodes, others, release=facts.version, whole=whole)
    pools = openshift.matching(openshift.pools(objects), profile.spec.node_selector)
    diagnostics += _check_pool(profile, pools, objects) if not hosted else ()
    if not whole:
        return None, diagnostics
    pool_names = tuple(pool.name for pool in openshift.pools(objects))
    facts = facts._replace(hosted=hosted, pools=pool_names)
    if len(pools) == 1 and any(item.get("kind") == "MachineConfigPool" for item in objects):
        facts = facts._replace(
            pool=pools[0].name,
            pool_labels=pools[0].labels,
            oci_runtime=openshift.oci_runtime(objects, pools[0]),
        )
    translation = intents.intent(profile.name, profile.spec, source, facts)
    diagnostics += translation.diagnostics
    retold = translation.source(source)
    if errors(diagnostics):
        return None, diagnostics
    spec, problems = validate(IntentSpec, retold, ("spec",))
    # The CRD accepts these values, and so does the operator.
    diagnostics += [
        diagnose("CP277", problem.position, problem=problem.message, remedy=problem.remedy)
        for problem in problems
    ]
    document = Document("Intent", profile.name, spec, retold, KIND) if spec else None
    return document, diagnostics


def _check_pool(
    profile: Profile, pools: list[openshift.MachineConfigPool], objects: list[Any]
) -> Iterator[Diagnostic]:
    """CP271 unless exactly one pool, with labels, matches the profile's node selector.

    Without known or built-in pools, cpuplan writes the pool.
    """
    selected = profile.spec.node_selector
    known = any(item.get("kind") == "MachineConfigPool" for item in objects)
    built_in = intents.role(selected) in openshift.BUILT_IN
    names = joined([pool.name for pool in pools]) or "no MachineConfigPool"
    if (
        len(pools) == 1
        and not pools[0].labels
        and profile.spec.machine_config_pool_selector is None
    ):
        names += ", which has no labels"
    elif not (known or built_in) or len(pools) == 1:
        return
    selector = ", ".join(f"{key}={value}" for key, value in selected.items())
    yield diagnose(
        "CP271",
        profile.at("nodeSelector"),
        field="spec.nodeSelector",
        selector=selector,
        found=names,
    )
