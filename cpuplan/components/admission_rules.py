"""Admission of pods that ask for shared CPUs: rules in CEL for policy objects.

OpenShift's API server has a plugin (autoscaling.openshift.io/MixedCPUs: openshift/kubernetes#1799)
that refuses more than one of the resource, pods that are not Guaranteed, and namespaces without the
annotation, and adds the annotation that CRI-O reads. The rules here are these, and more: the plugin
lets pods through that then silently get nothing, or that take shared CPUs without asking. All
expressions are here, each with its reason; `backends.admission` makes objects of them.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.components import chosen, kubelet, mixedcpus
from cpuplan.components.chosen import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import SHARED_CPUSET
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.facts.versions import Version
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.upstream.crio.releases import QUOTA, SHARED
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates

RESOURCE = mixedcpus.RESOURCE
#: On a namespace; only the key counts, as for OpenShift's plugin.
ALLOWED = "workload.mixedcpus.openshift.io/allowed"
#: On a pod, for each container that shares: `cpu-shared.crio.io/<container>: enable`.
HOOK = SHARED
#: CRI-O tells a container its shared CPUs by this variable, and reads it back at each update of the
#: container.
ENVIRONMENT = "OPENSHIFT_SHARED_CPUS"

# Init containers count: their requests are part of the pod's QoS class, and CRI-O does not tell
# them apart.
_CONTAINERS = (
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))"
)
# Requests only: the API server copies limits to them, and refuses an extended resource of which
# both are not equal.
_ASKS = f"has(c.resources) && has(c.resources.requests) && '{RESOURCE}' in c.resources.requests"
SETS_VARIABLE = f"has(c.env) && c.env.exists(e, e.name == '{ENVIRONMENT}')"
_HAS_ANNOTATIONS = "has(object.metadata.annotations)"

# Conditions have no variables. CRI-O's filter of annotations works by prefix, so look-alikes count
# too.
CONCERNS_SHARED_CPUS = (
    f"{_CONTAINERS}.exists(c, ({_ASKS}) || ({SETS_VARIABLE})) || "
    f"({_HAS_ANNOTATIONS} && object.metadata.annotations.exists(k, k.startsWith('{HOOK}')))"
)
ASKS_FOR_SHARED_CPUS = f"{_CONTAINERS}.exists(c, {_ASKS})"
# Annotations can be added to a pod that waits to be scheduled, changed and taken away, also with
# its status. All other updates pass: a pod that was admitted before there was a policy must still
# be able to lose a finalizer.
IS_NEW_OR_ANNOTATED = (
    f"request.operation == 'CREATE' || ({_HAS_ANNOTATIONS} && "
    "object.metadata.annotations.exists(k, "
    f"k.startsWith('{HOOK}') && !(has(oldObject.metadata.annotations) && k in "
    "oldObject.metadata.annotations && "
    "oldObject.metadata.annotations[k] == object.metadata.annotations[k]))) || "
    "(has(oldObject.metadata.annotations) && oldObject.metadata.annotations.exists(k, "
    f"k.startsWith('{HOOK}') && !({_HAS_ANNOTATIONS} && k in object.metadata.annotations)))"
)
# A scheduler binds a pod by a Binding object, whose annotations the API server copies to the
# pod (pkg/registry/core/pod/storage, assignPod).
BINDING_ANNOTATES = (
    f"{_HAS_ANNOTATIONS} && object.metadata.annotations.exists(k, k.startsWith('{HOOK}'))"
)
BINDING_REFUSED = f"a binding has an annotation {HOOK}, which only pods may have"
# An update in place of memory brings CRI-O no cpuset: it adds the shared CPUs to nothing, and the
# container loses its exclusive ones (internal/runtimehandlerhooks; seen with its code). The kubelet
# itself refuses to change exclusive CPUs.
RESIZE_REFUSED = (
    "a container with shared CPUs cannot be resized in place: CRI-O would take its exclusive CPUs "
    "from it; delete the pod and create it with the new resources"
)
#: What rules refer to; each may use those before it.
VARIABLES: dict[str, str] = {
    "containers": _CONTAINERS,
    "asking": f"variables.containers.filter(c, {_ASKS})",
    "annotations": f"{_HAS_ANNOTATIONS} ? object.metadata.annotations : {{}}",
}

# cpu and memory, each with a limit, all above 0 and equal to the request: the API server's rule for
# the class Guaranteed (pkg/apis/core/v1/helper/qos), which leaves out amounts of 0.
GUARANTEED = (
    "has(c.resources) && has(c.resources.limits) && has(c.resources.requests) && ['cpu', "
    "'memory'].all(r, "
    "r in c.resources.limits && r in c.resources.requests && "
    "quantity(c.resources.limits[r]).compareTo(quantity('0')) > 0 && "
    "quantity(c.resources.limits[r]).compareTo(quantity(c.resources.requests[r])) == 0)"
)

#: What tells CRI-O: a JSON patch, since the names of annotations are only known with the pod. `add`
#: replaces too. Nobody can know the right quota of shared CPUs, so there should be none.
ANNOTATE = (
    f"({_HAS_ANNOTATIONS} ? [] : "
    f"[JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{}}}}]) + "
    "variables.asking.map(c, JSONPatch{op: 'add', "
    f"path: '/metadata/annotations/' + jsonpatch.escapeKey('{HOOK}/' + c.name), value: 'enable'}})"
    f" + ('{QUOTA}' in variables.annotations ? [] : [JSONPatch{{op: 'add', "
    f"path: '/metadata/annotations/' + jsonpatch.escapeKey('{QUOTA}'), value: 'disable'}}])"
)


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
    return has_quota and not chosen.has_cgroups_v1(plan)


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


class Rule(NamedTuple):
    """What must hold: a variable that lists offenders, and the refusal.

    `text` is CEL and may name the offenders.
    """

    variable: str
    offenders: str
    message: str
    text: str


def _named(before: str, variable: str, after: str) -> str:
    """A text with the offenders in it."""
    return f"'{before} ' + variables.{variable}.join(', ') + ' {after}'"


_RULES: tuple[Rule, ...] = (
    # Who may use shared CPUs is for those to say who may annotate namespaces.
    Rule(
        "notAllowed",
        f"has(namespaceObject.metadata.annotations) && '{ALLOWED}' in "
        "namespaceObject.metadata.annotations "
        "? [] : variables.asking.map(c, c.name)",
        f"the namespace is not allowed for {RESOURCE}: annotate it with {ALLOWED}",
        f"'namespace ' + namespaceObject.metadata.name + ' is not allowed for {RESOURCE}: "
        f"annotate it with {ALLOWED}'",
    ),
    # The number says nothing but yes. OpenShift's plugin lets 0 through, annotates the pod, and
    # nobody counts it.
    Rule(
        "notOne",
        "variables.asking.filter(c, "
        f"quantity(c.resources.requests['{RESOURCE}']).compareTo(quantity('1')) != 0)"
        ".map(c, c.name)",
        f"a container asks for more or less than a single {RESOURCE}: set the request to 1 or "
        "remove it",
        _named(
            "container",
            "notOne",
            f"asks for more or less than a single {RESOURCE}: set the request to 1 or remove it",
        ),
    ),
    # Only Guaranteed pods get exclusive CPUs, beside which the shared ones are meant. OpenShift's
    # plugin does not look at init containers, and takes a request of 0 for equal to its limit.
    Rule(
        "notGuaranteed",
        "variables.asking.size() == 0 ? [] : variables.containers.filter(c, "
        f"!({GUARANTEED})).map(c, c.name)",
        f"the pod asks for {RESOURCE} and is not of QoS class Guaranteed",
        _named(
            f"the pod asks for {RESOURCE} and is not of QoS class Guaranteed: container",
            "notGuaranteed",
            "needs cpu and memory limits, and requests that equal them",
        ),
    ),
    # Fractions get no exclusive CPUs, and CRI-O's hooks pass over containers without (their shares
    # are no multiple of 1024). `cpu` is looked for, since a container without it is refused above
    # and must not be an error here.
    Rule(
        "notWhole",
        "variables.asking.filter(c, 'cpu' in c.resources.requests && "
        "!quantity(c.resources.requests['cpu']).isInteger()).map(c, c.name)",
        f"a container asks for {RESOURCE} and for a fraction of a CPU: exclusive CPUs are "
        "whole ones",
        _named(
            "container",
            "notWhole",
            f"asks for {RESOURCE} and for a fraction of a CPU: exclusive CPUs are whole ones",
        ),
    ),
    # CRI-O only knows of the request by the annotation. OpenShift's plugin has no eye for init
    # containers; on clusters without a policy that adds it, pods bring it.
    Rule(
        "notAnnotated",
        f"variables.asking.filter(c, !('{HOOK}/' + c.name in variables.annotations && "
        f"variables.annotations['{HOOK}/' + c.name] == 'enable')).map(c, '{HOOK}/' + c.name)",
        f"a container asks for {RESOURCE} without the annotation that CRI-O needs: annotate the "
        f"pod with {HOOK}/<container>: enable",
        _named(
            "CRI-O needs an annotation for each container that shares CPUs: annotate the pod with",
            "notAnnotated",
            "= enable",
        ),
    ),
    # The annotation alone would give the CPUs too, past the namespace's leave and the limit of
    # containers.
    Rule(
        "notAsking",
        f"variables.annotations.filter(k, k.startsWith('{HOOK}') && "
        f"!variables.asking.exists(c, k == '{HOOK}/' + c.name))",
        f"the pod has an annotation {HOOK} for a container that does not ask for {RESOURCE}",
        _named(
            "annotation",
            "notAsking",
            f"is for no container that asks for {RESOURCE}: request 1 of it or remove it",
        ),
    ),
    # CRI-O finds the shared CPUs of a running container in its environment: whoever sets the
    # variable gets those CPUs at the next update by the kubelet (internal/runtimehandlerhooks; seen
    # with its code).
    Rule(
        "setsVariable",
        f"variables.containers.filter(c, {SETS_VARIABLE}).map(c, c.name)",
        f"the variable {ENVIRONMENT} is for CRI-O to set",
        _named(
            "container",
            "setsVariable",
            f"sets the variable {ENVIRONMENT}, which is for CRI-O to set: remove it",
        ),
    ),
)
#: Since Kubernetes 1.32. The kubelet's CPU manager passes over such pods (gate
#: PodLevelResourceManagers: off).
_NO_POD_RESOURCES = Rule(
    "ofPod",
    "variables.asking.size() > 0 && has(object.spec.resources) ? variables.asking.map(c, "
    "c.name) : []",
    f"the pod asks for {RESOURCE} and has spec.resources",
    _named(
        "container",
        "ofPod",
        f"asks for {RESOURCE} in a pod with spec.resources, which gets no exclusive CPUs",
    ),
)


def rules(version: Version) -> Iterator[Rule]:
    """What refuses a pod, for the API server of a Kubernetes version."""
    yield from _RULES
    if version >= versions.FEATURES["api.pod_level_resources"]:
        yield _NO_POD_RESOURCES


def runtime_classes(names: Iterable[str]) -> dict[str, str]:
    """The variable with the names of runtime classes, a line for each, so that Git merges them."""
    return {"runtimeClasses": "\n".join(["[]", *(f"+ ['{name}']" for name in names)])}


def hints(*, throttled: bool) -> Iterator[Rule]:
    """What only warns, since it may be right on nodes that cpuplan does not know.

    `throttled`: on some nodes (`keeps_quota`).
    """
    # Other handlers do not allow the annotation: CRI-O drops it without a word.
    yield Rule(
        "otherRuntime",
        "has(object.spec.runtimeClassName) && object.spec.runtimeClassName in "
        "variables.runtimeClasses "
        "? [] : variables.asking.map(c, c.name)",
        "shared CPUs need a runtimeClassName of cpuplan's",
        _named("container", "otherRuntime", "gets no shared CPUs without a runtimeClassName of ")
        + " + variables.runtimeClasses.join(' or ')",
    )
    if throttled:
        yield Rule(
            "throttled",
            f"'{QUOTA}' in variables.annotations && "
            f"variables.annotations['{QUOTA}'] in ['disable', 'true'] ? [] : "
            "variables.asking.map(c, c.name)",
            f"shared CPUs need the annotation {QUOTA}: disable",
            _named(
                "container",
                "throttled",
                f"is throttled to its exclusive CPUs without the annotation {QUOTA}: disable",
            ),
        )
