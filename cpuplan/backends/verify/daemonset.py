"""The agent of one class: it reads its node, and can change nothing there.

It is root in its container, as files of the node are root's own. It has no capability but for
reading environments, no PID namespace of the host (the host's /proc, which it mounts, shows all
processes; in the host's namespace root could end them), and every mount is read-only. Mounts below
a read-only mount are not: those in which root could write have mounts of their own.
"""

from typing import Any

from cpuplan.backends.verify import access, names
from cpuplan.model.verify import Verify
from cpuplan.plan import NodePlan

PORT = 9876
HOST, STATE = "/host", "/state"
#: Folders of every node that are mounts, or may be. Volumes of pods come and go below / and /var:
#: without propagation, the agent would keep them mounted.
_MOUNTS = {
    "root": ("/", "HostToContainer"),
    "etc": ("/etc", "None"),
    "proc": ("/proc", "None"),
    "run": ("/run", "HostToContainer"),
    "sys": ("/sys", "None"),
    "cgroup": ("/sys/fs/cgroup", "None"),
    "var": ("/var", "HostToContainer"),
}
#: Of the agent, which a benchmark measures (docs/benchmarks.md); no limit of CPU time: the kernel
#: would stop a check in its middle.
_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "48Mi"},
    "limits": {"memory": "96Mi"},
}
#: On OpenShift with workload partitioning: the pod gets reserved CPUs.
_ON_RESERVED = {
    "target.workload.openshift.io/management": '{"effect": "PreferredDuringScheduling"}'
}


def document(plan: NodePlan, verify: Verify) -> dict[str, Any]:
    """The DaemonSet of a class."""
    labels = names.selector(plan)
    own = {names.PART_OF: "cpuplan", **verify.labels, **labels}
    template: dict[str, Any] = {"metadata": {"labels": own}, "spec": _pod(plan, verify)}
    if plan.node_class.target.cpu_partitioning:
        template["metadata"]["annotations"] = dict(_ON_RESERVED)
    return {
        **names.head(
            "apps/v1",
            "DaemonSet",
            names.agent(plan),
            verify,
            namespace=verify.namespace,
            labels=labels,
        ),
        "spec": {
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"},
            },
        },
    }


def _pod(plan: NodePlan, verify: Verify) -> dict[str, Any]:
    security: dict[str, Any] = {
        "runAsUser": 0,
        "runAsNonRoot": False,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if plan.node_class.platform.has_pools or plan.node_class.target.os_family == "redhat":
        # container_t may read neither files of the host nor other processes (container-selinux).
        security["seLinuxOptions"] = {"type": "spc_t"}
    return {
        "serviceAccountName": names.agent(plan),
        "automountServiceAccountToken": verify.condition or verify.events,
        "enableServiceLinks": False,
        **placement(plan, verify),
        # A node with any taint is one that somebody may want to know about.
        "tolerations": [{"operator": "Exists"}],
        "securityContext": security,
        "containers": [_container(plan, verify)],
        "volumes": [
            *(_volume(name, path) for name, (path, _) in _MOUNTS.items()),
            {"name": "state", "configMap": {"name": names.agent(plan), "defaultMode": 0o444}},
        ],
    }


def placement(plan: NodePlan, verify: Verify) -> dict[str, Any]:
    """The nodes of the class: by the labels that the intent says, else by their names.

    A term names one node (validation of field selectors), and terms are alternatives.
    """
    if verify.node_selector:
        return {"nodeSelector": dict(verify.node_selector)}
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        for node in sorted(plan.node_class.nodes)
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _container(plan: NodePlan, verify: Verify) -> dict[str, Any]:
    return {
        "name": "agent",
        "image": verify.image,
        "args": _arguments(verify),
        "env": [
            {
                "name": "NODE_NAME",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
            }
        ],
        "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/healthz", 60),
        "readinessProbe": _probe("/readyz", 10),
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": access.capabilities([plan]), "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            *(_mount(name, path, how) for name, (path, how) in _MOUNTS.items()),
            {"name": "state", "mountPath": STATE, "readOnly": True},
        ],
    }


def _arguments(verify: Verify) -> list[str]:
    given = ["--root", HOST, "--state", STATE, "--interval", verify.interval, "--listen"]
    flags = [
        *(["--condition"] if verify.condition else []),
        *(["--events"] if verify.events else []),
    ]
    return ["agent", *given, f":{PORT}", *flags]


def _probe(path: str, period: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "metrics", "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
    }


def _volume(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "hostPath": {"path": path, "type": "Directory"}}


def _mount(name: str, path: str, propagation: str) -> dict[str, Any]:
    place = HOST if path == "/" else HOST + path
    return {
        "name": name,
        "mountPath": place,
        "mountPropagation": propagation,
        "readOnly": True,
    }
