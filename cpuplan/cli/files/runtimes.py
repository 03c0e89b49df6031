"""Files of container runtimes on the command line: a copy of /etc/crio or of /etc/containerd."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.platforms import versions

if TYPE_CHECKING:
    from cpuplan.check.roots.root import Root
    from cpuplan.language.model.intent import Target
    from cpuplan.simulate.kubeletfile import File

#: Where containerd's configuration is on nodes, and its main file.
_ETC, _MAIN = "/etc/containerd", "config.toml"


def of_crio(folder: Path, release: versions.Version) -> list[Diagnostic]:
    """What is wrong with a copy of /etc/crio, and what of it is not read."""
    from cpuplan.check.roots.root import Root
    from cpuplan.check.runtimes import crio_files

    root = Root(folder)
    return [*crio_files.findings(root, "", release), *_unread(root)]


def of_containerd(
    path: Path, wanted: str | None, kubelet: "Sequence[File]", targets: "Iterable[Target]"
) -> list[Diagnostic]:
    """What is wrong with config.toml or a copy of its folder, for a release and a kubelet."""
    from cpuplan.check.roots.root import Root
    from cpuplan.check.runtimes import containerd_files

    folder, name = (path, _MAIN) if path.is_dir() else (path.parent, path.name)
    root = Root(folder)
    if not root.is_file(name):
        raise click.BadParameter(f"there is no {name} in {folder}", param_hint="--containerd")
    copy = _Copy(root)
    files = containerd_files.Files(copy.read, copy.names, copy.shown)
    release, driver = _release(wanted, targets), _driver(kubelet)
    found = list(containerd_files.findings(files, f"{_ETC}/{name}", release, driver))
    missed = (diagnose("CP855", path=path, folder=str(folder)) for path in sorted(copy.outside))
    return [*found, *missed, *_unread(root)]


class _Copy:
    """A folder that is /etc/containerd on nodes, or is where it was found; `outside` is missed."""

    def __init__(self, root: "Root") -> None:
        self.root = root
        self.outside: set[str] = set()

    def read(self, path: str) -> str | None:
        """The text of a file; empty outside of the folder, where nothing is known of it."""
        inside = self._inside(path)
        return "" if inside is None else self.root.read(inside)

    def names(self, path: str) -> list[str]:
        """The names in a folder."""
        inside = self._inside(path)
        return [] if inside is None else self.root.names(inside)

    def shown(self, path: str) -> str:
        """The path of the copy."""
        inside = self._inside(path)
        return path if inside is None else self.root.shown(inside)

    def _inside(self, path: str) -> str | None:
        for folder in (_ETC, str(self.root.folder)):
            if path == folder or path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :]
        self.outside.add(path)
        return None


def _release(wanted: str | None, targets: "Iterable[Target]") -> versions.Version:
    """What is asked for, else what all targets with containerd share, else the newest."""
    from cpuplan.language.model.intent import Target

    known = get_args(Target.model_fields["containerd"].annotation)
    if wanted and wanted not in known:
        text = f"{wanted!r} is no known release of containerd; use one of {', '.join(known)}"
        raise click.BadParameter(text, param_hint="--target")
    stated = {target.containerd for target in targets if target.runtime == "containerd"}
    return versions.from_text(wanted or (stated.pop() if len(stated) == 1 else known[-1]))


def _driver(kubelet: "Sequence[File]") -> str:
    """The cgroupDriver of a KubeletConfiguration that is given too; else kubeadm's."""
    from cpuplan.upstream.kubelet.config.codec import raw_fields

    stated = (raw_fields(file.text).get("cgroupDriver") for file in kubelet)
    return str(next((driver for driver in stated if driver), "systemd"))


def _unread(root: "Root") -> list[Diagnostic]:
    return [diagnose("CP805", path=path, problem=why) for path, why in root.refused.items()]
