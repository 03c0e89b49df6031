"""KubeletConfiguration files on the command line."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan import platforms, versions
from cpuplan.cli.output import shown_path
from cpuplan.diagnostics import Diagnostic
from cpuplan.files import Unreadable, read_regular

if TYPE_CHECKING:
    from cpuplan.model.intent import Target


#: Characters of a KubeletConfiguration: people write some kB. Larger ones are nothing that is
#: known.
_MAX_TEXT = 256 * 1024


def split(paths: Iterable[Path]) -> tuple[list[tuple[str, str]], list[Path]]:
    """(path, text) of the KubeletConfigurations, and the paths of all other files."""
    configurations, others = [], []
    for path in paths:
        try:
            text = read_regular(path).decode("utf-8-sig", errors="replace")
        except Unreadable:
            text = ""  # said by who reads all others
        if "KubeletConfiguration" in text and len(text) <= _MAX_TEXT:
            from cpuplan.simulate.kubeletfile import is_kubelet_configuration

            if is_kubelet_configuration(text):
                configurations.append((shown_path(path), text))
                continue
        others.append(path)
    return configurations, others


def check_files(
    files: Sequence[tuple[str, str]],
    wanted: str | None,
    targets: "Iterable[Target]" = (),
    *,
    cgroup_v1: bool = False,
) -> list[Diagnostic]:
    """What a kubelet of the release would refuse of each, on hosts with that version of cgroups."""
    from cpuplan.simulate import kubeletfile

    version, openshift = _release(wanted, targets)
    return [
        finding
        for path, text in files
        for finding in kubeletfile.check(
            path, text, version, openshift=openshift, cgroup_v1=cgroup_v1
        )
    ]


def _release(wanted: str | None, targets: "Iterable[Target]") -> tuple[versions.Version, bool]:
    """The version, and whether it is OpenShift's.

    Without `wanted` it is the release that all targets share, or the newest one.
    """
    from cpuplan.kubelet.releases.features import LATEST

    releases = {f"{target.platform}/{target.version}" for target in targets}
    name = wanted or (releases.pop() if len(releases) == 1 else "")
    known_as, _, release = name.partition("/")
    platform = platforms.PLATFORMS.get(known_as)
    version = platform.releases.get(release) if platform else None
    if wanted and version is None:
        known = ", ".join(map(_range, platforms.PLATFORMS.values()))
        raise click.BadParameter(
            f"{wanted!r} is not a known release; use one of {known}", param_hint="--target"
        )
    return version or LATEST, platform is not None and platform.forks_kubelet


def _range(platform: platforms.Platform) -> str:
    """`kubernetes/1.27 to 1.37`."""
    first, *_, last = platform.releases
    return f"{platform.name}/{first} to {last}"
