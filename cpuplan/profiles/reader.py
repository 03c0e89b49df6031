"""Read PerformanceProfiles with the objects of their cluster, check them, and make Intents."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.base.text import joined
from cpuplan.components.openshift.performanceprofile import KIND
from cpuplan.diagnostics import Diagnostic, diagnose, errors
from cpuplan.diagnostics.source import Source
from cpuplan.fleet import cluster
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.read.documents import Document, validate
from cpuplan.profiles import bundles, crd, intents, rules
from cpuplan.profiles.crd import Read
from cpuplan.profiles.profile import Profile


class Profiles(NamedTuple):
    """The Intents of profiles. `broken` names those that could not be made."""

    intents: list[Document]
    diagnostics: list[Diagnostic]
    broken: frozenset[tuple[str, str]]


def read(sources: Iterable[Source], release: Callable[[], str] = cluster.newest) -> Profiles:
    """The Intents of all PerformanceProfiles; other objects among `sources` describe the cluster.

    If none of them has its release, `release` returns it.
    """
    diagnostics: list[Diagnostic] = []
    broken: set[tuple[str, str]] = set()
    own: list[tuple[Source, bool]] = []
    objects: list[Any] = []
    for source, hosted in bundles.objects(sources, diagnostics):
        data: Any = source.data
        if data.get("kind") != KIND:
            objects.append(data)
            if data.get("kind") not in cluster.KINDS:
                place = source.value_at(("kind",))
                diagnostics.append(
                    diagnose("CP275", place, kind=data.get("kind"), version=data.get("apiVersion"))
                )
            continue
        own.append((source, hosted))
    facts = cluster.facts(objects, release) if own else cluster.Cluster()
    profiles: list[Read] = []
    for source, hosted in own:
        one, problems = crd.profile(source, facts.version)
        diagnostics += problems
        if one is None:
            broken.add(("Intent", ""))
        else:
            profiles.append(one._replace(hosted=hosted))
    documents = []
    for one in profiles:
        document, problems = _intent(one, objects, profiles, facts)
        diagnostics += problems
        if document is None:
            broken.add(("Intent", one.profile.name))
        else:
            documents.append(document)
    return Profiles(documents, diagnostics, frozenset(broken))


def _intent(
    one: Read, objects: list[Any], all_read: list[Read], facts: cluster.Cluster
) -> tuple[Document | None, list[Diagnostic]]:
    """The Intent of a profile that breaks no rule."""
    profile, source, whole, hosted = one
    # Each NodePool of a hosted cluster names its own profile, and all of these select the workers.
    others = [
        other.profile for other in all_read if other is not one and not (hosted or other.hosted)
    ]
    nodes = cluster.nodes(objects)
    diagnostics = rules.check(profile, nodes, others, release=facts.version, whole=whole)
    pools = cluster.matching(cluster.pools(objects), profile.spec.node_selector)
    diagnostics += _check_pool(profile, pools, objects) if not hosted else ()
    if not whole:
        return None, diagnostics
    pool_names = tuple(pool.name for pool in cluster.pools(objects))
    facts = facts._replace(hosted=hosted, pools=pool_names)
    if len(pools) == 1 and any(item.get("kind") == "MachineConfigPool" for item in objects):
        facts = facts._replace(
            pool=pools[0].name,
            pool_labels=pools[0].labels,
            oci_runtime=cluster.oci_runtime(objects, pools[0]),
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
    profile: Profile, pools: list[cluster.MachineConfigPool], objects: list[Any]
) -> Iterator[Diagnostic]:
    """CP271 unless exactly one pool, with labels, matches the profile's node selector.

    Without known or built-in pools, cpuplan writes the pool.
    """
    selected = profile.spec.node_selector
    known = any(item.get("kind") == "MachineConfigPool" for item in objects)
    built_in = intents.role(selected) in cluster.BUILT_IN
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
