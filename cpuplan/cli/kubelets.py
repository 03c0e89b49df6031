"""What `import kubelet` reads: files, pipes and roots of nodes, each with its kubelets."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.files import Unreadable, list_files, read_regular
from cpuplan.cli.output import shown_path
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.facts import platforms
from cpuplan.language.read import yaml
from cpuplan.simulate.files.kubelet_configuration import File, runtimes_of
from cpuplan.simulate.files.kubelet_documents import Judged, documents, flags_of_text
from cpuplan.simulate.files.kubelet_owners import Owner

if TYPE_CHECKING:
    from cpuplan.check.kubelet.unplanned import KubeletOfRoot

#: Bytes of a file: configz has some 10 kB, a ConfigMap with others some more.
_MAX_FILE = 1024 * 1024
_RELEASE = re.compile(r"v?(\d+\.\d+)(?:\.\d+.*)?")
#: Owners of documents whose platform is not upstream Kubernetes.
_PLATFORMS = {
    Owner.TALOS: platforms.TALOS.name,
    Owner.BOTTLEROCKET: platforms.BOTTLEROCKET.name,
    Owner.EKS: platforms.EKS.name,
}
#: Those whose form several platforms have: the path tells which one it is.
_TOLD_BY_PATH = {
    Owner.RANCHER: (platforms.RKE2.name, platforms.K3S.name),
    Owner.MICROK8S: (platforms.MICROK8S.name,),
}
#: Folders that only roots of nodes have, which are no folders of files.
_OF_ROOTS = ("etc", "proc", "sys", "usr")
#: Where a configuration names the socket of the runtime, in documents of kubeadm too.
_SOCKETS = ("containerRuntimeEndpoint", "criSocket", "container-runtime-endpoint")


class Told(NamedTuple):
    """What a source tells of its nodes beside the configuration; empty where it does not."""

    node: str = ""
    platform: str = ""
    release: str = ""
    runtime: str = ""


class Known(NamedTuple):
    """A kubelet: the path that it is from, its configuration, and what else is told there.

    Of an `is_effective` configuration all fields are there; one of a `has_machine` stands beside
    the /sys of its node.
    """

    path: Path
    judged: Judged
    told: Told = Told()
    is_effective: bool = False
    has_machine: bool = False
    is_rancher: bool = False
    #: Why the kubelet may have further flags; empty where it has none.
    unseen: str = ""

    @property
    def is_flags(self) -> bool:
        """Whether there are flags and nothing else."""
        return not self.judged.main.path and not self.judged.drop_ins and not self.told.node


def read(paths: Sequence[Path], named: Sequence[Path], drop_ins: Sequence[File]) -> list[Known]:
    """The kubelets of all sources, which the user has `named` so; `drop_ins` are merged over each.

    Flags by themselves belong to the only configuration. Raises CpuplanError for a source that has
    nothing for a kubelet.
    """
    kubelets: list[Known] = []
    problems: list[Diagnostic] = []
    for path, given in zip(paths, named, strict=True):
        try:
            kubelets += _of_path(path, shown_path(given) if path == given else str(given))
        except CpuplanError as error:
            problems += error.diagnostics
    if problems:
        raise CpuplanError(problems)
    return [_merged(known, drop_ins) for known in _joined(kubelets)]


def _joined(kubelets: list[Known]) -> list[Known]:
    flags = [known for known in kubelets if known.is_flags]
    others = [known for known in kubelets if not known.is_flags]
    if len(flags) != 1 or len(others) != 1 or others[0].judged.command.fields:
        return kubelets
    (own,), (given,) = others, flags
    judged = own.judged._replace(command=given.judged.command)
    runtime = own.told.runtime or given.told.runtime
    return [own._replace(judged=judged, told=own.told._replace(runtime=runtime))]


def _merged(known: Known, drop_ins: Sequence[File]) -> Known:
    judged = known.judged
    return known._replace(judged=judged._replace(drop_ins=(*judged.drop_ins, *drop_ins)))


def _of_path(path: Path, shown: str) -> list[Known]:
    if path.is_dir():
        roots = list(_of_roots(path))
        if not roots and any((path / name).is_dir() for name in _OF_ROOTS):
            return _none(shown, "neither the files nor the process or unit of one are in this root")
        return roots or list(_of_folder(path, shown))
    text = _text(path, shown)
    if text is None:
        return list(_of_roots(path)) or _none(shown, "the archive has no files of a kubelet")
    given = _of_text(path, shown, text)
    return given or _none(shown, "it is none of the files that tell what a kubelet gets")


def _none(shown: str, problem: str) -> list[Known]:
    raise CpuplanError([diagnose("CP1525", path=shown, problem=problem)])


def _text(path: Path, shown: str) -> str | None:
    """The text of a file; None for one that is packed, or too large."""
    try:
        data = read_regular(path, limit=_MAX_FILE)
    except Unreadable as error:
        if path.suffix in (".tar", ".tgz", ".gz", ".xz", ".bz2"):
            return None
        raise CpuplanError([diagnose("CP121", path=shown, problem=error.problem)]) from None
    return None if b"\0" in data[:4096] else data.decode("utf-8-sig", errors="replace")


def _of_folder(folder: Path, shown: str) -> Iterator[Known]:
    """The kubelets of the files of a folder that is no root; files for others are left out."""
    listing = list_files(folder, within=folder, suffixes=(".yaml", ".yml", ".json", ".conf"))
    some = False
    for path in listing.files:
        name = shown_path(path)
        given = _of_text(path, name, _text(path, name) or "")
        some = some or bool(given)
        yield from given
    if not some:
        _none(shown, "the folder is neither a root of a node nor one of files of kubelets")


def _of_text(path: Path, shown: str, text: str) -> list[Known]:
    given = documents(shown, text) or flags_of_text(shown, text)
    if given is None:
        return []
    told = _told(shown, text, given.owner)
    is_effective = given.owner is Owner.CONFIGZ
    is_rancher = given.owner is Owner.RANCHER
    return [
        Known(path, judged, told, is_effective, is_rancher=is_rancher) for judged in given.judged
    ]


def _told(shown: str, text: str, owner: Owner) -> Told:
    """What a file's documents say of the platform, the release and the runtime."""
    sources, _ = yaml.parse(shown, text)
    values = dict(pair for source in sources for pair in _scalars(source.data))
    match = _RELEASE.fullmatch(str(values.get("kubernetesVersion", "")))
    platform = _PLATFORMS.get(owner, "")
    if owner in _TOLD_BY_PATH:
        platform = next((name for name in _TOLD_BY_PATH[owner] if name in shown), "")
    sockets = [str(values[name]) for name in _SOCKETS if name in values] or [text]
    named = ["containerd"] if owner is Owner.EKS else runtimes_of(" ".join(sockets))
    runtime = named[0] if len(named) == 1 else ""
    return Told("", platform, match[1] if match else "", runtime)


def _scalars(data: Any) -> Iterator[tuple[str, Any]]:
    """The named values of a document that are neither maps nor lists, wherever they stand."""
    todo = [data]
    for value in todo:
        todo += value.values() if isinstance(value, dict) else ()
        todo += value if isinstance(value, list) else ()
        if isinstance(value, dict):
            yield from ((str(name), item) for name, item in value.items() if isinstance(item, str))


def _of_roots(path: Path) -> Iterator[Known]:
    """The kubelets of the nodes whose roots are at a path."""
    from cpuplan.check.kubelet import unplanned

    for given in unplanned.kubelets(path):
        yield _of_root(path, given)


def _of_root(path: Path, given: "KubeletOfRoot") -> Known:
    told = Told(given.node, given.platform, "", given.runtime)
    has_machine, unseen = given.has_machine, given.unseen
    return Known(path, given.judged, told, has_machine=has_machine, unseen=unseen)
