"""What Flux is given: a GitRepository and a Kustomization for each cluster, with health checks."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cpuplan.backends.base import VERIFY_CLUSTER_KINDS, VERIFY_KINDS, Files, Managed, to_file
from cpuplan.base.emit import to_yaml
from cpuplan.fleet.targets import HOST, application
from cpuplan.language.model.operations import DeliverySpec

_SEEN = "has(status.observedGeneration) && status.observedGeneration == metadata.generation"
#: Releases that do not write observedGeneration leave only conditions.
_SEEN_IF_TOLD = f"(!has(status.observedGeneration) || {_SEEN})"
_PAUSED = "(has(spec.paused) && spec.paused)"
_LAST = "status.conditions[size(status.conditions) - 1].type"
_OF_NODE = "status.nodes[n].generation == metadata.generation && status.nodes[n].status"


def _all(*parts: str) -> str:
    return " && ".join(parts)


def _true(*names: str) -> str:
    """Whether one of these conditions is true."""
    listed = ", ".join(f"'{name}'" for name in names)
    is_true = f"status.conditions.exists(c, c.type in [{listed}] && c.status == 'True')"
    return f"(has(status.conditions) && {is_true})"


def _last(name: str) -> str:
    """Whether the last condition is this one."""
    is_there = "has(status.conditions) && size(status.conditions) > 0"
    return _all(is_there, f"{_LAST} == '{name}'", _SEEN_IF_TOLD)


def _same_configuration() -> str:
    """Whether the nodes of a pool have what it wants."""
    named = (
        f"has({of}.configuration) && has({of}.configuration.name)" for of in ("spec", "status")
    )
    return _all(*named, "spec.configuration.name == status.configuration.name")


def _nodes(status: str, how: str) -> str:
    """Whether some or all nodes took this generation with this status."""
    there = "has(status.nodes) && size(status.nodes) > 0"
    return _all(there, f"status.nodes.{how}(n, {_OF_NODE} == '{status}')")


def _complete() -> str:
    """Whether a Skyhook is done: of the first generation, its operator notes none."""
    seen = f"(metadata.generation == 1 || {_SEEN})"
    done = _all("status.status == 'complete'", seen)
    return f"has(status.status) && (status.status in ['paused', 'disabled'] || {done})"


_DEGRADED = _all(f"!{_PAUSED}", _true("Degraded", "NodeDegraded", "RenderDegraded"))
_UPDATED = _all(_SEEN, _same_configuration(), _true("Updated"))
_MACHINE_CONFIG = "machineconfiguration.openshift.io/v1"
#: By API version and kind: when an object has failed, and when it is as Git wants it.
_CHECKS: dict[tuple[str, str], tuple[str, str]] = {
    ("config.nri/v1alpha1", "BalloonsPolicy"): (
        _nodes("Failure", "exists"),
        _nodes("Success", "all"),
    ),
    ("config.nri/v1alpha1", "TopologyAwarePolicy"): (
        _nodes("Failure", "exists"),
        _nodes("Success", "all"),
    ),
    (_MACHINE_CONFIG, "KubeletConfig"): (_last("Failure"), _last("Success")),
    (_MACHINE_CONFIG, "MachineConfigPool"): (_DEGRADED, f"{_PAUSED} || ({_UPDATED})"),
    ("performance.openshift.io/v2", "PerformanceProfile"): (
        _true("Degraded"),
        _all(_true("Available"), f"!{_true('Progressing')}"),
    ),
    ("skyhook.nvidia.com/v1alpha1", "Skyhook"): (
        "has(status.status) && status.status == 'erroring'",
        _complete(),
    ),
}


def health_expressions(kinds: Collection[tuple[str, str]]) -> list[dict[str, str]]:
    """The checks of these kinds, by API version and kind."""
    return [
        {"apiVersion": api, "kind": kind, "failed": failed, "current": current}
        for (api, kind), (failed, current) in _CHECKS.items()
        if (api, kind) in kinds
    ]


_NAME = "cpuplan"
#: The short form of SSH addresses, which Flux does not read.
_SHORT_SSH = re.compile(r"(?P<user>[^@/]+)@(?P<host>[^:/]+):(?P<path>.+)")
_STAYS = [
    {
        "op": "add",
        "path": "/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune",
        "value": "disabled",
    }
]


def files(delivery: DeliverySpec, objects: Sequence[Managed]) -> Files:
    """A file for each folder with objects, below `flux/`, to apply in the cluster of its name."""
    made: Files = {}
    source = to_file(_repository(delivery))
    for cluster, is_for_host in sorted(
        {(managed.cluster, managed.is_for_host) for managed in objects}
    ):
        own = [
            managed
            for managed in objects
            if (managed.cluster, managed.is_for_host) == (cluster, is_for_host)
        ]
        name = application(cluster) if is_for_host else cluster
        kustomization = to_file(_kustomization(delivery, cluster, own))
        made[f"flux/{name}.yaml"] = source + b"---\n" + kustomization
    return made


def _repository(delivery: DeliverySpec) -> dict[str, Any]:
    secret = {"secretRef": {"name": delivery.flux.secret}} if delivery.flux.secret else {}
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": _NAME, "namespace": delivery.flux.namespace},
        "spec": {
            "interval": delivery.flux.interval,
            "url": _url(delivery.repository),
            "ref": _reference(delivery.revision),
            **secret,
        },
    }


def _url(repository: str) -> str:
    parts = _SHORT_SSH.fullmatch(repository)
    return "ssh://{user}@{host}/{path}".format(**parts.groupdict()) if parts else repository


def _reference(revision: str) -> dict[str, str]:
    """A branch, unless the name says what it is: refs/tags/v1."""
    return {"name" if revision.startswith("refs/") else "branch": revision}


def _kustomization(
    delivery: DeliverySpec, cluster: str, objects: Sequence[Managed]
) -> dict[str, Any]:
    of_host = objects[0].is_for_host
    folder = f"out/clusters/{cluster}/{HOST}" if of_host else f"out/clusters/{cluster}"
    path = f"{delivery.path}/{folder}" if delivery.path else folder
    depends = [{"name": name} for name in delivery.flux.depends_on]
    checks = health_expressions({(managed.api, managed.kind) for managed in objects})
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {
            "name": f"{_NAME}-{application(cluster)}" if of_host else _NAME,
            "namespace": delivery.flux.namespace,
        },
        "spec": {
            **({"dependsOn": depends} if depends else {}),
            "interval": delivery.flux.interval,
            "timeout": delivery.flux.timeout,
            "sourceRef": {"kind": "GitRepository", "name": _NAME},
            "path": f"./{path}/manifests",
            "prune": True,
            "wait": True,
            **({"healthCheckExprs": checks} if checks else {}),
            "patches": list(_patches(objects)),
        },
    }


def _patches(objects: Sequence[Managed]) -> Iterator[dict[str, Any]]:
    """A patch for each kind whose objects stay when Git has them no more."""
    go = {*VERIFY_KINDS, *VERIFY_CLUSTER_KINDS}
    for group, kind in sorted({managed.group_kind for managed in objects} - go):
        target = {"group": group, "kind": kind} if group else {"kind": kind}
        yield {"target": target, "patch": to_yaml(_STAYS)}
