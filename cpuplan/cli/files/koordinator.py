"""Objects of Koordinator on the command line: pods, nodes, ConfigMaps, profiles."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.cli.output import shown_path

if TYPE_CHECKING:
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.diagnostics.source import Source
    from cpuplan.language.model.intent import Target
    from cpuplan.platforms.versions import Version

#: Text that every object of Koordinator has somewhere, or one that others read too.
_WORDS = (b"koordinator", b"slo-controller-config", b"koord-", b"NodeResourceTopology")


def split(
    paths: Iterable[Path], wanted: str | None
) -> tuple[list["Source"], list["Diagnostic"], list[Path]]:
    """The documents of files that are Koordinator's, what is wrong with these, all other files.

    With a release that is `wanted`, pods and nodes are, even if they say nothing of Koordinator.
    """
    found: list[Source] = []
    problems: list[Diagnostic] = []
    others = []
    for path in paths:
        read = _read(path, is_wanted=bool(wanted))
        if read is None:
            others.append(path)
        else:
            found += read[0]
            problems += read[1]
    return found, problems, others


def _read(path: Path, *, is_wanted: bool) -> "tuple[list[Source], list[Diagnostic]] | None":
    try:
        text = read_regular(path)
    except Unreadable:
        return None  # said by who reads all others
    if not is_wanted and not any(word in text for word in _WORDS):
        return None
    from cpuplan.language.read.manifests import read_file
    from cpuplan.simulate.koordinatorfiles.checking import are_koordinators

    read = read_file(path, shown_path(path))
    return read if are_koordinators(read[0]) else None


def reader(sources: Sequence["Source"]) -> str:
    """Whose objects these are, for people."""
    from cpuplan.simulate.koordinatorfiles.objects import NRT, objects

    is_other = all(found.kind == NRT for found in objects(sources))
    return "NodeResourceTopologyMatch" if is_other else "Koordinator"


def check(
    sources: Sequence["Source"], wanted: str | None, targets: "Iterable[Target]" = ()
) -> list["Diagnostic"]:
    """What Koordinator of the release makes of the objects, and others of their topologies."""
    from cpuplan.simulate.koordinatorfiles import checking
    from cpuplan.simulate.nrtfiles.checking import check_topologies

    found = checking.check(sources, _release(wanted, targets))
    return [*found, *check_topologies(sources)]


def _release(wanted: str | None, targets: "Iterable[Target]") -> "Version":
    """The one that all targets with Koordinator share, or the newest, unless one is wanted."""
    from cpuplan.simulate.koordinatorfiles.checking import release_of
    from cpuplan.upstream.koordinator.extension.releases import RELEASES, name_of

    known = {name_of(release): release for release in RELEASES}
    if wanted and wanted not in known:
        raise click.BadParameter(
            f"koordinator/{wanted} is not a known release; use one of {', '.join(known)}",
            param_hint="--target",
        )
    return known[wanted] if wanted else release_of(targets)
