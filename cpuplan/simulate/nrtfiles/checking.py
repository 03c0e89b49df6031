"""An object as the API server takes it, and as NodeResourceTopologyMatch reads it."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.simulate.koordinatorfiles.objects import Object, objects
from cpuplan.simulate.nrtfiles import unread
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.quantity import parse
from cpuplan.upstream.nrt.api import KIND
from cpuplan.upstream.nrt.crd import DEFINITIONS, NOWHERE, admit, serves
from cpuplan.upstream.nrt.pluginhelpers import read_numa_nodes

#: The CRD that serves most; what one of the others does not serve is CP650.
_DEFINITION = DEFINITIONS["noderesourcetopology-api"]
_COLUMNS = ("capacity", "allocatable", "available")


def check_topologies(sources: Iterable[Source]) -> list[Diagnostic]:
    """CP655 to CP659 for the objects of this kind in files."""
    return [
        finding for found in objects(sources) if found.kind == KIND for finding in _check(found)
    ]


def _check(found: Object) -> Iterator[Diagnostic]:
    """What the API server refuses, nobody reads."""
    if not serves(found.data, _DEFINITION):
        served = " and ".join(_DEFINITION.served)
        problem = f"no CRD serves {found.data.get('apiVersion')}"
        yield found.finding(
            "CP655", ("apiVersion",), problem=problem, hint=f"write it in one of {served}"
        )
        return
    admission = admit(found.data, _DEFINITION)
    for error in admission.errors:
        if error != NOWHERE:
            yield _refused(found, error)
    for path in admission.pruned:
        place = found.source.key_at((*found.at, *_field(path)))
        yield diagnose("CP656", place, object=found.title, field=path)
    if not admission.errors:
        yield from _crash(found)
        yield from unread.check(found)
        yield from _amounts(found)


def _refused(found: Object, error: str) -> Diagnostic:
    kind, _, path = error.partition(": ")
    if kind == "Required value":
        parent, _, name = path.rpartition(".")
        hint = f"add {name}"
        return found.finding("CP655", _field(parent), problem=f"{path} is missing", hint=hint)
    hint = "write it as the API has it: `cpuplan explain CP655`"
    return found.finding("CP655", _field(path), problem=f"{path} is of another type", hint=hint)


def _field(path: str) -> Field:
    """`zones[0].name` as keys and places."""
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(place) if place else key for place, key in parts)


def _crash(found: Object) -> Iterator[Diagnostic]:
    """CP657: a score is kept at the number of its NUMA node, in a list of all of them."""
    try:
        nodes = read_numa_nodes(found.data["zones"])
    except PanicError as error:
        problem = f"{error}"
    else:
        beyond = [node.number for node in nodes if node.number >= len(nodes)]
        if not beyond:
            return
        numbers = ", ".join(str(node.number) for node in nodes)
        problem = f"it reads {len(nodes)} NUMA nodes with the numbers {numbers}"
    yield found.finding("CP657", ("zones",), problem=problem)


def _amounts(found: Object) -> Iterator[Diagnostic]:
    """CP659: zones of one name, and more available than allocatable, or than there is."""
    names: set[str] = set()
    for index, zone in enumerate(found.data["zones"]):
        if zone["name"] in names:
            problem = f"there are two zones {zone['name']}"
            yield found.finding("CP659", ("zones", index, "name"), problem=problem)
        names.add(zone["name"])
        for place, resource in enumerate(zone.get("resources") or ()):
            for more, less in pairwise(_COLUMNS):
                if _nano(resource[less]) > _nano(resource[more]):
                    field = ("zones", index, "resources", place, less)
                    problem = (
                        f"{resource['name']} of {zone['name']} has {less} {resource[less]}, "
                        f"but {more} {resource[more]}"
                    )
                    yield found.finding("CP659", field, problem=problem)


def _nano(amount: Any) -> int:
    return parse(str(amount)).nano
