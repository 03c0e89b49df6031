"""Namespaces, accounts, the few rights of agents and the Job, what they change, who connects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.verify import objects
from cpuplan.components import admission_rules, mixedcpus
from cpuplan.facts import versions
from cpuplan.fleet.class_names import AGENT
from cpuplan.language.model.rollout import Verify
from cpuplan.plan import NodePlan
from cpuplan.upstream.openshift.managed import MANAGEMENT
from cpuplan.upstream.openshift.managementcpusoverride import ALLOWED

RBAC = "rbac.authorization.k8s.io"
SCC = "cpuplan-agent"
#: Where Events about nodes are: the API server takes them in no other namespace.
_EVENTS = "default"


def of_class(plan: NodePlan, verify: Verify) -> Iterator[dict[str, Any]]:
    """The service account of a class's agents, with what they may do."""
    name = objects.agent(plan)
    yield account(name, verify)
    if rules := list(_cluster_rules(plan, verify)):
        yield {**objects.object_head(f"{RBAC}/v1", "ClusterRole", name, verify), "rules": rules}
        yield binding("ClusterRoleBinding", "ClusterRole", name, verify)
    if verify.events:
        head = objects.object_head(f"{RBAC}/v1", "Role", name, verify, namespace=_EVENTS)
        yield {**head, "rules": [_rule("", ["events"], ["create"])]}
        yield binding("RoleBinding", "Role", name, verify, namespace=_EVENTS)


def account(name: str, verify: Verify) -> dict[str, Any]:
    """A service account, which pulls the image with the intent's Secret."""
    head = objects.object_head("v1", "ServiceAccount", name, verify, namespace=verify.namespace)
    secret = {"imagePullSecrets": [{"name": verify.pull_secret}]} if verify.pull_secret else {}
    return {**head, **secret}


def binding(
    kind: str, role: str, name: str, verify: Verify, *, namespace: str = ""
) -> dict[str, Any]:
    """A role of an account that has the same name."""
    return {
        **objects.object_head(f"{RBAC}/v1", kind, name, verify, namespace=namespace),
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": verify.namespace}],
    }


def _cluster_rules(plan: NodePlan, verify: Verify) -> Iterator[dict[str, Any]]:
    """The status of the class's own nodes, and on OpenShift the constraints of the pods."""
    if verify.condition:
        nodes = sorted(plan.node_class.nodes)
        yield _rule("", ["nodes/status"], ["get", "patch"], nodes)
    if plan.node_class.platform.has_pools:
        yield _rule("security.openshift.io", ["securitycontextconstraints"], ["use"], [SCC])


def _rule(
    group: str, resources: Sequence[str], verbs: Sequence[str], named: Sequence[str] = ()
) -> dict[str, Any]:
    made: dict[str, Any] = {"apiGroups": [group], "resources": list(resources)}
    if named:
        made["resourceNames"] = list(named)
    return made | {"verbs": list(verbs)}


def reading(resources: Sequence[tuple[str, Sequence[str]]]) -> list[dict[str, Any]]:
    """Rules that allow to read these resources, by API group."""
    return [_rule(group, kinds, ["get", "list"]) for group, kinds in resources]


def of_cluster(plans: Sequence[NodePlan]) -> Iterator[dict[str, Any]]:
    """Namespaces, whose pods may mount folders of the host, and what OpenShift needs for that."""
    by_namespace = {plan.spec.verify.namespace: plan for plan in plans if plan.spec.verify}
    for namespace, plan in sorted(by_namespace.items()):
        yield _namespace(namespace, plan)
    of_openshift = [plan for plan in plans if plan.node_class.platform.has_pools]
    for plan in of_openshift[:1]:
        yield _constraints(plan, of_openshift)


def _namespace(name: str, plan: NodePlan) -> dict[str, Any]:
    """Pods of an agent mount folders of the host, which Pod Security calls privileged."""
    verify = plan.spec.verify
    assert verify  # noqa: S101 - of_cluster asks for it
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    made = objects.object_head("v1", "Namespace", name, verify, labels=labels)
    if plan.node_class.platform.has_pools:
        # OpenShift would set the level after the pods' constraints, and keep its agents off nodes
        # that the cluster's default selector leaves out.
        made["metadata"]["labels"]["security.openshift.io/scc.podSecurityLabelSync"] = "false"
        made["metadata"]["annotations"]["openshift.io/node-selector"] = ""
        if plan.node_class.target.cpu_partitioning:
            made["metadata"]["annotations"][ALLOWED] = MANAGEMENT
    return made


def capabilities(plan: NodePlan, verify: Verify) -> dict[str, list[str]]:
    """None, unless the intent asks for the environments of processes.

    Everything else in /proc/<pid> that a check reads is readable for all. For `environ` the kernel
    asks whether the reader may trace the process (fs/proc/base.c, environ_open; kernel/ptrace.c),
    which is no question of the user alone: daemons have capabilities that the agent lacks. The file
    of a pod's process belongs to the pod's user, and only its owner may open it (mode 0400). Who
    may trace reaches all files of the host by /proc/<pid>/root, where nothing is read-only.
    """
    added = _added([plan]) if verify.access == "tracing" else []
    return {**({"add": added} if added else {}), "drop": ["ALL"]}


def _added(plans: Sequence[NodePlan]) -> list[str]:
    shares = any(mixedcpus.are_used(plan) for plan in plans)
    return ["DAC_READ_SEARCH", "SYS_PTRACE"] if shares else ["SYS_PTRACE"]


def _constraints(plan: NodePlan, plans: Sequence[NodePlan]) -> dict[str, Any]:
    """OpenShift's constraints for the agents; others get them by the right to use them only."""
    verify = plan.spec.verify
    assert verify  # noqa: S101 - of_cluster asks for it
    anything = {"type": "RunAsAny"}
    verifying = [(member, member.spec.verify) for member in plans]
    tracing = [member for member, asked in verifying if asked and asked.access == "tracing"]
    is_root = any(asked and asked.access != "user" for _, asked in verifying)
    return {
        **objects.object_head(
            "security.openshift.io/v1", "SecurityContextConstraints", SCC, verify
        ),
        "allowHostDirVolumePlugin": True,
        "allowHostIPC": False,
        "allowHostNetwork": False,
        "allowHostPID": False,
        "allowHostPorts": False,
        "allowPrivilegeEscalation": False,
        "allowPrivilegedContainer": False,
        "allowedCapabilities": _added(tracing) if tracing else [],
        "requiredDropCapabilities": ["ALL"],
        "readOnlyRootFilesystem": True,
        "runAsUser": anything if is_root else {"type": "MustRunAsNonRoot"},
        "seLinuxContext": anything,
        "fsGroup": anything,
        "supplementalGroups": anything,
        "seccompProfiles": ["runtime/default"],
        "volumes": ["configMap", *(["emptyDir"] if is_root else []), "hostPath", "projected"],
        "users": [],
        "groups": [],
    }


POLICY_GROUP = "admissionregistration.k8s.io"
POLICY_KIND = "ValidatingAdmissionPolicy"
STATUS, EVENTS = f"{AGENT}-status", f"{AGENT}-events"
#: `agent.verdict` has the same words; a test compares them.
CONDITION, COMPONENT = "CPUPlanHolds", "cpuplan-agent"
_KEY = "authentication.kubernetes.io/node-name"
_OWN_NODE = (
    f"has(request.userInfo.extra) && '{_KEY}' in request.userInfo.extra && "
    f"request.userInfo.extra['{_KEY}'].size() == 1 ? "
    f"request.userInfo.extra['{_KEY}'][0] : ''"
)
#: What each write changes by itself.
_OF_THE_SERVER = "['managedFields', 'resourceVersion']"
#: With `dyn`, fields are looked up as keys: those that later releases add count too.
_VARIABLES = {
    "node": _OWN_NODE,
    "metadata": "dyn(object.metadata)",
    "oldMetadata": "dyn(oldObject.metadata)",
    "status": "has(object.status) ? dyn(object.status) : dyn({})",
    "oldStatus": "has(oldObject.status) ? dyn(oldObject.status) : dyn({})",
    "conditions": "'conditions' in variables.status ? variables.status['conditions'] : dyn([])",
    "oldConditions": (
        "'conditions' in variables.oldStatus ? variables.oldStatus['conditions'] : dyn([])"
    ),
    "others": f"variables.conditions.filter(c, c['type'] != '{CONDITION}')",
    "oldOthers": f"variables.oldConditions.filter(c, c['type'] != '{CONDITION}')",
}
_METADATA_IS_KEPT = (
    f"variables.metadata.all(k, k in {_OF_THE_SERVER} || "
    "(k in variables.oldMetadata && variables.metadata[k] == variables.oldMetadata[k])) && "
    f"variables.oldMetadata.all(k, k in {_OF_THE_SERVER} || k in variables.metadata)"
)
_SPEC_IS_KEPT = (
    "has(object.spec) == has(oldObject.spec) && "
    "(!has(object.spec) || dyn(object.spec) == dyn(oldObject.spec))"
)
_STATUS_IS_KEPT = (
    "variables.status.all(k, k == 'conditions' || "
    "(k in variables.oldStatus && variables.status[k] == variables.oldStatus[k])) && "
    "variables.oldStatus.all(k, k == 'conditions' || k in variables.status)"
)
_CONDITIONS_ARE_KEPT = (
    "variables.others.size() == variables.oldOthers.size() && "
    "variables.others.all(c, c in variables.oldOthers) && "
    "variables.oldOthers.all(c, c in variables.others)"
)
_IS_ABOUT_IT = (
    "has(object.involvedObject) && has(object.involvedObject.kind) && "
    "object.involvedObject.kind == 'Node' && has(object.involvedObject.name) && "
    "object.involvedObject.name == variables.node"
)
_IS_FROM_IT = (
    "has(object.source) && has(object.source.component) && "
    f"object.source.component == '{COMPONENT}' && "
    f"has(object.reportingComponent) && object.reportingComponent == '{COMPONENT}'"
)
_HAS_NOTHING_ELSE = (
    "!has(object.related) && "
    "(!has(object.source.host) || object.source.host == variables.node) && "
    "(!has(object.reportingInstance) || object.reportingInstance in ['', variables.node]) && "
    "(!has(object.involvedObject.uid) || object.involvedObject.uid == variables.node) && "
    "!has(object.metadata.finalizers) && !has(object.metadata.ownerReferences) && "
    "!has(object.metadata.labels) && !has(object.metadata.annotations)"
)
#: What must hold, and what is said where it does not.
_NO_NODE = (
    "variables.node != ''",
    "the token names no node: only agents that run as pods may do this",
)
_OF_STATUS = (
    _NO_NODE,
    (
        "variables.node == '' || object.metadata.name == variables.node",
        "an agent may change the status of its own node only",
    ),
    (
        _METADATA_IS_KEPT,
        "an agent may not change labels, annotations or anything else of metadata",
    ),
    (_SPEC_IS_KEPT, "an agent may not change the spec of a node"),
    (_STATUS_IS_KEPT, "an agent may change no part of the status but a condition"),
    (_CONDITIONS_ARE_KEPT, f"an agent may change no condition but {CONDITION}"),
    (
        "variables.conditions.size() - variables.others.size() <= 1",
        f"a node has the condition {CONDITION} once",
    ),
)
_OF_EVENTS = (
    _NO_NODE,
    (_IS_ABOUT_IT, "an agent may create Events about its own node only"),
    (_IS_FROM_IT, f"an agent may create Events as {COMPONENT} only"),
    (
        f"!({_IS_ABOUT_IT} && {_IS_FROM_IT}) || ({_HAS_NOTHING_ELSE})",
        "an Event of an agent names its own node alone, and has no owner, finalizer or label",
    ),
)


def policy_documents(members: Sequence[tuple[NodePlan, Verify]]) -> Iterator[dict[str, Any]]:
    """Policies and their bindings, for what the agents of a cluster may do at all."""
    rows = (
        (STATUS, ("nodes/status",), "UPDATE", _VARIABLES, _OF_STATUS, "condition"),
        (EVENTS, ("events",), "CREATE", {"node": _OWN_NODE}, _OF_EVENTS, "events"),
    )
    for name, resources, operation, variables, rules, field in rows:
        asking = [(plan, verify) for plan, verify in members if getattr(verify, field)]
        if not any(is_known(plan) for plan, _ in asking):
            continue
        spec = {
            "failurePolicy": "Fail",
            "matchConditions": [_agents(verify for _, verify in asking)],
            "matchConstraints": {"resourceRules": [_matched(resources, operation)]},
            "variables": [{"name": key, "expression": text} for key, text in variables.items()],
            "validations": [
                {"expression": text, "message": message, "reason": "Forbidden"}
                for text, message in rules
            ],
        }
        yield from _objects(name, asking[0][1], spec)


def is_known(plan: NodePlan) -> bool:
    """Whether the API server has such policies, and tokens that name their node."""
    server = admission_rules.api_server(plan)
    needed = ("api.validating_policy", "api.node_of_token")
    return server is not None and all(server >= versions.FEATURES[feature] for feature in needed)


def _objects(name: str, verify: Verify, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        **objects.object_head(f"{POLICY_GROUP}/v1", POLICY_KIND, name, verify, wave=objects.BEFORE),
        "spec": spec,
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    head = objects.object_head(
        f"{POLICY_GROUP}/v1", f"{POLICY_KIND}Binding", name, verify, wave=objects.BEFORE
    )
    yield {**head, "spec": bound}


def _agents(asking: Any) -> dict[str, str]:
    """The accounts of agents, in each namespace that has some: nobody else is held to anything."""
    namespaces = sorted({verify.namespace for verify in asking})
    starts = [f"system:serviceaccount:{namespace}:{AGENT}-" for namespace in namespaces]
    tests = [f"request.userInfo.username.startsWith('{start}')" for start in starts]
    return {"name": "is-an-agent", "expression": " || ".join(tests)}


def _matched(resources: Sequence[str], operation: str) -> dict[str, Any]:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": list(resources),
    }


NETWORK_API = "networking.k8s.io"
#: The namespace's own name, which the API server sets as a label.
_NAME = "kubernetes.io/metadata.name"


def network_policy(plan: NodePlan, verify: Verify, port: int) -> dict[str, Any]:
    """Who reads metrics may connect, and the agent to the API server if it tells it anything."""
    head = objects.object_head(
        f"{NETWORK_API}/v1",
        "NetworkPolicy",
        objects.agent(plan),
        verify,
        namespace=verify.namespace,
    )
    return {
        **head,
        "spec": {
            "podSelector": {"matchLabels": objects.selector(plan)},
            "policyTypes": ["Ingress", "Egress"],
            **_ingress(verify, port),
            **_egress(verify),
        },
    }


def _ingress(verify: Verify, port: int) -> dict[str, Any]:
    """Nothing where nobody asks for metrics; the API server does not keep an empty list."""
    if verify.prometheus is None:
        return {}
    namespace, pods = verify.prometheus.namespace, verify.prometheus.pods
    source = {"namespaceSelector": _matching({_NAME: namespace} if namespace else {})}
    if pods:
        source["podSelector"] = _matching(pods)
    return {"ingress": [{"from": [source], "ports": [_tcp(port)]}]}


def _egress(verify: Verify) -> dict[str, Any]:
    if not (verify.condition or verify.events):
        return {}
    ports = [_tcp(port) for port in sorted(set(verify.api_server.ports))]
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in verify.api_server.cidrs]
    return {"egress": [{**({"to": blocks} if blocks else {}), "ports": ports}]}


def _matching(labels: Mapping[str, str]) -> dict[str, Any]:
    return {"matchLabels": dict(labels)} if labels else {}


def _tcp(port: int) -> dict[str, Any]:
    return {"port": port, "protocol": "TCP"}
