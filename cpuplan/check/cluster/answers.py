"""The answers on a node of a cluster, in their order, and on the objects that were compiled."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cpuplan.check.cluster import crio_release, koordinator
from cpuplan.check.cluster.devices import devices
from cpuplan.check.cluster.equality import differences
from cpuplan.check.cluster.live_objects import Absent, Objects, Place, Subject
from cpuplan.check.cluster.machineconfig import conditions_of, configuration
from cpuplan.check.cluster.published import amounts, topology
from cpuplan.diagnostics.source import Field, Locate
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.expected.folder import Compiled
from cpuplan.plan.expected.state import Expected, used
from cpuplan.simulate.files.objects import Object

#: Fields that the API server or other programs own.
_PASSED_OVER = ("apiVersion", "kind", "metadata", "status")
_OF_DELIVERY = "argocd.argoproj.io/"
_MAX_SHOWN = 120
#: Kinds whose operator says in their conditions what became of them. A KubeletConfig gets another
#: condition with each of its versions, of which the last one counts.
_WITH_CONDITIONS = ("PerformanceProfile", "KubeletConfig")


def compiled(place: Place, objects: tuple[Compiled, ...]) -> Iterator[Answer]:
    """CP887 for an object that is not there, CP888 for its fields that differ."""
    for wanted in objects:
        fact = f"{wanted.kind} {wanted.title}"
        if wanted.is_for_host:
            reason = "it belongs into the cluster that hosts the control plane"
            yield place.unverifiable(fact, reason)._replace(is_unshown=True)
            continue
        live = place.objects.find(wanted.kind, wanted.name, wanted.namespace)
        if isinstance(live, Object):
            yield from _compare(place, wanted, live)
        elif live.is_unknown:
            yield place.unverifiable(fact, live.reason)
        else:
            yield _missing(place, wanted, live)


def _missing(place: Place, wanted: Compiled, absent: Absent) -> Answer:
    return place.differs(
        f"{wanted.kind} {wanted.title}",
        "CP887",
        None,
        observed="nothing",
        expected="the compiled object",
        because=wanted.because,
        heals=Heals.LIVE,
        problem=absent.reason,
        kind=wanted.kind,
        name=wanted.title,
    )


def _compare(place: Place, wanted: Compiled, live: Object) -> Iterator[Answer]:
    fact = f"{wanted.kind} {wanted.title}"
    others = list(_differences(wanted.data, live.data))
    if not others:
        yield place.held(fact, live)
    else:
        field, known, value = others[0]
        text = _shown(known)
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        yield place.differs(
            fact,
            "CP888",
            (live, field),
            observed=text,
            expected=_shown(value),
            because=wanted.because,
            kind=wanted.kind,
            name=wanted.title,
            field=_path(field),
            more=more,
        )
    yield from _conditions(place, wanted, live)


def _differences(
    wanted: Mapping[str, Any], live: Mapping[str, Any]
) -> Iterator[tuple[Field, Any, Any]]:
    for key, value in wanted.items():
        if key not in _PASSED_OVER:
            yield from differences(live.get(key), value, (key,))
    for part in ("labels", "annotations"):
        given = wanted["metadata"].get(part)
        texts = given if isinstance(given, dict) else {}
        own = {key: text for key, text in texts.items() if not key.startswith(_OF_DELIVERY)}
        metadata = live.get("metadata") or {}
        yield from differences(metadata.get(part), own, ("metadata", part))


def _conditions(place: Place, wanted: Compiled, live: Object) -> Iterator[Answer]:
    """CP892 for what an operator says of an object."""
    if wanted.kind not in _WITH_CONDITIONS:
        return
    fact = f"{wanted.kind} {wanted.title} conditions"
    if not conditions_of(live):
        yield place.unverifiable(fact, "it has no conditions", live)
        return
    problem = _problem(live)
    if not problem:
        yield place.held(fact, live)
        return
    yield place.differs(
        fact,
        "CP892",
        (live, ("status", "conditions")),
        observed=problem,
        expected="",
        because=wanted.because,
        what=f"{wanted.kind} {wanted.title}",
        problem=problem,
    )


def _problem(live: Object) -> str:
    """What its operator says went wrong with an object; empty where nothing did."""
    if live.kind == "KubeletConfig":
        kind, _, message = conditions_of(live)[-1]
        return f"{kind}: {message}" if kind == "Failure" else ""
    bad = (condition for condition in conditions_of(live) if condition[:2] == ("Degraded", "True"))
    return next((f"{kind}: {message}" for kind, _, message in bad), "")


def _path(field: Field) -> str:
    return ".".join(map(str, field))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    text = " ".join(text.split()) if text != "null" else "nothing"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


STEPS: tuple[Callable[[Subject], Iterator[Answer]], ...] = (
    amounts,
    crio_release.release,
    configuration,
    topology,
    devices,
    koordinator.check,
)


def check_node(objects: Objects, expected: Expected, node: str, locate: Locate) -> list[Answer]:
    """All answers on a node; for one that the cluster does not have, CP887 alone."""
    subject = Subject(node, expected, objects, locate)
    live = objects.find("Node", node)
    if isinstance(live, Absent) and not live.is_unknown:
        return [_absent(subject, live)]
    with used(expected, node):
        answers = [answer for step in STEPS for answer in step(subject)]
        return list(dict.fromkeys(answers))


def _absent(subject: Subject, absent: Absent) -> Answer:
    return subject.differs(
        f"Node {subject.node}",
        "CP887",
        None,
        observed="nothing",
        expected="a Node",
        kind="Node",
        name=subject.node,
        problem=absent.reason,
    )


def check_objects(objects: Objects, wanted: tuple[Compiled, ...], locate: Locate) -> list[Answer]:
    """All answers on the objects that were compiled for the cluster."""
    return list(compiled(Place(objects, locate), wanted))
