"""Labels and annotations: names that a release does not read, and values that nobody knows."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.base.fits import Form
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.text import did_you_mean, nearest
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field
from cpuplan.platforms.versions import Version
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.releases import (
    FIELDS,
    NODE_NAMES,
    POD_NAMES,
    PROPOSED,
    Span,
    name_of,
)
from cpuplan.upstream.kubernetes.errors import KubeletError

_OBJECT = Form({"type": "object"})
_KNOWN = {**NODE_NAMES, **POD_NAMES}
_BY_LETTERS = {name.lower(): name for name in _KNOWN}


def said(text: str) -> dict[str, Any]:
    """The fields of a JSON object; none of another text, which its readers judge."""
    try:
        fields: dict[str, Any] = read_json(text, _OBJECT)
    except ForeignError:
        return {}
    return fields


def unread_names(
    found: Object, names: Mapping[str, Span], release: Version, where: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """CP644 for labels and annotations below metadata that the release does not read."""
    for group in ("labels", "annotations"):
        for name in found.texts(*where, group):
            why = _unread(name, names, release)
            if why:
                place = found.source.key_at((*found.at, *where, group, name))
                yield diagnose(
                    "CP644",
                    place,
                    object=found.title,
                    name=name,
                    release=name_of(release),
                    problem=why[0],
                    hint=why[1],
                )


def _unread(name: str, names: Mapping[str, Span], release: Version) -> tuple[str, str] | None:
    """Why a name is not read, and what to do."""
    if name in names:
        return _other_release(names[name], release)
    if name in PROPOSED:
        return "it is a name of the proposal of 2022 only", f"use {PROPOSED[name]}"
    meant = _BY_LETTERS.get(name.lower(), name)
    if meant != name:
        return "names are compared letter by letter", f"write {meant}"
    if name in NODE_NAMES:
        return "it belongs to nodes", "set it on the Node"
    if name in POD_NAMES:
        return "it belongs to pods", "set it on pods, or in a ClusterColocationProfile"
    if name.startswith(constants.NODE) and names is NODE_NAMES:
        near = nearest(name, NODE_NAMES)
        return "no release has the name", f"did you mean {near!r}?" if near else "leave it out"
    return None


def _other_release(span: Span, release: Version) -> tuple[str, str] | None:
    if span.has(release):
        return None
    if release < span.since:
        since = name_of(span.since)
        return f"it is read from release {since} on", f"update Koordinator to {since} or later"
    last = name_of(span.until)
    return f"release {last} was the last one to read it", "leave it out"


def unread_fields(
    found: Object, field: Field, given: Mapping[str, object], release: Version
) -> Iterator[Diagnostic]:
    """CP644 for fields of an annotation's value."""
    key = str(field[-1])
    known = FIELDS[key]
    by_letters = {name.lower(): name for name in known}
    for name in given:
        # Go finds fields whatever their letter case.
        span = known.get(by_letters.get(name.lower(), name))
        why = _other_release(span, release) if span else None
        if span is None:
            why = "no release has the field", did_you_mean(name, known)
        if why:
            yield found.finding(
                "CP644",
                field,
                name=f"{name} in {key}",
                release=name_of(release),
                problem=why[0],
                hint=why[1],
            )


def unreadable(found: Object, field: Field, error: KubeletError, example: str) -> Diagnostic:
    """CP640 with an example of the value."""
    hint = f"write it like {example}"
    return found.finding("CP640", field, key=field[-1], problem=error, hint=hint)
