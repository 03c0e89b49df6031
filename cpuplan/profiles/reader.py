"""Read PerformanceProfiles with the objects of their cluster, check them, and make Intents.

Objects that say what nodes get from others become entries of Cluster documents
(`fleet.cluster_objects`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from cpuplan.base.text import joined, nearest
from cpuplan.components.openshift.performanceprofile import KIND
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.diagnostics.source import Field, Mark, Marks, Source, within
from cpuplan.fleet import cluster_objects, openshift
from cpuplan.fleet.cluster_objects import GivenObject
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import Document, validate
from cpuplan.profiles import intents, model, rules
from cpuplan.profiles.model import Profile, ReadProfile

#: The key of a ConfigMap that a NodePool names in `spec.tuningConfig` (hypershift,
#: nodepool_controller.go).
TUNING = "tuning"
#: The lists of objects in what Advanced Cluster Management rolls out, and the field of each entry
#: with the object (open-cluster-management.io/governance-policy-propagator, api/v1).
_POLICIES = {"Policy": "policy-templates", "ConfigurationPolicy": "object-templates"}
_POLICY_GROUP = "policy.open-cluster-management.io/"
#: Entries with this type are objects that must not be there.
_ABSENT = "mustnothave"
#: The kinds that are read.
_READ = (KIND, *openshift.KINDS)
#: How what only a cluster resolves begins, on the hub (`{{hub`) or where the policy is enforced.
_IN_POLICY = re.compile(r"\{\{")
#: The same in sources of a PolicyGenTemplate (`$mcp`, `4-$lastcpu`); units and scripts in
#: MachineConfigs have variables too, but no whole value is one.
_IN_PROFILE, _WHOLE = re.compile(r"\{\{|\$[A-Za-z_{]"), re.compile(r"\A\$[A-Za-z_]\w*\Z")
#: Inputs of plugins of Kustomize, which make Policies of them.
_GENERATORS = ("PolicyGenTemplate", "PolicyGenerator")
#: The kinds that are read, of groups that say what nodes get.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "machineconfiguration.openshift.io": tuple(cluster_objects.KINDS),
    "performance.openshift.io": (KIND,),
    "tuned.openshift.io": (),
}
#: Kinds of these groups that say nothing of CPUs: states, and images of the operating system.
_WITHOUT_EFFECT = (
    "ControllerConfig",
    "InternalReleaseImage",
    "MachineConfigNode",
    "MachineOSBuild",
    "MachineOSConfig",
    "OSImageStream",
    "PinnedImageSet",
    "Profile",
)


class Object(NamedTuple):
    """A single object; `hosted` if a ConfigMap contains it."""

    source: Source
    hosted: bool = False


def unbundled(sources: Iterable[Source], diagnostics: list[Diagnostic]) -> Iterator[Object]:
    """Each object, with those inside Lists (`oc get -o yaml`), Policies and hosted ConfigMaps.

    Problems are added to `diagnostics`.
    """
    for source in sources:
        data: Any = source.data
        parts = _parts(source, diagnostics)
        if parts is not None:
            yield from unbundled(parts, diagnostics)
            continue
        tuning = _tuning(data)
        if tuning:
            yield from _inside(source, tuning, diagnostics)
            continue
        kind = data.get("kind")
        template = _WHOLE if kind in openshift.KINDS else None
        template = _IN_PROFILE if kind == KIND else template
        yield from map(Object, _resolved(source, template, diagnostics))


def _parts(source: Source, diagnostics: list[Diagnostic]) -> list[Source] | None:
    """The objects that a List or a Policy contains; None for any other object."""
    data: Any = source.data
    if str(data.get("kind")).endswith("List") and isinstance(data.get("items"), list):
        parts = [source.part(("items", index)) for index in range(len(data["items"]))]
        return [part for part in parts if isinstance(part.data, dict)]
    if _is_policy(data):
        return [*_of_policy(source, diagnostics)]
    return None


def _is_policy(data: Any) -> bool:
    version = data.get("apiVersion")
    return str(data.get("kind")) in _POLICIES and str(version).startswith(_POLICY_GROUP)


def _of_policy(source: Source, diagnostics: list[Diagnostic]) -> Iterator[Source]:
    """The objects that a Policy lays down; CP2401 for those that only a cluster can complete."""
    data: Any = source.data
    key = _POLICIES[data["kind"]]
    spec = data["spec"] if isinstance(data.get("spec"), dict) else {}
    templates: list[Any] = spec[key] if isinstance(spec.get(key), list) else []
    raw = str(spec.get(f"{key}-raw", ""))
    if named := next((kind for kind in _READ if kind in raw), None):
        place = source.key_at(("spec", f"{key}-raw"))
        diagnostics.append(diagnose("CP2401", place, kind=named, plural=f"{named.lower()}s"))
    for index, template in enumerate(templates):
        is_one = isinstance(template, dict) and isinstance(template.get("objectDefinition"), dict)
        if not is_one or str(template.get("complianceType", "")).lower() == _ABSENT:
            continue
        part = source.part(("spec", key, index, "objectDefinition"))
        kind = template["objectDefinition"].get("kind")
        yield from _resolved(part, _IN_POLICY if kind in _READ else None, diagnostics)


def _resolved(
    source: Source, template: re.Pattern[str] | None, diagnostics: list[Diagnostic]
) -> Iterator[Source]:
    """The object, unless it has templates: CP2401."""
    data: Any = source.data
    if template and (field := _template_in(data, template)):
        place, kind = source.value_at(field), data["kind"]
        diagnostics.append(diagnose("CP2401", place, kind=kind, plural=f"{kind.lower()}s"))
    else:
        yield source


def _template_in(data: Any, template: re.Pattern[str]) -> Field:
    """The field of the first name or text of the spec with a template; empty without one."""
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    todo: list[tuple[Any, Field]] = [(name, ("metadata", "name")), (data.get("spec"), ("spec",))]
    for value, field in todo:
        if isinstance(value, str) and template.search(value):
            return field
        if isinstance(value, dict | list):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            todo += [(child, (*field, name)) for name, child in entries]
    return ()


def _unread(source: Source) -> Iterator[Diagnostic]:
    """CP275 for an object that is perhaps meant to be read, CP2400 for one that makes objects."""
    data: Any = source.data
    kind, version = str(data.get("kind")), str(data.get("apiVersion"))
    group = version.partition("/")[0]
    place = source.value_at(("kind",))
    if kind in _GENERATORS:
        yield diagnose("CP2400", place, kind=kind)
    elif group in _GROUPS and kind not in (*openshift.KINDS, *_WITHOUT_EFFECT):
        near = nearest(kind, _GROUPS[group])
        hint = f"did you mean {near!r}?" if near else "compare it with the plan by hand"
        yield diagnose("CP275", place, kind=kind, version=version, hint=hint)


def is_read(data: Any) -> bool:
    """Whether an object of a cluster, or one of those in a List, is read or named as not read."""
    if not isinstance(data, dict):
        return False
    items = data.get("items")
    if str(data.get("kind")).endswith("List") and isinstance(items, list):
        return any(map(is_read, items))
    group, kind = str(data.get("apiVersion")).partition("/")[0], data.get("kind")
    return (
        group in _GROUPS
        or kind in (*_READ, *_GENERATORS)
        or _is_policy(data)
        or _tuning(data) is not None
    )


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
    """The Intents of profiles, and what other objects say of a cluster.

    `broken` names the Intents that could not be made.
    """

    intents: list[Document]
    objects: list[GivenObject]
    diagnostics: list[Diagnostic]
    broken: frozenset[tuple[str, str]]


def read(
    sources: Iterable[Source], release: Callable[[], str] = openshift.newest, mode: str = ""
) -> Profiles:
    """The Intents of all PerformanceProfiles; other objects among `sources` describe the cluster.

    If none of them has its release, `release` returns it. With the `mode` of their targets, Intents
    take the place of profiles, and what they lose is said.
    """
    diagnostics: list[Diagnostic] = []
    broken: set[tuple[str, str]] = set()
    own: list[tuple[Source, bool]] = []
    others: list[Source] = []
    for source, hosted in unbundled(sources, diagnostics):
        data: Any = source.data
        if data.get("kind") == KIND:
            own.append((source, hosted))
        else:
            others.append(source)
            diagnostics += _unread(source)
    objects: list[Any] = [other.data for other in others]
    given, problems = cluster_objects.given(others)
    diagnostics += problems
    facts = openshift.facts(objects, release) if own else openshift.Cluster()
    facts = facts._replace(mode=mode)
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
    return Profiles(documents, given, diagnostics, frozenset(broken))


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
