"""Which files the kubelet of a node reads: its command line says so, or else where it runs."""

import re
from typing import NamedTuple

from cpuplan.check.kubelet import rancher
from cpuplan.check.programs.command import Command, Program, command, place
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.diagnostics.source import Position
from cpuplan.simulate.kubeletfile import is_kubelet_configuration
from cpuplan.upstream.kubelet.config import options
from cpuplan.upstream.kubelet.config.options import Flags
from cpuplan.upstream.kubernetes.errors import KubeletError

#: Where installers put the file: kubeadm, the machine config operator (a kubeconfig elsewhere),
#: Talos, Kubespray, Bottlerocket, EKS (twice), AKS, GKE.
PLACES = (
    "var/lib/kubelet/config.yaml",
    "etc/kubernetes/kubelet.conf",
    "etc/kubernetes/kubelet.yaml",
    "etc/kubernetes/kubelet-config.yaml",
    "etc/kubernetes/kubelet/config",
    "etc/kubernetes/kubelet/config.json",
    "etc/kubernetes/kubelet/kubelet-config.json",
    "etc/default/kubeletconfig.json",
    "home/kubernetes/kubelet-config.yaml",
)
_KUBECONFIG = re.compile(r"""kind["']?\s*:\s*["']?Config\b""")
_CACHE = "sources of the kubelet"


class Sources(NamedTuple):
    """The files that the kubelet reads, as paths below the root, and its flags.

    `main` is empty where it has none. `problem` is why it does not take its command line, `unread`
    are the paths that could not be read on the way.
    """

    main: str
    drop_ins: tuple[str, ...]
    flags: Flags = Flags()
    command: Command | None = None
    problem: str = ""
    unread: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, in the order in which they are merged."""
        return (self.main, *self.drop_ins) if self.main else self.drop_ins

    def state(self, name: str) -> str:
        """The path of a state file."""
        return f"{self.flags.root_dir.strip('/')}/{name}"

    def place(self, root: Root, flag: str = "") -> Position | None:
        """Where the command line, or one of its flags, stands."""
        return place(root, self.command, flag) if self.command else None


def program(subject: Subject) -> Program:
    """The kubelet of the platform."""
    return Program("kubelet", subject.expected.platform.kubelet_unit, "the kubelet")


def sources(subject: Subject) -> Sources:
    """What the kubelet reads; looked up once."""
    if _CACHE not in subject.cache:
        known = set(subject.root.refused)
        found = _sources(subject)
        unread = tuple(path for path in subject.root.refused if path not in known)
        subject.cache[_CACHE] = found._replace(unread=unread)
    cached: Sources = subject.cache[_CACHE]
    return cached


def _sources(subject: Subject) -> Sources:
    root = subject.root
    found = command(subject, program(subject)) or _embedded(subject)
    if found is None:
        folder = subject.expected.platform.kubelet_folder
        return Sources(_usual(root), _drop_ins(root, folder))
    try:
        given = options.parse_flags(found.words)
    except KubeletError as error:
        return Sources("", (), Flags(), found, str(error))
    return Sources(given.config.lstrip("/"), _drop_ins(root, given.config_dir), given, found)


def _embedded(subject: Subject) -> Command | None:
    """The flags that K3s gives its own kubelet, if there are any."""
    given = rancher.arguments(subject)
    if not given:
        return None
    folder = f"--config-dir={subject.expected.platform.kubelet_folder}"
    words, paths = (folder, *(flag for flag, _ in given)), (path for _, path in given)
    return Command(words, given[-1][1], files=tuple(dict.fromkeys(paths)))


def _usual(root: Root) -> str:
    """The usual file that says of itself what it is, or else the first that is no kubeconfig."""
    there = {path: root.read(path) for path in PLACES if root.is_file(path)}
    named = (path for path, text in there.items() if is_kubelet_configuration(text or ""))
    others = (path for path, text in there.items() if not _KUBECONFIG.search(text or ""))
    return next(named, "") or next(others, "")


def _drop_ins(root: Root, folder: str) -> tuple[str, ...]:
    """The files of a folder that the kubelet takes, in its order; none without a folder."""
    files = root.files(folder.strip("/")) if folder else []
    return tuple(path for path in files if path.endswith(".conf"))
