"""The agent of one class: it reads its node, and with `access: user` can change nothing there.

It is a user of its own, whom nothing on the node belongs to, without any capability, in no PID
namespace of the host. What keeps it from writing is so the kernel's first question, whose a file
is; that every mount is read-only (also those below it, where the release can do that), and that no
folder with sockets is among them (`mounts`), comes on top. tests/boot/test_agent.py tries to write.
"""

from typing import Any

from cpuplan.backends.verify import access, mounts, names
from cpuplan.backends.verify.mounts import HOST, STATE
from cpuplan.language.model.verify import Verify
from cpuplan.plan import ConfiguredPlan

PORT = 9876
#: No other process of the node may have this user: one of the same user, without capabilities,
#: could be traced, and /proc/<pid>/root leads to its files. systemd assigns neither this number nor
#: its neighbours to anybody (systemd.io, UIDS-GIDS). Root in its container has the group too: the
#: kernel lets nobody trace a process of another group.
USER = 65520
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


def document(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
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


def _pod(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
    is_root = verify.access != "user"
    security: dict[str, Any] = {
        "runAsUser": 0 if is_root else USER,
        "runAsGroup": USER,
        "runAsNonRoot": not is_root,
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
        "volumes": mounts.volumes(plan, verify),
    }


def placement(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
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


def _container(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
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
            "capabilities": access.capabilities(plan, verify),
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts.volume_mounts(plan, verify),
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
