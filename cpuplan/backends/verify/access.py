"""Namespaces, service accounts, and the few rights that agents and the Job have.

An agent that only measures needs no right at all, and gets no token.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.backends.verify import names
from cpuplan.components import mixedcpus
from cpuplan.language.model.verify import Verify
from cpuplan.plan import NodePlan

RBAC = "rbac.authorization.k8s.io"
SCC = "cpuplan-agent"
#: Where Events about nodes are: the API server takes them in no other namespace.
_EVENTS = "default"


def of_class(plan: NodePlan, verify: Verify) -> Iterator[dict[str, Any]]:
    """The service account of a class's agents, with what they may do."""
    name = names.agent(plan)
    yield account(name, verify)
    if rules := list(_cluster_rules(plan, verify)):
        yield {**names.head(f"{RBAC}/v1", "ClusterRole", name, verify), "rules": rules}
        yield binding("ClusterRoleBinding", "ClusterRole", name, verify)
    if verify.events:
        head = names.head(f"{RBAC}/v1", "Role", name, verify, namespace=_EVENTS)
        yield {**head, "rules": [_rule("", ["events"], ["create"])]}
        yield binding("RoleBinding", "Role", name, verify, namespace=_EVENTS)


def account(name: str, verify: Verify) -> dict[str, Any]:
    """A service account, which pulls the image with the intent's Secret."""
    head = names.head("v1", "ServiceAccount", name, verify, namespace=verify.namespace)
    secret = {"imagePullSecrets": [{"name": verify.pull_secret}]} if verify.pull_secret else {}
    return {**head, **secret}


def binding(
    kind: str, role: str, name: str, verify: Verify, *, namespace: str = ""
) -> dict[str, Any]:
    """A role of an account that has the same name."""
    return {
        **names.head(f"{RBAC}/v1", kind, name, verify, namespace=namespace),
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
    made = names.head("v1", "Namespace", name, verify, labels=labels)
    if plan.node_class.platform.has_pools:
        # OpenShift would set the level after the pods' constraints, and keep its agents off nodes
        # that the cluster's default selector leaves out.
        made["metadata"]["labels"]["security.openshift.io/scc.podSecurityLabelSync"] = "false"
        made["metadata"]["annotations"]["openshift.io/node-selector"] = ""
        if plan.node_class.target.cpu_partitioning:
            made["metadata"]["annotations"]["workload.openshift.io/allowed"] = "management"
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
    verifying = [(each, each.spec.verify) for each in plans]
    tracing = [each for each, asked in verifying if asked and asked.access == "tracing"]
    is_root = any(asked and asked.access != "user" for _, asked in verifying)
    return {
        **names.head("security.openshift.io/v1", "SecurityContextConstraints", SCC, verify),
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
