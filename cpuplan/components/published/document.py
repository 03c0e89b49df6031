"""A NodeResourceTopology as settings, and settings as the object."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cpuplan.facts.settings.objects import NRT_POLICIES
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.nrt.api import KIND, NODE

LABELS, ANNOTATIONS, ATTRIBUTES = "labels.", "annotations.", "attributes."
VERSION, POLICIES, ZONES = "apiVersion", NRT_POLICIES.key, "zones."
_RESOURCES = "resources."
#: Of a zone that is no NUMA node: its type and parent, and its attributes.
PLACE, OF_ZONE = "place", "attributes"
_ZONE_FIELD = re.compile(r"(?P<zone>.+?)\.(?P<field>costs|place|attributes|resources\..+)")


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object without a name; attributes and resources by name."""
    values = {setting.key: setting.value for setting in settings}
    zones: dict[str, dict[str, Any]] = {}
    for key, value in _below(values, ZONES).items():
        name, field = zone_field(key)
        zone = zones.setdefault(name, {"name": name, "type": NODE, "costs": [], "resources": []})
        if isinstance(value, dict):
            _add(zone, field, value)
    attributes = _below(values, ATTRIBUTES)
    policies = values.get(POLICIES)
    made = {
        NRT_POLICIES.key: list(policies) if isinstance(policies, tuple) else [],
        "attributes": [{"name": name, "value": attributes[name]} for name in sorted(attributes)],
    }
    return {
        "apiVersion": values.get(VERSION, ""),
        "kind": KIND,
        "metadata": _filled(
            {"labels": _below(values, LABELS), "annotations": _below(values, ANNOTATIONS)}
        ),
        **_filled(made),
        "zones": list(map(_filled, zones.values())),
    }


def zone_field(key: str) -> tuple[str, str]:
    """The name of a zone and the field, from a key after the prefix: names may have points."""
    found = _ZONE_FIELD.fullmatch(key)
    if found is None:
        raise ValueError(f"no field of a zone: {key}")
    return found["zone"], found["field"]


def _below(values: Mapping[str, Value], prefix: str) -> dict[str, Value]:
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not empty lists or mappings."""
    return {key: value for key, value in fields.items() if value not in ([], {})}


def _add(zone: dict[str, Any], field: str, value: Mapping[str, Value]) -> None:
    if field in ("costs", OF_ZONE):
        zone[field] = [{"name": name, "value": one} for name, one in value.items()]
    elif field == PLACE:
        zone |= value
    else:
        resource = {"name": field.removeprefix(_RESOURCES), **value}
        zone["resources"] = sorted([*zone["resources"], resource], key=_name)


def _name(item: Mapping[str, Any]) -> str:
    return str(item["name"])


def settings_of(data: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of an object, which may have further zones, attributes and annotations."""
    metadata = data.get("metadata") or {}
    found: dict[str, Value] = {VERSION: data.get("apiVersion", "")}
    found |= {f"{LABELS}{key}": text for key, text in (metadata.get("labels") or {}).items()}
    annotations = metadata.get("annotations") or {}
    found |= {f"{ANNOTATIONS}{key}": text for key, text in annotations.items()}
    found |= {f"{ATTRIBUTES}{item['name']}": item["value"] for item in data.get("attributes") or ()}
    if policies := data.get(NRT_POLICIES.key):
        found[POLICIES] = tuple(policies)
    for zone in data.get("zones") or ():
        found |= _of_zone(f"{ZONES}{zone['name']}", zone)
    return found


def _of_zone(key: str, zone: Mapping[str, Any]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if zone.get("type", NODE) != NODE:
        place: dict[str, Value] = {"type": zone["type"]}
        found[f"{key}.{PLACE}"] = place | ({"parent": zone["parent"]} if "parent" in zone else {})
    if zone.get(OF_ZONE):
        found[f"{key}.{OF_ZONE}"] = {one["name"]: one["value"] for one in zone[OF_ZONE]}
    if zone.get("costs"):
        found[f"{key}.costs"] = {cost["name"]: cost["value"] for cost in zone["costs"]}
    for item in zone.get("resources") or ():
        amounts: Value = {name: str(value) for name, value in item.items() if name != "name"}
        found[f"{key}.{_RESOURCES}{item['name']}"] = amounts
    return found
