"""Files of nodes that `validate` is given, and what reads them.

They are the kubelet's, CRI-O's, containerd's and Koordinator's.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cpuplan.base.files import Unreadable, list_files, read_regular
from cpuplan.base.text import joined
from cpuplan.cli.output import shown_path
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.facts import platforms, programs, versions
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.language.read.files import object_files

if TYPE_CHECKING:
    from cpuplan.check.roots.root import Root
    from cpuplan.diagnostics.source import Source
    from cpuplan.facts.versions import Version
    from cpuplan.language.model.intent import Target
    from cpuplan.simulate.files.kubelet_configuration import File
    from cpuplan.simulate.files.kubelet_documents import Documents


#: Text that every object of Koordinator has somewhere, or one that others read too.
_WORDS = (b"koordinator", b"slo-controller-config", b"koord-", b"NodeResourceTopology")


def split_koordinator(
    paths: Iterable[Path], wanted: str | None
) -> tuple[list["Source"], list["Diagnostic"], list[Path]]:
    """The documents of files that are Koordinator's, what is wrong with these, all other files.

    With a release that is `wanted`, pods and nodes are, even if they say nothing of Koordinator.
    """
    sources: list[Source] = []
    problems: list[Diagnostic] = []
    others = []
    for path in paths:
        read = _read(path, is_wanted=bool(wanted))
        if read is None:
            others.append(path)
        else:
            sources += read[0]
            problems += read[1]
    return sources, problems, others


def _read(path: Path, *, is_wanted: bool) -> "tuple[list[Source], list[Diagnostic]] | None":
    try:
        text = read_regular(path)
    except Unreadable:
        return None  # said by who reads all others
    if not is_wanted and not any(word in text for word in _WORDS):
        return None
    from cpuplan.language.read.manifests import read_file
    from cpuplan.simulate.files.koordinator import are_koordinators

    read = read_file(path, shown_path(path))
    return read if are_koordinators(read[0]) else None


def koordinator_reader(sources: Sequence["Source"]) -> str:
    """Whose objects these are, for people."""
    from cpuplan.simulate.files.objects import NRT, objects

    is_other = all(item.kind == NRT for item in objects(sources))
    return "NodeResourceTopologyMatch" if is_other else "Koordinator"


def check_koordinator(
    sources: Sequence["Source"], wanted: str | None, targets: "Iterable[Target]" = ()
) -> list["Diagnostic"]:
    """What Koordinator of the release makes of the objects, and others of their topologies."""
    from cpuplan.simulate.files import koordinator
    from cpuplan.simulate.files.topologies import check_topologies

    findings = koordinator.check(sources, _koordinator_release(wanted, targets))
    return [*findings, *check_topologies(sources)]


def _koordinator_release(wanted: str | None, targets: "Iterable[Target]") -> "Version":
    """The one that all targets with Koordinator share, or the newest, unless one is wanted."""
    from cpuplan.simulate.files.koordinator import release_of

    if wanted and not programs.KOORDINATOR.find(wanted):
        raise _unknown(f"{_KOORDINATOR}{wanted}", programs.KOORDINATOR)
    return versions.from_text(wanted) if wanted else release_of(targets)


#: Words of which each file has one that is for kubelets (`simulate.files.kubelet_documents`).
_HINTS = (
    "KubeletConfiguration",
    "kubeletconfig",
    "kubelet-arg",
    "write-kubeconfig-mode",
    "kubeadm.k8s.io/",
    "kind.x-k8s.io/",
    "cluster.x-k8s.io/",
    "node.eks.aws/",
    "machine:",
)
#: KEP-3983.
_FIRST_WITH_DROP_INS: versions.Version = (1, 28)

#: Characters of a KubeletConfiguration: people write some kB. Larger ones are nothing that is
#: known.
_MAX_TEXT = 256 * 1024


def split_kubelet(paths: Iterable[Path]) -> "tuple[list[Documents], list[Path]]":
    """What files have for kubelets, and the paths of all other files."""
    known, others = [], []
    for path in paths:
        try:
            text = _text(path)
        except Unreadable:
            text = ""  # said by who reads all others
        read = _for_kubelets(path, text) if 0 < len(text) <= _MAX_TEXT else None
        if read is None:
            others.append(path)
        else:
            known.append(read)
    return known, others


def _for_kubelets(path: Path, text: str) -> "Documents | None":
    if not any(hint in text for hint in _HINTS):
        return None
    from cpuplan.simulate.files.kubelet_documents import documents

    return documents(shown_path(path), text)


def _text(path: Path) -> str:
    return read_regular(path).decode("utf-8-sig", errors="replace")


def drop_ins(folder: Path) -> tuple[list["File"], list[Diagnostic]]:
    """What the kubelet merges of its folder of drop-ins, in its order: each file `*.conf`."""
    from cpuplan.language.read.files import refusal
    from cpuplan.simulate.files.kubelet_configuration import File

    listing = list_files(folder, within=folder, suffixes=(".conf",), hidden=True)
    problems = [refusal(shown_path(path), error) for path, error in listing.problems]
    files = []
    for path in listing.files:
        try:
            files.append(File(shown_path(path), _text(path)))
        except Unreadable as error:
            problems.append(refusal(shown_path(path), error))
    return files, problems


def check_kubelet_files(
    given: "Sequence[Documents]",
    wanted: str | None,
    targets: "Iterable[Target]" = (),
    merged: Sequence["File"] = (),
    *,
    cgroup_v1: bool = False,
) -> list[Diagnostic]:
    """What a kubelet of the release would refuse of each, on hosts with that version of cgroups.

    `merged` are the drop-ins that it merges over the file.
    """
    from cpuplan.simulate.files import kubelet_configuration
    from cpuplan.simulate.files.kubelet_documents import Judged

    version, openshift = release_of(wanted, targets)
    judged = [part for known in given for part in known.judged]
    if merged and len(judged) > 1:
        names = joined([part.main.path for part in judged])
        raise click.UsageError(f"{CONFIG_DIR.key} is for one KubeletConfiguration, not for {names}")
    if merged and version < _FIRST_WITH_DROP_INS:
        raise click.UsageError(f"the kubelet has {CONFIG_DIR.key} since Kubernetes 1.28")
    return [
        finding
        for part in judged or [Judged(kubelet_configuration.NO_FILE)] * bool(merged)
        for finding in kubelet_configuration.check(
            part.main,
            version,
            [*part.drop_ins, *merged],
            openshift=openshift,
            cgroup_v1=cgroup_v1,
            command=part.command,
            is_partial=part.is_partial,
        )
    ]


def release_of(wanted: str | None, targets: "Iterable[Target]") -> tuple[versions.Version, bool]:
    """The version, and whether it is OpenShift's.

    Without `wanted` it is the release that all targets share, or the newest one.
    """
    from cpuplan.upstream.kubernetes.kube_features import LATEST

    stated = {f"{target.platform}/{target.version}" for target in targets}
    name = wanted or (stated.pop() if len(stated) == 1 else "")
    known_as, _, release = name.partition("/")
    platform = platforms.PLATFORMS.get(known_as)
    version = platform.releases.get(release) if platform else None
    if wanted and version is None:
        raise _unknown(wanted, *(programs.PROGRAMS[name] for name in platforms.PLATFORMS))
    return version or LATEST, platform is not None and platform.forks_kubelet


def _unknown(wanted: str, *programs: programs.Program) -> click.BadParameter:
    """What CP501 says of intents: `containerd/9.9' is not a known release`."""
    known = ", ".join(f"{row.name}/{row.span.removeprefix('from ')}" for row in programs)
    text = f"{wanted!r} is not a known release; use one of {known}"
    return click.BadParameter(
        f"{text}, or a release of cpuplan that knows it", param_hint="--target"
    )


#: Where containerd's configuration is on nodes, and its main file.
_ETC, _MAIN = "/etc/containerd", "config.toml"


def of_crio(folder: Path, release: versions.Version) -> list[Diagnostic]:
    """What is wrong with a copy of /etc/crio, and what of it is not read."""
    from cpuplan.check.roots.root import Root
    from cpuplan.check.runtimes import crio_files

    root = Root(folder)
    return [*crio_files.findings(root, "", release), *_unread(root)]


def of_containerd(
    path: Path, wanted: str | None, kubelet: "Sequence[Documents]", targets: "Iterable[Target]"
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
    release, driver = _runtime_release(wanted, targets), _driver(kubelet)
    findings = list(containerd_files.findings(files, f"{_ETC}/{name}", release, driver))
    missed = (diagnose("CP855", path=path, folder=str(folder)) for path in sorted(copy.outside))
    return [*findings, *missed, *_unread(root)]


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


def _runtime_release(wanted: str | None, targets: "Iterable[Target]") -> versions.Version:
    """What is asked for, else what all targets with containerd share, else the newest."""
    known = programs.CONTAINERD
    if wanted and not known.find(wanted):
        raise _unknown(f"{_CONTAINERD}{wanted}", known)
    stated = {target.containerd for target in targets if target.runtime == "containerd"}
    return versions.from_text(wanted or (stated.pop() if len(stated) == 1 else known.names[-1]))


def _driver(kubelet: "Sequence[Documents]") -> str:
    """The cgroupDriver of a KubeletConfiguration that is given too; else kubeadm's."""
    from cpuplan.upstream.kubelet.config.codec import raw_fields

    files = [part.main for known in kubelet for part in known.judged]
    stated = (raw_fields(file.text).get("cgroupDriver") for file in files)
    return str(next((driver for driver in stated if driver), "systemd"))


def _unread(root: "Root") -> list[Diagnostic]:
    return [diagnose("CP805", path=path, problem=why) for path, why in root.refused.items()]


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

    configurations: "Sequence[Documents]"
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
    def owners(self) -> list[str]:
        """Whose files for kubelets these are; the kubelet's are its folder of drop-ins too."""
        owners = [known.owner for known in self.configurations]
        return owners or ["the kubelet"] * (self.merged is not None)

    @property
    def readers(self) -> list[str]:
        """Whose files these are, for people."""
        crio, containerd = self.runtimes
        rows = (
            *((True, owner) for owner in dict.fromkeys(self.owners)),
            (crio, "CRI-O"),
            (containerd, "containerd"),
            (self.objects, koordinator_reader(self.objects) if self.objects else ""),
        )
        return [name for is_given, name in rows if is_given]

    def check(
        self, targets: "Iterable[Target]" = (), *, cgroup_v1: bool = False
    ) -> list[Diagnostic]:
        """What is wrong with them, for the releases of a project's targets."""
        targets, findings = list(targets), list(self.refused)
        crio, containerd = self.runtimes
        if crio:
            # CRI-O has the versions of Kubernetes.
            findings += of_crio(crio, release_of(self.wanted.target, targets)[0])
        if containerd:
            release = self.wanted.containerd
            findings += of_containerd(containerd, release, self.configurations, targets)
        if self.is_of_kubelet:
            release, merged = self.wanted.target, self.merged or ()
            findings += check_kubelet_files(
                self.configurations, release, targets, merged, cgroup_v1=cgroup_v1
            )
        if self.objects:
            findings += check_koordinator(self.objects, self.wanted.koordinator, targets)
        return findings


def read(
    files: Iterable[Path],
    config_dir: Path | None,
    runtimes: tuple[Path | None, Path | None],
    wanted: Sequence[str],
) -> NodeFiles:
    """The files of the command line, told apart."""
    given = [object_files(path) for path in files]
    refused = [problem for listed in given for problem in listed.diagnostics]
    asked = _targets(wanted)
    configurations, rest = split_kubelet([path for listed in given for path in listed.files])
    objects, problems, others = split_koordinator(rest, asked.koordinator)
    refused += problems
    merged = None
    if config_dir:
        merged, unread = drop_ins(config_dir)
        refused += unread
    return NodeFiles(configurations, merged, runtimes, objects, asked, others, refused)


def _targets(wanted: Sequence[str]) -> Wanted:
    """The releases by whose they are."""
    groups = [
        [name for name in wanted if not name.startswith((_CONTAINERD, _KOORDINATOR))],
        [name for name in wanted if name.startswith(_CONTAINERD)],
        [name for name in wanted if name.startswith(_KOORDINATOR)],
    ]
    for names in groups:
        if len(names) > 1:
            raise click.UsageError(f"--target names two releases of one: {joined(names)}")
    of_kubelet, *others = (next(iter(names), None) for names in groups)
    names_only = (name and name.partition("/")[2] for name in others)
    return Wanted(of_kubelet, *names_only)
