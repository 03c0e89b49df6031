"""KubeletConfiguration files on the command line."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan import platforms
from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.files.listing import list_files
from cpuplan.base.text import joined
from cpuplan.cli.output import shown_path
from cpuplan.diagnostics import Diagnostic
from cpuplan.platforms import versions

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target
    from cpuplan.simulate.kubeletfile import File

#: KEP-3983.
_FIRST_WITH_DROP_INS: versions.Version = (1, 28)

#: Characters of a KubeletConfiguration: people write some kB. Larger ones are nothing that is
#: known.
_MAX_TEXT = 256 * 1024


def split(paths: Iterable[Path]) -> tuple[list["File"], list[Path]]:
    """The KubeletConfigurations, and the paths of all other files."""
    configurations, others = [], []
    for path in paths:
        try:
            text = _text(path)
        except Unreadable:
            text = ""  # said by who reads all others
        if "KubeletConfiguration" in text and len(text) <= _MAX_TEXT:
            from cpuplan.simulate.kubeletfile import File, is_kubelet_configuration

            if is_kubelet_configuration(text):
                configurations.append(File(shown_path(path), text))
                continue
        others.append(path)
    return configurations, others


def _text(path: Path) -> str:
    return read_regular(path).decode("utf-8-sig", errors="replace")


def drop_ins(folder: Path) -> tuple[list["File"], list[Diagnostic]]:
    """What the kubelet merges of its folder `--config-dir`, in its order: each file `*.conf`."""
    from cpuplan.language.read.files import refusal
    from cpuplan.simulate.kubeletfile import File

    listing = list_files(folder, within=folder, suffixes=(".conf",), hidden=True)
    problems = [refusal(shown_path(path), error) for path, error in listing.problems]
    files = []
    for path in listing.files:
        try:
            files.append(File(shown_path(path), _text(path)))
        except Unreadable as error:
            problems.append(refusal(shown_path(path), error))
    return files, problems


def check_files(
    files: Sequence["File"],
    wanted: str | None,
    targets: "Iterable[Target]" = (),
    merged: Sequence["File"] = (),
    *,
    cgroup_v1: bool = False,
) -> list[Diagnostic]:
    """What a kubelet of the release would refuse of each, on hosts with that version of cgroups.

    `merged` are the drop-ins that it merges over the file.
    """
    from cpuplan.simulate import kubeletfile

    version, openshift = release_of(wanted, targets)
    if merged and len(files) > 1:
        names = joined([file.path for file in files])
        raise click.UsageError(f"--config-dir is for one KubeletConfiguration, not for {names}")
    if merged and version < _FIRST_WITH_DROP_INS:
        raise click.UsageError("the kubelet has --config-dir since Kubernetes 1.28")
    return [
        finding
        for file in files or [kubeletfile.NO_FILE]
        for finding in kubeletfile.check(
            file, version, merged, openshift=openshift, cgroup_v1=cgroup_v1
        )
    ]


def release_of(wanted: str | None, targets: "Iterable[Target]") -> tuple[versions.Version, bool]:
    """The version, and whether it is OpenShift's.

    Without `wanted` it is the release that all targets share, or the newest one.
    """
    from cpuplan.upstream.kubernetes.kube_features import LATEST

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
