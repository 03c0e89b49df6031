"""What each release of a target can do: the one table "feature, first version"."""

from collections.abc import Callable

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.intent import Target
from cpuplan.plan import NodePlan
from cpuplan.source import Position

#: Kubernetes versions as (major, minor). CRI-O's minor versions are those of Kubernetes.
Version = tuple[int, int]

#: The Kubernetes (and CRI-O) version in each OpenShift release.
OPENSHIFT: dict[str, Version] = {
    "4.14": (1, 27),
    "4.15": (1, 28),
    "4.16": (1, 29),
    "4.17": (1, 30),
    "4.18": (1, 31),
    "4.19": (1, 32),
    "4.20": (1, 33),
    "4.21": (1, 34),
    "4.22": (1, 35),
    "5.0": (1, 36),
    "5.1": (1, 37),
}
KUBERNETES: dict[str, Version] = {f"{major}.{minor}": (major, minor) for major, minor in OPENSHIFT.values()}
RELEASES = {"openshift": OPENSHIFT, "kubernetes": KUBERNETES}

#: First versions. Backports to patch releases do not count: a minor version has releases without them.
FEATURES: dict[str, Version] = {
    "crio.shared_cpuset": (1, 29),
    "crio.crun": (1, 31),  # the default runtime; runc before
    "crio.inherit_default_runtime": (1, 32),  # and default_annotations
    "crio.exec_cpu_affinity": (1, 34),
    "crio.min_injected_gomaxprocs": (1, 36),
    "kubelet.config_dir": (1, 30),  # 1.28 with KUBELET_CONFIG_DROPIN_DIR_ALPHA (KEP-3983)
}

#: Policy options of the CPU manager: the first version of each level of maturity (kubernetes/kubernetes
#: pkg/kubelet/cm/cpumanager/policy_options.go).
CPU_OPTIONS: dict[str, dict[str, Version]] = {
    "full-pcpus-only": {"alpha": (1, 22), "beta": (1, 23), "stable": (1, 33)},
    "distribute-cpus-across-numa": {"alpha": (1, 23), "beta": (1, 33)},
    "align-by-socket": {"alpha": (1, 25)},
    "distribute-cpus-across-cores": {"alpha": (1, 31)},
    "prefer-align-cpus-by-uncorecache": {"alpha": (1, 31), "beta": (1, 34), "stable": (1, 36)},
    "strict-cpu-reservation": {"alpha": (1, 32), "beta": (1, 33), "stable": (1, 35)},
}
#: Policy options of the topology manager (pkg/kubelet/cm/topologymanager/policy_options.go).
TOPOLOGY_OPTIONS: dict[str, dict[str, Version]] = {
    "prefer-closest-numa-nodes": {"alpha": (1, 26), "beta": (1, 28), "stable": (1, 32)},
    "max-allowable-numa-nodes": {"beta": (1, 31), "stable": (1, 35)},
}


def kubernetes_version(target: Target) -> Version | None:
    """The Kubernetes version of a target's release; None for a release that is not in the table."""
    return RELEASES[target.platform].get(target.version)


def has(target: Target, feature: str) -> bool:
    """Whether the target's release has `feature`; releases that are not in the table have none."""
    version = kubernetes_version(target)
    return version is not None and version >= FEATURES[feature]


def maturity(levels: dict[str, Version], version: Version) -> str | None:
    """The level that an option has in `version`; None where it does not exist yet."""
    reached = [level for level, since in levels.items() if since <= version]
    return reached[-1] if reached else None


def to_text(version: Version) -> str:
    """`1.33` for (1, 33)."""
    return f"{version[0]}.{version[1]}"


def check(plan: NodePlan, locate: Callable[[str], Position | None]) -> list[Diagnostic]:
    """A release that the table does not have."""
    target = plan.node_class.target
    if kubernetes_version(target):
        return []
    known = list(RELEASES[target.platform])
    index = plan.spec.targets.index(target) if target in plan.spec.targets else 0
    position = locate(f"Intent/{plan.node_class.intent}:spec.targets.{index}.version")
    first, last = known[0], known[-1]
    return [diagnose("CP501", position, platform=target.platform, version=target.version, first=first, last=last)]
