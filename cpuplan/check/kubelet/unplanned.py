"""The kubelet of a root for which there is no plan: its files, its flags, what its node tells."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.topology import Topology
from cpuplan.check.kubelet.sources import Sources, find_sources
from cpuplan.check.roots.openings import openings_at
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.facts import platforms
from cpuplan.facts.platforms import Platform
from cpuplan.plan.expected.state import Expected, Release
from cpuplan.plan.setting import Settings
from cpuplan.simulate.files.kubelet_configuration import NO_FILE, Command, File, runtimes_of
from cpuplan.simulate.files.kubelet_documents import Judged

#: The platforms of operating systems, by ID in os-release(5).
_SYSTEMS = {"talos": "talos", "bottlerocket": "bottlerocket", "rhcos": "openshift"}
_OS_RELEASE = ("etc/os-release", "usr/lib/os-release")
#: What one runtime has, and no other.
_RUNTIMES = {
    "crio": ("etc/crio/crio.conf", "etc/crio/crio.conf.d", "run/crio/crio.sock"),
    "containerd": ("etc/containerd/config.toml", "run/containerd/containerd.sock"),
}
_CPUS = "sys/devices/system/cpu"
_ENDPOINT = "containerRuntimeEndpoint"


class KubeletOfRoot(NamedTuple):
    """A kubelet's configuration, and what else its root tells; empty where it does not."""

    node: str
    platform: str
    runtime: str
    judged: Judged
    has_machine: bool
    #: Why the kubelet may have further flags.
    unseen: str


def kubelets(path: Path) -> Iterator[KubeletOfRoot]:
    """The kubelets of the nodes whose roots are at a path; none for a folder of something else.

    Raises CpuplanError for a root that cannot be read, CP1525 for one of OpenShift.
    """
    for opening in openings_at(path):
        root = opening.open()
        platform = _platform(root)
        subject = Subject(root, _unplanned(platform))
        given = find_sources(subject)
        if given.unread:
            refused = root.refused.items()
            unread = [diagnose("CP805", path=at, problem=why) for at, why in refused]
            raise CpuplanError(unread)
        if not given.paths and given.command is None:
            continue
        if platform.has_pools:
            problem = "its operators write it: use `cpuplan import performanceprofile` for the pool"
            raise CpuplanError([diagnose("CP1525", path=path, problem=problem)])
        yield _kubelet(root, platform, given, opening.host)


def _kubelet(root: Root, platform: Platform, given: Sources, host: str) -> KubeletOfRoot:
    files = [File(root.shown(path), root.read(path) or "") for path in given.paths]
    main = files[0] if given.main else NO_FILE
    place = given.place(root) or None
    command = Command(given.flags.fields, place, given.problem)
    judged = Judged(main, tuple(files[1:] if given.main else files), command)
    names = [host] if host else list(root.host_names())
    endpoint = str(given.flags.fields.get(_ENDPOINT) or "")
    texts = "\n".join((endpoint, *(file.text for file in files)))
    runtime = "" if platform.runtime else _runtime(root, texts)
    node, has_sys = names[0] if names else "", bool(root.names(_CPUS))
    return KubeletOfRoot(node, platform.name, runtime, judged, has_sys, given.unseen)


def _runtime(root: Root, text: str) -> str:
    """The runtime whose socket the kubelet is told; else the only one whose files are there."""
    named = runtimes_of(text)
    known = named or [name for name, paths in _RUNTIMES.items() if _has_any(root, paths)]
    return known[0] if len(known) == 1 else ""


def _has_any(root: Root, paths: Iterable[str]) -> bool:
    return any(map(partial(_is_there, root), paths))


def _platform(root: Root) -> Platform:
    """That of the operating system, or of what set up the node."""
    for path in _OS_RELEASE:
        for line in nodetext.lines(root.read(path) or ""):
            key, _, value = line.partition("=")
            name = _SYSTEMS.get(value.strip("\"'")) if key == "ID" else None
            if name:
                return platforms.PLATFORMS[name]
    return platforms.seen(partial(_is_there, root)) or platforms.KUBERNETES


def _is_there(root: Root, path: str) -> bool:
    return root.is_file(path) or bool(root.names(path))


def _unplanned(platform: Platform) -> Expected:
    """The expected state of nodes of which nothing but the platform is known."""
    version = list(platform.releases)[-1]
    release = Release(platform.name, version, None, platform.runtime or "")
    return Expected(
        cluster="",
        name="",
        intent="",
        hardware="",
        nodes=(),
        release=release,
        topology=Topology(()),
        devices=(),
        pools={},
        settings=Settings(()),
        files={},
        facts={},
    )
