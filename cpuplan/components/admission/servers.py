"""What API servers know, and whether nodes throttle containers that share CPUs."""

from collections.abc import Iterator

from cpuplan.components import cgroups, kubelet, mixedcpus
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import SHARED_CPUSET
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.facts.versions import Version
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates

#: The gate by which containers with exclusive CPUs have no quota.
_NO_QUOTA = "DisableCPUQuotaWithExclusiveCPUs"


def keeps_quota(plan: ConfiguredPlan) -> bool:
    """Whether a container with shared CPUs is throttled to its exclusive ones.

    On cgroup v2, CRI-O raises the quota of a cgroup below the container's, which itself stays at
    that of the exclusive CPUs; unless the kubelet sets none (gate DisableCPUQuotaWithExclusiveCPUs,
    on by default since 1.33).
    """
    config = kubelet.configuration(list(plan.settings.of(kubelet.NAME)))
    version = versions.kubernetes_version(plan.node_class.target) or LATEST
    gates = Gates(config.get(FEATURE_GATES.head) or {}, version)
    has_quota = config.get("cpuCFSQuota", True) and not gates.enabled(_NO_QUOTA)
    return has_quota and not cgroups.is_v1(plan)


def api_server(plan: NodePlan) -> Version | None:
    """The Kubernetes version of the plan's API server, as far as its own target tells.

    An API server is never older than a kubelet (Kubernetes' version skew policy). None for releases
    that are not in the table.
    """
    target = plan.node_class.target
    stated = plan.node_class.cluster_facts.version
    releases = plan.node_class.platform.releases
    known = (releases.get(text) for text in (target.version, stated) if text)
    return max(filter(None, known), default=None)


def adds_annotation(plan: NodePlan) -> bool:
    """Whether a policy tells CRI-O of containers that ask.

    On OpenShift the plugin adds the annotation, in every release that has mixed CPUs.
    """
    annotated = plan.node_class.platform.annotates_sharing_pods
    return not annotated and plan.spec.runtime.annotate_pods is not False


def mutating_api(plan: NodePlan) -> str | None:
    """The API version of MutatingAdmissionPolicy that the plan needs; None where it needs none."""
    version = api_server(plan)
    if version is None or not adds_annotation(plan):
        return None
    return versions.maturity(versions.MUTATING_POLICY, version)


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Namespaces that are opened for nothing, and API servers without the policies."""
    place, target, runtime = plan.node_class.place, plan.node_class.target, plan.spec.runtime
    if not mixedcpus.are_used(plan):
        if runtime.shared_namespaces:
            names = ", ".join(runtime.shared_namespaces)
            yield diagnose("CP550", locate(place("runtime.sharedNamespaces")), names=names)
        return
    annotated = plan.node_class.platform.annotates_sharing_pods
    if annotated or not SHARED_CPUSET.is_known(target):
        return
    server = api_server(plan)
    version, api = versions.to_text(server or (0, 0)), mutating_api(plan)
    if api in ("v1alpha1", "v1beta1") and not is_written(plan, "runtime.annotatePods"):
        yield diagnose("CP551", locate(place("pools.shared")), version=version, api=api)
    if not api and runtime.annotate_pods:
        since = versions.to_text(min(versions.MUTATING_POLICY.values()))
        yield diagnose("CP553", locate(place("runtime.annotatePods")), version=version, since=since)
    needed = versions.FEATURES["api.validating_policy"]
    if (server or (0, 0)) < needed:
        since = versions.to_text(needed)
        yield diagnose("CP552", locate(place("pools.shared")), version=version, since=since)
