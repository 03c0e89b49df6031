"""What differs between platforms before anything is written for them.

The stages below `backends` ask these values and never compare names of platforms. What is written
for a platform is in its backend.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

from cpuplan.facts.platforms import features
from cpuplan.facts.platforms.features import Feature, Span

#: Kubernetes versions as (major, minor). CRI-O's minor versions are those of Kubernetes.
Version: TypeAlias = tuple[int, int]
#: What a target may name; a test compares it with `PLATFORMS`.
Name = Literal["openshift", "kubernetes", "rke2", "k3s", "talos", "bottlerocket"]


class Platform(NamedTuple):
    """A platform; each switch is off for upstream Kubernetes on an owner's operating system."""

    name: str
    title: str
    #: The Kubernetes (and CRI-O) version in each release.
    releases: Mapping[str, Version]
    #: What its own parts do, and in which releases.
    features: Mapping[Feature, Span]
    #: Nodes are in MachineConfigPools. The pool decides what a node gets, its kernel included.
    has_pools: bool = False
    #: The defaults of the node tuning operator are set.
    has_operator_defaults: bool = False
    #: A release brings the kernel.
    ships_kernel: bool = False
    #: Open vSwitch runs in units of the platform, and gets separate CPUs from cpuplan.
    manages_open_v_switch: bool = False
    #: An admission plugin of the API server annotates pods that request shared CPUs.
    annotates_sharing_pods: bool = False
    #: The kubelet is that of openshift/kubernetes.
    forks_kubelet: bool = False
    #: A unit removes the kubelet's state files before each of its starts.
    removes_state_files: bool = False
    #: All of the kubelet's configuration is known, and not only a drop-in.
    owns_kubelet_configuration: bool = False
    #: The kubelet's maxPods where nobody sets it.
    max_pods: int = 110
    #: Nodes take files and units of others; no operator or image keeps them away.
    takes_files: bool = True
    #: The unit that runs the kubelet.
    kubelet_unit: str = "kubelet.service"
    #: The container runtime has a unit, apart from the kubelet's.
    has_runtime_unit: bool = True
    #: Where the kubelet's drop-ins are.
    kubelet_folder: str = "/etc/kubernetes/kubelet.conf.d"
    #: The kubelet reads that folder without being told.
    reads_kubelet_folder: bool = False

    @property
    def has_runtime_choice(self) -> bool:
        """A target names the container runtime, whose configuration is cpuplan's to write."""
        return self.has_runtime_unit and not self.has_pools


_OPENSHIFT_RELEASES: Mapping[str, Version] = {
    "4.14": (1, 27),
    "4.15": (1, 28),
    "4.16": (1, 29),
    "4.17": (1, 30),
    "4.18": (1, 31),
    "4.19": (1, 32),
    "4.20": (1, 33),
    "4.21": (1, 34),
    "4.22": (1, 35),
    "4.23": (1, 36),  # the twin of 5.0
    "5.0": (1, 36),
    "5.1": (1, 37),
}
KUBERNETES = Platform(
    "kubernetes",
    "Kubernetes",
    releases={f"{major}.{minor}": (major, minor) for major, minor in _OPENSHIFT_RELEASES.values()},
    features={},
)
OPENSHIFT = Platform(
    "openshift",
    "OpenShift",
    releases=_OPENSHIFT_RELEASES,
    features=features.OPENSHIFT,
    has_pools=True,
    takes_files=False,
    has_operator_defaults=True,
    ships_kernel=True,
    manages_open_v_switch=True,
    annotates_sharing_pods=True,
    forks_kubelet=True,
    removes_state_files=True,
    owns_kubelet_configuration=True,
    # The machine config operator's templates of kubelet.conf.
    max_pods=250,
)
#: K3s and RKE2 run the kubelet and containerd within their own process. Their releases are those of
#: Kubernetes; they start the kubelet with a folder of drop-ins from 1.32 on (docs.k3s.io,
#: installation/kubelet-configuration).
_WITH_FOLDER = {
    name: version for name, version in KUBERNETES.releases.items() if version >= (1, 32)
}
RKE2 = Platform(
    "rke2",
    "RKE2",
    releases=_WITH_FOLDER,
    features={},
    kubelet_unit="rke2-agent.service",
    has_runtime_unit=False,
    kubelet_folder="/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
K3S = Platform(
    "k3s",
    "K3s",
    releases=_WITH_FOLDER,
    features={},
    kubelet_unit="k3s-agent.service",
    has_runtime_unit=False,
    kubelet_folder="/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
#: The newest Kubernetes that each release supports (docs.siderolabs.com, Support Matrix).
TALOS = Platform(
    "talos",
    "Talos",
    releases={
        "1.9": (1, 32),
        "1.10": (1, 33),
        "1.11": (1, 34),
        "1.12": (1, 35),
        "1.13": (1, 36),
        "1.14": (1, 37),
    },
    features={},
    takes_files=False,
    has_runtime_unit=False,
    reads_kubelet_folder=True,
)
#: Its variants are called by the Kubernetes that they run.
BOTTLEROCKET = Platform(
    "bottlerocket",
    "Bottlerocket",
    releases=KUBERNETES.releases,
    features={},
    takes_files=False,
    has_runtime_unit=False,
    reads_kubelet_folder=True,
)
PLATFORMS: dict[str, Platform] = {
    each.name: each for each in (OPENSHIFT, KUBERNETES, RKE2, K3S, TALOS, BOTTLEROCKET)
}


class Release(Protocol):
    """What says which release nodes run: the target of an intent."""

    @property
    def platform(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def is_profile(self) -> bool: ...


def of(target: Release) -> Platform:
    """The platform of a target."""
    return PLATFORMS[target.platform]
