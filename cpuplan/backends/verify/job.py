"""The Job that Argo CD runs after a sync: it ends when all nodes of the cluster hold their plan."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.backends.base import Files
from cpuplan.backends.verify import access, objects
from cpuplan.language.model.rollout import Verify
from cpuplan.plan import NodePlan
from cpuplan.plan.expected.state import FOLDER

#: Where the Job has the expected states, as in a project: `check cluster` reads them there.
_PROJECT = "/project"
_UNITS = {"s": 1, "m": 60, "h": 3600}
#: Seconds that the pod has beside its waiting, to start and to say what has not arrived.
_GRACE = 300
#: Resources by API group.
Reads = tuple[tuple[str, tuple[str, ...]], ...]
#: What `check cluster` reads.
READS: Reads = (
    ("", ("namespaces", "nodes")),
    (
        "admissionregistration.k8s.io",
        (
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ),
    ),
    ("node.k8s.io", ("runtimeclasses",)),
    ("topology.node.k8s.io", ("noderesourcetopologies",)),
)
_OF_KOORDINATOR: Reads = (
    ("", ("configmaps", "pods")),
    ("config.koordinator.sh", ("clustercolocationprofiles",)),
)
_OF_NRI: Reads = (("config.nri", ("balloonspolicies", "topologyawarepolicies")),)
_OF_DRA: Reads = (("resource.k8s.io", ("deviceclasses", "resourceslices")),)
_OF_OPENSHIFT: Reads = (
    (
        "machineconfiguration.openshift.io",
        ("kubeletconfigs", "machineconfigpools", "machineconfigs"),
    ),
    ("performance.openshift.io", ("performanceprofiles",)),
    ("tuned.openshift.io", ("tuneds",)),
)


def asking(plans: Sequence[NodePlan]) -> list[tuple[NodePlan, Verify]]:
    """The classes whose intent wants the Job."""
    verifying = ((plan, plan.spec.verify) for plan in plans)
    return [(plan, verify) for plan, verify in verifying if verify and verify.wait_for]


def documents(
    plans: Sequence[NodePlan], members: Sequence[NodePlan], compiled: Files
) -> Iterator[dict[str, Any]]:
    """The Job of a cluster, with an account that may read; one for all its classes (CP670).

    It compares the objects of all `plans`, and the nodes of `members`: what it may not read would
    fail it. `compiled` are files of `out/` that it reads beside the expected states, by their paths
    there.
    """
    for plan, verify in asking(members)[:1]:
        yield access.account(objects.ARRIVAL, verify)
        head = objects.object_head(f"{access.RBAC}/v1", "ClusterRole", objects.ARRIVAL, verify)
        yield {**head, "rules": access.reading(reads(plans))}
        yield access.binding("ClusterRoleBinding", "ClusterRole", objects.ARRIVAL, verify)
        sources = [_state(other) for other in members if _is_beside(other, verify)]
        files = {path.rpartition("/")[2]: data.decode() for path, data in compiled.items()}
        if files:
            yield objects.config_map(objects.ARRIVAL, verify, files)
        sources += [_source(objects.ARRIVAL, path.rpartition("/")[2], path) for path in compiled]
        yield _job(plan, verify, sources)


def reads(plans: Sequence[NodePlan]) -> Reads:
    """What a cluster has, by its platform and what gives CPUs to its pods."""
    targets = [plan.node_class.target for plan in plans]
    return (
        *READS,
        *(_OF_KOORDINATOR if any(target.has_koordinator for target in targets) else ()),
        *(_OF_NRI if any(target.has_nri_policy for target in targets) else ()),
        *(_OF_DRA if any(target.has_dra for target in targets) else ()),
        *(_OF_OPENSHIFT if any(plan.node_class.platform.has_pools for plan in plans) else ()),
    )


def _is_beside(plan: NodePlan, verify: Verify) -> bool:
    """Whether a class has its state in the Job's namespace, where the Job can mount it."""
    own = plan.spec.verify
    return own is not None and own.namespace == verify.namespace


def seconds(span: str) -> int:
    """A time such as 60m in seconds."""
    parts = re.fullmatch(r"([0-9]+)([smh])", span)
    assert parts  # noqa: S101 - the model has the same pattern
    return int(parts[1]) * _UNITS[parts[2]]


def _job(plan: NodePlan, verify: Verify, sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    assert verify.wait_for  # noqa: S101 - `asking` has found it
    cluster = plan.node_class.cluster
    labels = {objects.PART_OF: "cpuplan", **verify.labels, objects.NAME: objects.ARRIVAL}
    head = objects.object_head(
        "batch/v1", "Job", objects.ARRIVAL, verify, namespace=verify.namespace, labels=labels
    )
    return {
        **objects.hook(head),
        "spec": {
            "activeDeadlineSeconds": seconds(verify.wait_for) + _GRACE,
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": objects.ARRIVAL,
                    "enableServiceLinks": False,
                    "restartPolicy": "Never",
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(cluster, verify)],
                    "volumes": [
                        {"name": "project", "projected": {"sources": sources, "defaultMode": 0o444}}
                    ],
                },
            },
        },
    }


def _container(cluster: str, verify: Verify) -> dict[str, Any]:
    what = ["-C", _PROJECT, "check", "cluster", "--wait", verify.wait_for, "--cluster", cluster]
    return {
        "name": "check",
        "image": verify.image,
        "args": what,
        "resources": {
            "requests": {"cpu": "10m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "project", "mountPath": _PROJECT, "readOnly": True}],
    }


def _state(plan: NodePlan) -> dict[str, Any]:
    """The expected state of a class, where a project has it."""
    folder = f"clusters/{plan.node_class.cluster}/{FOLDER}"
    return _source(
        objects.agent(plan), objects.state_key(plan), f"{folder}/{objects.state_key(plan)}"
    )


def _source(name: str, key: str, path: str) -> dict[str, Any]:
    """A key of a ConfigMap as a file of `out/`."""
    return {"configMap": {"name": name, "items": [{"key": key, "path": f"out/{path}"}]}}
