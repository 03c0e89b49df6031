"""What of an object the plugin passes over without a word: CP658."""

from collections.abc import Iterator
from typing import Any

from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.upstream.nrt.api import MAX_NUMA_NODES, NODE, POLICY, SCOPE, NrtError, zone_id
from cpuplan.upstream.nrt.pluginhelpers import (
    LEGACY,
    POLICIES,
    SCOPES,
    TABLE,
    TopologyManager,
    read_topology_manager,
)

_NONE = "None"
_WORDS = {POLICY: POLICIES, SCOPE: SCOPES}


def check(found: Object) -> Iterator[Diagnostic]:
    """Policies, attributes and zones that are not read."""
    for field, value, hint in (*_policies(found), *_attributes(found), *_zones(found)):
        yield found.finding("CP658", field, value=value, hint=hint)


def _policies(found: Object) -> Iterator[tuple[Field, str, str]]:
    given = found.data.get("topologyPolicies") or ()
    for index, policy in enumerate(given):
        field = ("topologyPolicies", index)
        if index:
            yield field, policy, "leave one policy: the first one counts"
        elif policy != _NONE and policy not in LEGACY:
            yield field, policy, f"use one of {joined([*LEGACY, _NONE])}"


def _attributes(found: Object) -> Iterator[tuple[Field, str, str]]:
    for index, attribute in enumerate(found.data.get("attributes") or ()):
        name, value = attribute["name"], attribute["value"]
        field = ("attributes", index, "value")
        if name in _WORDS and value not in _WORDS[name]:
            yield field, value, f"use one of {joined(_WORDS[name])}, as the kubelet writes them"
        elif name == MAX_NUMA_NODES and not _counts(attribute):
            yield field, value, "use a whole number from 2 on"


def _counts(attribute: dict[str, Any]) -> bool:
    """Whether a number is read: in place of another one, so that the default tells nothing."""
    other = {"name": MAX_NUMA_NODES, "value": str(TopologyManager().max_numa_nodes + 1)}
    read = read_topology_manager({"attributes": [other, attribute]})
    return read != read_topology_manager({"attributes": [other]}) or attribute == other


def _zones(found: Object) -> Iterator[tuple[Field, str, str]]:
    hint = "call the zone of NUMA node 0 node-0"
    for index, zone in enumerate(found.data["zones"]):
        if zone["type"] != NODE:
            continue
        try:
            number = zone_id(zone["name"])
        except NrtError:
            yield ("zones", index, "name"), zone["name"], hint
        else:
            if number > TABLE:
                yield ("zones", index, "name"), zone["name"], f"number zones from 0 to {TABLE - 1}"
