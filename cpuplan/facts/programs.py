"""The releases of every program that cpuplan knows, and how it knows each: one line for each.

A release is known because answers of the program were recorded, because its source was read, or
only by the rules of another one. `cpuplan versions` prints the table; an intent that names a
release which is not here gets CP501, one that is predicted or unproven CP5625.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

#: Versions of Kubernetes and others as (major, minor). CRI-O's minor versions are those of
#: Kubernetes.
Version: TypeAlias = tuple[int, int]


class Basis(StrEnum):
    """How a release is known; the last two get a note wherever a target names the release."""

    RECORDED = "recorded"
    READ = "read"
    PREDICTED = "predicted"
    UNPROVEN = "unproven"


#: How a sentence says it; the gap is what the row names.
_WORDS: Mapping[Basis, str] = {
    Basis.RECORDED: "recorded answers of {of}",
    Basis.READ: "source read at {of}",
    Basis.PREDICTED: "predicted by the rules of {of}",
    Basis.UNPROVEN: "unproven: {of}",
}


class Known(NamedTuple):
    """A release, how it is known, and of what: a commit, a tag, or the release whose rules hold.

    `kubernetes` is the version of Kubernetes in a release of a platform. `state` is what the
    project itself calls a release that is not out, such as alpha.
    """

    name: str
    basis: Basis
    of: str
    kubernetes: Version | None = None
    state: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether its rules were read or recorded."""
        return self.basis in (Basis.RECORDED, Basis.READ)

    @property
    def words(self) -> str:
        """`source read at db8809540e1a`."""
        return _WORDS[self.basis].format(of=self.of)


class Program(NamedTuple):
    """A program, its project, and its releases from the oldest to the newest.

    `until` is the day up to which its releases and sources were looked for.
    """

    name: str
    title: str
    project: str
    until: str
    releases: tuple[Known, ...]

    def find(self, name: str) -> Known | None:
        """The row of a release; None for one that is not known."""
        return next((known for known in self.releases if known.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its releases."""
        return tuple(known.name for known in self.releases)

    @property
    def span(self) -> str:
        """`from 1.6 to 2.4`."""
        first, *_, last = (self.releases[0], *self.releases)
        return first.name if first is last else f"from {first.name} to {last.name}"


def recorded(name: str, of: str, kubernetes: Version | None = None, state: str = "") -> Known:
    """A release whose program was run and its answers kept."""
    return Known(name, Basis.RECORDED, of, kubernetes, state)


def read(name: str, of: str, kubernetes: Version | None = None, state: str = "") -> Known:
    """A release whose source was read."""
    return Known(name, Basis.READ, of, kubernetes, state)


def predicted(name: str, of: str, kubernetes: Version | None = None, state: str = "") -> Known:
    """A release that is answered by the rules of another one."""
    return Known(name, Basis.PREDICTED, of, kubernetes, state)


def unproven(name: str, of: str, kubernetes: Version | None = None, state: str = "") -> Known:
    """A release of which it is only assumed what it has."""
    return Known(name, Basis.UNPROVEN, of, kubernetes, state)


_TODAY = "2026-11-28"
_AUGUST = "2026-08-22"

KUBERNETES = Program(
    "kubernetes",
    "Kubernetes",
    "kubernetes/kubernetes",
    _TODAY,
    (
        read("1.27", "release-1.27", (1, 27)),
        read("1.28", "release-1.28", (1, 28)),
        read("1.29", "release-1.29", (1, 29)),
        read("1.30", "release-1.30", (1, 30)),
        read("1.31", "release-1.31", (1, 31)),
        read("1.32", "release-1.32", (1, 32)),
        read("1.33", "release-1.33", (1, 33)),
        read("1.34", "release-1.34", (1, 34)),
        read("1.35", "release-1.35", (1, 35)),
        recorded("1.36", "1.36.2 (24e2b02af554; resizes at 008b3652959c)", (1, 36)),
        predicted("1.37", "1.36", (1, 37)),
        predicted("1.38", "1.36", (1, 38), "alpha"),
    ),
)
OPENSHIFT = Program(
    "openshift",
    "OpenShift",
    "openshift/cluster-node-tuning-operator",
    _AUGUST,
    (
        read("4.14", "release-4.14", (1, 27)),
        read("4.15", "release-4.15", (1, 28)),
        read("4.16", "release-4.16", (1, 29)),
        read("4.17", "release-4.17", (1, 30)),
        read("4.18", "release-4.18", (1, 31)),
        read("4.19", "release-4.19", (1, 32)),
        read("4.20", "release-4.20", (1, 33)),
        read("4.21", "release-4.21", (1, 34)),
        read("4.22", "release-4.22", (1, 35)),
        read("4.23", "release-4.23", (1, 36)),  # the twin of 5.0
        recorded("5.0", "d2394aa81ffe", (1, 36)),
        unproven("5.1", "nightlies of August 2026 had Kubernetes 1.36.3", (1, 37), "development"),
    ),
)


def _of_kubernetes(name: str, title: str, project: str, since: Version) -> Program:
    """A platform whose releases are those of Kubernetes that are out, known as these are."""
    rows = (known for known in KUBERNETES.releases if not known.state)
    own = tuple(known for known in rows if known.kubernetes and known.kubernetes >= since)
    return Program(name, title, project, _TODAY, own)


#: K3s and RKE2 start the kubelet with a folder of drop-ins from 1.32 on (docs.k3s.io,
#: installation/kubelet-configuration).
RKE2 = _of_kubernetes("rke2", "RKE2", "rancher/rke2", (1, 32))
K3S = _of_kubernetes("k3s", "K3s", "k3s-io/k3s", (1, 32))
#: Its variants are called by the Kubernetes that they run.
BOTTLEROCKET = _of_kubernetes(
    "bottlerocket", "Bottlerocket", "bottlerocket-os/bottlerocket", (1, 27)
)
#: The newest Kubernetes that each release supports (docs.siderolabs.com, Support Matrix).
TALOS = Program(
    "talos",
    "Talos",
    "siderolabs/talos",
    _TODAY,
    (
        read("1.9", "release-1.9", (1, 32)),
        read("1.10", "release-1.10", (1, 33)),
        read("1.11", "release-1.11", (1, 34)),
        read("1.12", "release-1.12", (1, 35)),
        read("1.13", "release-1.13", (1, 36)),
        read("1.14", "v1.14.0-rc.1", (1, 37)),
    ),
)
CRIO = Program(
    "crio",
    "CRI-O",
    "cri-o/cri-o",
    _AUGUST,
    (
        read("1.27", "850e2b136b", (1, 27)),
        read("1.28", "635b52bd41", (1, 28)),
        read("1.29", "1726df9505", (1, 29)),
        read("1.30", "5eea6fb702", (1, 30)),
        read("1.31", "249255c6a2", (1, 31)),
        read("1.32", "089e95c949", (1, 32)),
        read("1.33", "e1875f1fd0", (1, 33)),
        read("1.34", "358c4b4486", (1, 34)),
        read("1.35", "41f610b281", (1, 35)),
        read("1.36", "9a9de9c51f", (1, 36)),
        recorded("1.37", "65f5ee4679 and f954a17e505f", (1, 37)),
        predicted("1.38", "1.37", (1, 38), "development"),
    ),
)
CONTAINERD = Program(
    "containerd",
    "containerd",
    "containerd/containerd",
    _TODAY,
    (
        read("1.6", "39259a8f3591"),
        read("1.7", "1fbd70374134"),
        read("2.0", "207ad711eabd"),
        read("2.1", "061792f0ecf3"),
        read("2.2", "1c4457e00fac"),
        read("2.3", "db8809540e1a"),
        # 2.4.0 and 2.4.1 are out; the source of the first beta was there to be read.
        predicted("2.4", "2.4.0-beta.0 (58e6cee9dee6)"),
    ),
)
#: The names that each release reads are known of all; the rules of webhooks, koordlet and
#: koord-scheduler of the newest only.
KOORDINATOR = Program(
    "koordinator",
    "Koordinator",
    "koordinator-sh/koordinator",
    _AUGUST,
    (
        predicted("1.2", "1.8"),
        predicted("1.3", "1.8"),
        predicted("1.4", "1.8"),
        predicted("1.5", "1.8"),
        predicted("1.6", "1.8"),
        predicted("1.7", "1.8"),
        recorded("1.8", "989ca85c62ab and a7a1b76bbf81"),
    ),
)
DRA_DRIVER_CPU = Program(
    "dra-driver-cpu",
    "dra-driver-cpu",
    "kubernetes-sigs/dra-driver-cpu",
    _AUGUST,
    (
        predicted("0.2", "its main branch of August 2026 (de98098690f2)"),
        recorded("0.3", "de98098690f2, before the release"),
    ),
)
NRI_PLUGINS = Program(
    "nri-plugins",
    "nri-plugins",
    "containers/nri-plugins",
    _AUGUST,
    (
        predicted("0.12", "0.14"),
        predicted("0.13", "0.14"),
        recorded("0.14", "83d986e963ad and 0705acc824ee"),
    ),
)
TUNED = Program(
    "tuned",
    "TuneD",
    "redhat-performance/tuned",
    _AUGUST,
    (
        read("2.24", "v2.24.0"),
        recorded("2.28", "2.28.0-rc.1 (2bfa4423586b)"),
    ),
)
#: Programs whose releases no document names: the source that was read.
OTHERS: tuple[Program, ...] = (
    Program(
        "machine-config-operator",
        "machine-config-operator",
        "openshift/machine-config-operator",
        _AUGUST,
        (recorded("5.1", "7ff337a4ffac"),),
    ),
    Program(
        "scheduler-plugins",
        "NodeResourceTopologyMatch",
        "kubernetes-sigs/scheduler-plugins",
        _AUGUST,
        (recorded("main", "903da7df82cb"),),
    ),
    Program(
        "resource-topology-exporter",
        "resource-topology-exporter",
        "k8stopologyawareschedwg/resource-topology-exporter",
        _AUGUST,
        (recorded("0.24", "ef567ef3f9fb"),),
    ),
    Program(
        "node-feature-discovery",
        "node-feature-discovery",
        "kubernetes-sigs/node-feature-discovery",
        _AUGUST,
        (recorded("main", "76e6cc8cc0d5"),),
    ),
    Program(
        "linux",
        "Linux",
        "torvalds/linux",
        _AUGUST,
        (recorded("6.12", "6.12.95 and source at adc218676eef"),),
    ),
)
PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        KUBERNETES,
        OPENSHIFT,
        RKE2,
        K3S,
        TALOS,
        BOTTLEROCKET,
        CRIO,
        CONTAINERD,
        KOORDINATOR,
        DRA_DRIVER_CPU,
        NRI_PLUGINS,
        TUNED,
        *OTHERS,
    )
}


def kubernetes_of(program: Program) -> dict[str, Version]:
    """The version of Kubernetes in each release of a platform."""
    return {known.name: known.kubernetes for known in program.releases if known.kubernetes}


def first(program: Program) -> Version:
    """The oldest release that is known, as two numbers."""
    return _version(program.releases[0])


def latest(program: Program) -> Version:
    """The newest release whose rules were read or recorded, as two numbers."""
    return _version([known for known in program.releases if known.is_certain][-1])


def newest(program: Program) -> Version:
    """The newest release that is known in any way, as two numbers."""
    return _version(program.releases[-1])


def _version(known: Known) -> Version:
    major, minor = known.name.split(".")
    return int(major), int(minor)
