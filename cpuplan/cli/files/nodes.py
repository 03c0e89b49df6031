"""Files of nodes that `validate` is given: the kubelet's, CRI-O's, containerd's, Koordinator's."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cpuplan.base.text import joined
from cpuplan.cli.files import koordinator
from cpuplan.cli.files.kubelet import check_files, drop_ins, release_of, split
from cpuplan.cli.files.runtimes import of_containerd, of_crio
from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read.files import object_files

if TYPE_CHECKING:
    from cpuplan.diagnostics.source import Source
    from cpuplan.language.model.intent import Target
    from cpuplan.simulate.kubeletfile import File

_CONTAINERD, _KOORDINATOR = "containerd/", "koordinator/"


class Wanted(NamedTuple):
    """The releases that are asked for: of the kubelet and CRI-O, containerd, Koordinator."""

    target: str | None = None
    containerd: str | None = None
    koordinator: str | None = None


class NodeFiles(NamedTuple):
    """What the command line names.

    `others` are files that belong to the project, `refused` what is not read. `merged` are the
    kubelet's drop-ins, None without their folder; `runtimes` the configurations of CRI-O and
    containerd, and `objects` what Koordinator reads.
    """

    configurations: "Sequence[File]"
    merged: "Sequence[File] | None"
    runtimes: tuple[Path | None, Path | None]
    objects: "Sequence[Source]"
    wanted: Wanted
    others: Sequence[Path]
    refused: Sequence[Diagnostic]

    @property
    def is_of_kubelet(self) -> bool:
        """Whether there is something for the kubelet."""
        return bool(self.configurations) or self.merged is not None

    @property
    def readers(self) -> list[str]:
        """Whose files these are, for people."""
        crio, containerd = self.runtimes
        rows = (
            (self.is_of_kubelet, "the kubelet"),
            (crio, "CRI-O"),
            (containerd, "containerd"),
            (self.objects, koordinator.reader(self.objects) if self.objects else ""),
        )
        return [name for is_given, name in rows if is_given]

    def check(
        self, targets: "Iterable[Target]" = (), *, cgroup_v1: bool = False
    ) -> list[Diagnostic]:
        """What is wrong with them, for the releases of a project's targets."""
        targets, found = list(targets), list(self.refused)
        crio, containerd = self.runtimes
        if crio:
            # CRI-O has the versions of Kubernetes.
            found += of_crio(crio, release_of(self.wanted.target, targets)[0])
        if containerd:
            release = self.wanted.containerd
            found += of_containerd(containerd, release, self.configurations, targets)
        if self.is_of_kubelet:
            release, merged = self.wanted.target, self.merged or ()
            found += check_files(self.configurations, release, targets, merged, cgroup_v1=cgroup_v1)
        if self.objects:
            found += koordinator.check(self.objects, self.wanted.koordinator, targets)
        return found


def read(
    files: Iterable[Path],
    config_dir: Path | None,
    runtimes: tuple[Path | None, Path | None],
    wanted: Sequence[str],
) -> NodeFiles:
    """The files of the command line, told apart."""
    given = [object_files(path) for path in files]
    refused = [problem for listed in given for problem in listed.diagnostics]
    releases = _targets(wanted)
    configurations, rest = split([path for listed in given for path in listed.files])
    objects, problems, others = koordinator.split(rest, releases.koordinator)
    refused += problems
    merged = None
    if config_dir:
        merged, unread = drop_ins(config_dir)
        refused += unread
    return NodeFiles(configurations, merged, runtimes, objects, releases, others, refused)


def _targets(wanted: Sequence[str]) -> Wanted:
    """The releases by whose they are."""
    prefixes = (_CONTAINERD, _KOORDINATOR)
    groups = [[name for name in wanted if not name.startswith(prefixes)]]
    groups += [[name for name in wanted if name.startswith(prefix)] for prefix in prefixes]
    for names in groups:
        if len(names) > 1:
            raise click.UsageError(f"--target names two releases of one: {joined(names)}")
    of_kubelet, *others = (next(iter(names), None) for names in groups)
    releases = (name and name.partition("/")[2] for name in others)
    return Wanted(of_kubelet, *releases)
