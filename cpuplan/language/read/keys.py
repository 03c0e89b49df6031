"""What the schema of a document knows at a place, and what an unknown key was meant to be."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cpuplan.base.text import did_you_mean, nearest
from cpuplan.diagnostics.source import Field
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET, SHARED_CPUSET
from cpuplan.facts.settings.kernel import IRQAFFINITY, ISOLCPUS, NOHZ_FULL, RCU_NOCBS
from cpuplan.facts.settings.kubelet import RESERVED_CPUS
from cpuplan.language.model import base
from cpuplan.language.model.base import Model


def known_keys(model: type[Model], location: Field) -> list[str]:
    """The keys of the mapping at `location`."""
    return list(schema_at(model, location).get("properties", ()))


def schema_at(model: type[Model], location: Field) -> dict[str, Any]:
    """The JSON Schema of the value at `location`: what an editor would know there."""
    whole = base.schema_of_model(model)
    schema: dict[str, Any] = whole
    for part in location:
        schema = resolve(schema, whole)
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            schema = (
                schema.get("properties", {}).get(part) or schema.get("additionalProperties") or {}
            )
        if not isinstance(schema, dict):
            return {}
    return resolve(schema, whole)


def resolve(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and take the mapping (else the first) of several forms."""
    while True:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in schema:
            forms = [resolve(form, whole) for form in schema["anyOf"]]
            schema = next((form for form in forms if "properties" in form), forms[0])
        else:
            return schema


#: Settings that people know from the targets, and that no field of an intent has the name of.
_COMPUTED = (
    RESERVED_CPUS,
    ISOLCPUS,
    NOHZ_FULL,
    RCU_NOCBS,
    IRQAFFINITY,
    SHARED_CPUSET,
    INFRA_CTR_CPUSET,
)
#: The fields of an intent that they follow from, and a PerformanceProfile's own word.
FOLLOWS_FROM = {
    **{row.key.lower(): row.field for row in _COMPUTED},
    "reservedcpus": RESERVED_CPUS.field,
}


class Unknown(NamedTuple):
    """The remedy for a key, and the fields that are there once it is written right."""

    hint: str
    meant: frozenset[Field]


def unknown(model: type[Model], top: Field, location: Field) -> Unknown:
    """The key at `location` of a model's mapping, which stands at `top`."""
    *parents, key = location
    word, known = str(key), known_keys(model, tuple(parents))
    if word.lower() in FOLLOWS_FROM:
        return Unknown(remedy(word, known), frozenset())
    places = _elsewhere(model, word)
    if len(places) in (1, 2):
        shown = " or ".join(".".join(map(str, (*top, *place))) for place in places)
        ways = [(*place, word) for place in places]
        return Unknown(
            f"write it under {shown}",
            frozenset(way[:end] for way in ways for end in range(1, len(way) + 1)),
        )
    near = nearest(word, known)
    return Unknown(did_you_mean(word, known), frozenset([(*parents, near)] if near else []))


def remedy(key: str, known: Iterable[str]) -> str:
    """The end of a remedy for a key that nobody knows."""
    if source := FOLLOWS_FROM.get(key.lower()):
        return f"remove it: it follows from {source}"
    return did_you_mean(key, known)


def _elsewhere(model: type[Model], key: str) -> list[Field]:
    """The mappings of a document, two levels down, that know the key."""
    whole = base.schema_of_model(model)
    paths: list[Field] = []
    todo: list[tuple[Field, dict[str, Any]]] = [((), whole)]
    for path, schema in todo:
        known = resolve(schema, whole).get("properties", {})
        if key in known:
            paths.append(path)
        if len(path) <= 1:
            todo += [((*path, name), below) for name, below in known.items()]
    return paths
