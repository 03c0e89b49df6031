"""Tuned objects of others, as entries of the Cluster document.

A must-gather and files have the same objects. What the node tuning operator writes itself, or
cpuplan in its place, is no object of others.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.base.naming import is_subdomain
from cpuplan.base.text import printable
from cpuplan.diagnostics.source import Field

KIND = "Tuned"
#: The field of the Cluster document.
FIELD = "tuneds"
_OF_OPERATOR, _OF_PROFILE = ("default", "rendered"), "openshift-node-performance-"
_SYNC_OPTIONS, _CONFIRMED = "argocd.argoproj.io/sync-options", "Prune=confirm,Delete=confirm"
_LISTS = ("profile", "recommend")


def is_foreign(item: Mapping[str, Any]) -> bool:
    """Whether somebody else than the operator and cpuplan wrote a Tuned object."""
    metadata = _mapping(item.get("metadata"))
    name = str(metadata.get("name") or "")
    options = str(_mapping(metadata.get("annotations")).get(_SYNC_OPTIONS) or "")
    is_made = bool(metadata.get("ownerReferences")) or options.startswith(_CONFIRMED)
    if not is_subdomain(name) or name in _OF_OPERATOR:
        return False
    return not (name.startswith(_OF_PROFILE) and is_made)


def entry(item: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Field, Field]]:
    """The entry for an object, and the field of the object that each of its values is from.

    `Source.retold` makes a document with the places of the object's file of both.
    """
    spec = _mapping(item.get("spec"))
    data: dict[str, Any] = {"name": _mapping(item.get("metadata")).get("name")}
    places: dict[Field, Field] = {("name",): ("metadata", "name")}
    for key in _LISTS:
        if spec.get(key):
            data[key] = _clean(spec[key])
            places |= {field: ("spec", *field) for field in _fields(spec[key], (key,))}
    for recommended in data.get("recommend") or ():
        # A must-gather is read without types.
        if isinstance(recommended, dict) and str(recommended.get("priority")).isdecimal():
            recommended["priority"] = int(recommended["priority"])
    return data, places


def _fields(value: object, field: Field) -> Iterator[Field]:
    """A field and all that is in it."""
    yield field
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, child in inside:
        yield from _fields(child, (*field, key))


def _clean(value: Any) -> Any:
    """A value whose texts are lines without other control characters."""
    if isinstance(value, dict):
        return {key: _clean(child) for key, child in value.items()}
    if isinstance(value, list):
        return list(map(_clean, value))
    if not isinstance(value, str):
        return value
    return "\n".join(map(_line, value.replace("\r\n", "\n").split("\n")))


def _line(text: str) -> str:
    return "\t".join(map(printable, text.split("\t")))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
