"""Nodes documents to groups of nodes: names written out, each node once."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.base import naming
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.name_ranges import expand_names
from cpuplan.base.text import clip, did_you_mean
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import catalog
from cpuplan.language.model.inventory import Device, NodeGroup, NodesSpec
from cpuplan.language.read.documents import Document, Documents

#: The most nodes that ranges of names give in one project. The largest fleet that was measured has
#: 200,000, and each takes about half a kilobyte in every stage.
MOST_IN_RANGES = 500_000
#: Characters of names that a message repeats.
_SHOWN = 100


class Group(NamedTuple):
    """Nodes of one group of a Nodes document: the same hardware, labels and facts."""

    document: Document
    number: int  # of the group in its document
    cluster: str
    names: tuple[str, ...]
    hardware: str
    labels: dict[str, str]
    offline: CpuSet
    devices: tuple[Device, ...]


def build(documents: Documents, diagnostics: list[Diagnostic]) -> list[Group]:
    """The groups of all Nodes documents; what is wrong with them is added to `diagnostics`."""
    groups = list(_groups(documents, diagnostics))
    _check_unique(groups, diagnostics)
    return groups


def _groups(documents: Documents, diagnostics: list[Diagnostic]) -> Iterator[Group]:
    known = {document.name for document in documents.of_kind("Hardware")}
    in_ranges = 0
    for document in documents.of_kind("Nodes"):
        spec: NodesSpec = document.spec
        for index, group in enumerate(spec.nodes):
            names = _names(document, index, group, diagnostics)
            in_ranges += len(names) if len(names) > 1 else 0
            if len(names) > 1 and in_ranges > MOST_IN_RANGES:
                problem = f"the ranges of a project expand to at most {MOST_IN_RANGES:,} names"
                place = document.at("nodes", index, "name")
                diagnostics.append(unreadable(place, group.name, problem))
                names = ()
            named = group.hardware or spec.hardware
            if named is None:
                diagnostics.append(
                    diagnose(
                        "CP223", document.at("nodes", index, "name"), name=clip(group.name, _SHOWN)
                    )
                )
            elif named not in known and not documents.may_define("Hardware", named):
                place = (
                    document.at("nodes", index, "hardware")
                    if group.hardware
                    else document.at("hardware")
                )
                diagnostics.append(
                    diagnose("CP222", place, hardware=named, hint=_hardware_hint(named, known))
                )
            labels = {**spec.labels, **group.labels}
            yield Group(
                document,
                index,
                spec.cluster,
                names,
                named or "",
                labels,
                group.offline or EMPTY,
                group.devices,
            )


def _hardware_hint(name: str, known: set[str]) -> str:
    if catalog.find(name):
        return f"`cpuplan catalog {name}` copies it from the catalogue into inventories/"
    if known:
        return did_you_mean(name, known)
    return "define it in a Hardware document under inventories/"


def _names(
    document: Document, index: int, group: NodeGroup, diagnostics: list[Diagnostic]
) -> tuple[str, ...]:
    place = document.at("nodes", index, "name")
    try:
        names = tuple(expand_names(group.name))
    except ValueError as error:
        diagnostics.append(unreadable(place, group.name, str(error)))
        return ()
    for name in names:
        problem = naming.problem_of(name, naming.LONGEST_NODE)
        if problem:
            problem = f"{clip(name, _SHOWN)!r} {problem}"
            diagnostics.append(unreadable(place, group.name, problem))
            return ()
    return names


def unreadable(place: Position | None, names: str, problem: str) -> Diagnostic:
    """CP228: text that should be the name of a node, or a range of names."""
    return diagnose("CP228", place, name=clip(names, _SHOWN), problem=problem)


def _check_unique(groups: Iterable[Group], diagnostics: list[Diagnostic]) -> None:
    seen: dict[tuple[str, str], Group] = {}
    for group in groups:
        for name in group.names:
            first = seen.setdefault((group.cluster, name), group)
            if first is not group:
                diagnostics.append(
                    diagnose(
                        "CP224",
                        group.document.at("nodes", group.number, "name"),
                        labels=[
                            Label(first.document.at("nodes", first.number, "name"), "the first one")
                        ],
                        node=name,
                        cluster=group.cluster,
                    )
                )
                break
