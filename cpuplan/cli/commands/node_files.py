"""Files of nodes that `validate` is given: the kubelet's, CRI-O's and containerd's."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cpuplan.cli.commands.kubelet_files import check_files, drop_ins, release_of, split
from cpuplan.cli.commands.runtime_files import of_containerd, of_crio
from cpuplan.diagnostics import Diagnostic
from cpuplan.read.files import object_files
from cpuplan.text import joined

if TYPE_CHECKING:
    from cpuplan.model.intent import Target
    from cpuplan.simulate.kubeletfile import File

_CONTAINERD = "containerd/"


class NodeFiles(NamedTuple):
    """What the command line names.

    `others` are files that belong to the project, `refused` what is not read. `merged` are the
    kubelet's drop-ins, None without their folder; `runtimes` the configurations of CRI-O and
    containerd. `target` and `containerd` are the releases that are asked for.
    """

    configurations: "Sequence[File]"
    merged: "Sequence[File] | None"
    runtimes: tuple[Path | None, Path | None]
    target: str | None
    containerd: str | None
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
        rows = ((self.is_of_kubelet, "the kubelet"), (crio, "CRI-O"), (containerd, "containerd"))
        return [name for is_given, name in rows if is_given]

    def check(
        self, targets: "Iterable[Target]" = (), *, cgroup_v1: bool = False
    ) -> list[Diagnostic]:
        """What is wrong with them, for the releases of a project's targets."""
        targets, found = list(targets), list(self.refused)
        crio, containerd = self.runtimes
        if crio:
            # CRI-O has the versions of Kubernetes.
            found += of_crio(crio, release_of(self.target, targets)[0])
        if containerd:
            found += of_containerd(containerd, self.containerd, self.configurations, targets)
        if self.is_of_kubelet:
            found += check_files(
                self.configurations, self.target, targets, self.merged or (), cgroup_v1=cgroup_v1
            )
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
    configurations, others = split([path for listed in given for path in listed.files])
    merged = None
    if config_dir:
        merged, unread = drop_ins(config_dir)
        refused += unread
    target, containerd = _targets(wanted)
    return NodeFiles(configurations, merged, runtimes, target, containerd, others, refused)


def _targets(wanted: Sequence[str]) -> tuple[str | None, str | None]:
    """The release of the kubelet and CRI-O, and that of containerd."""
    of_containerd = [name for name in wanted if name.startswith(_CONTAINERD)]
    of_kubelet = [name for name in wanted if name not in of_containerd]
    for names in (of_kubelet, of_containerd):
        if len(names) > 1:
            raise click.UsageError(f"--target names two releases of one: {joined(names)}")
    releases = [name.removeprefix(_CONTAINERD) for name in of_containerd]
    return next(iter(of_kubelet), None), next(iter(releases), None)
