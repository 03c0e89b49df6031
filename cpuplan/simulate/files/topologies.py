"""NodeResourceTopology objects that people write or collect: what their readers make of them.

The API server may refuse one, NodeResourceTopologyMatch may read another thing than is meant, or
pass over a part without a word (CP658).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.facts.settings.objects import NRT_POLICIES
from cpuplan.simulate.files.objects import Object, objects
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import parse
from cpuplan.upstream.nrt.api import KIND, MAX_NUMA_NODES, NODE, POLICY, SCOPE, NrtError, zone_id
from cpuplan.upstream.nrt.crd import DEFINITIONS, NOWHERE, admit, serves
from cpuplan.upstream.nrt.pluginhelpers import (
    LEGACY,
    POLICIES,
    SCOPES,
    SINGLE,
    TABLE,
    TopologyManager,
    read_numa_nodes,
    read_topology_manager,
)

_NONE = "None"
_WORDS = {POLICY: POLICIES, SCOPE: SCOPES}


def check_unread(manifest: Object) -> Iterator[Diagnostic]:
    """Policies, attributes and zones that are not read."""
    for field, value, hint in (*_policies(manifest), *_attributes(manifest), *_zones(manifest)):
        yield manifest.finding("CP658", field, value=value, hint=hint)


def _policies(manifest: Object) -> Iterator[tuple[Field, str, str]]:
    given = manifest.data.get(NRT_POLICIES.key) or ()
    for index, policy in enumerate(given):
        field = (NRT_POLICIES.key, index)
        if index:
            yield field, policy, "leave one policy: the first one counts"
        elif policy != _NONE and policy not in LEGACY:
            yield field, policy, f"use one of {joined([*LEGACY, _NONE])}"


def _attributes(manifest: Object) -> Iterator[tuple[Field, str, str]]:
    for index, attribute in enumerate(manifest.data.get("attributes") or ()):
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


def _zones(manifest: Object) -> Iterator[tuple[Field, str, str]]:
    hint = "call the zone of NUMA node 0 node-0"
    for index, zone in enumerate(manifest.data["zones"]):
        if zone["type"] != NODE:
            continue
        try:
            number = zone_id(zone["name"])
        except NrtError:
            yield ("zones", index, "name"), zone["name"], hint
        else:
            if number > TABLE:
                yield ("zones", index, "name"), zone["name"], f"number zones from 0 to {TABLE - 1}"


#: The CRD that serves most; what one of the others does not serve is CP650.
_DEFINITION = DEFINITIONS["noderesourcetopology-api"]
_COLUMNS = ("capacity", "allocatable", "available")


def check_topologies(sources: Iterable[Source]) -> list[Diagnostic]:
    """CP651 and CP655 to CP659 for the objects of this kind in files."""
    problems: list[Diagnostic] = []
    for manifest in objects(sources):
        if manifest.kind == KIND:
            problems += _check(manifest)
    return problems


def _check(manifest: Object) -> Iterator[Diagnostic]:
    """What the API server refuses, nobody reads."""
    if not serves(manifest.data, _DEFINITION):
        served = " and ".join(_DEFINITION.served)
        problem = f"no CRD serves {manifest.data.get('apiVersion')}"
        yield manifest.finding(
            "CP655", ("apiVersion",), problem=problem, hint=f"write it in one of {served}"
        )
        return
    admission = admit(manifest.data, _DEFINITION)
    for error in admission.errors:
        if error != NOWHERE:
            yield _refused(manifest, error)
    for path in admission.pruned:
        place = manifest.source.key_at((*manifest.at, *_field(path)))
        yield diagnose("CP656", place, object=manifest.title, field=path)
    if not admission.errors:
        yield from _crash(manifest)
        yield from check_unread(manifest)
        yield from _amounts(manifest)
        yield from _without_amounts(manifest)


def _refused(manifest: Object, error: str) -> Diagnostic:
    kind, _, path = error.partition(": ")
    if kind == "Required value":
        parent, _, name = path.rpartition(".")
        hint = f"add {name}"
        return manifest.finding("CP655", _field(parent), problem=f"{path} is missing", hint=hint)
    hint = "write it as the API has it: `cpuplan explain CP655`"
    return manifest.finding("CP655", _field(path), problem=f"{path} is of another type", hint=hint)


def _field(path: str) -> Field:
    """`zones[0].name` as keys and places."""
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(place) if place else key for place, key in parts)


def _crash(manifest: Object) -> Iterator[Diagnostic]:
    """CP657: a score is kept at the number of its NUMA node, in a list of all of them."""
    try:
        nodes = read_numa_nodes(manifest.data["zones"])
    except PanicError as error:
        problem = f"{error}"
    else:
        beyond = [node.number for node in nodes if node.number >= len(nodes)]
        if not beyond:
            return
        numbers = ", ".join(str(node.number) for node in nodes)
        problem = f"it reads {len(nodes)} NUMA nodes with the numbers {numbers}"
    yield manifest.finding("CP657", ("zones",), problem=problem)


def _amounts(manifest: Object) -> Iterator[Diagnostic]:
    """CP659: zones of one name, and more available than allocatable, or than there is."""
    names: set[str] = set()
    for index, zone in enumerate(manifest.data["zones"]):
        if zone["name"] in names:
            problem = f"there are two zones {zone['name']}"
            yield manifest.finding("CP659", ("zones", index, "name"), problem=problem)
        names.add(zone["name"])
        for place, resource in enumerate(zone.get("resources") or ()):
            for more, less in pairwise(_COLUMNS):
                if _nano(resource[less]) > _nano(resource[more]):
                    field = ("zones", index, "resources", place, less)
                    problem = (
                        f"{resource['name']} of {zone['name']} has {less} {resource[less]}, "
                        f"but {more} {resource[more]}"
                    )
                    yield manifest.finding("CP659", field, problem=problem)


def _without_amounts(manifest: Object) -> Iterator[Diagnostic]:
    """CP651: the filter refuses requests of CPUs or memory that no zone has."""
    zones = [zone for zone in manifest.data["zones"] if zone["type"] == NODE]
    if read_topology_manager(manifest.data).policy != SINGLE or not zones:
        return
    offered = {resource["name"] for zone in zones for resource in zone.get("resources") or ()}
    lacking = [word for name, word in ((CPU, "CPUs"), (MEMORY, "memory")) if name not in offered]
    if lacking:
        name = manifest.data["metadata"]["name"]
        nodes, because = f"node {name}", "no zone has any"
        what = " or ".join(lacking)
        yield manifest.finding("CP651", ("zones",), nodes=nodes, because=because, what=what)


def _nano(amount: Any) -> int:
    return parse(str(amount)).nano
