"""What Flux is given: for each cluster a GitRepository, and a Kustomization of its folder.

Flux removes without asking. What would reboot nodes, let pods fail or open what a policy closed is
therefore marked to stay; agents and their alerts go.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.backends.argocd.kinds import VERIFY_CLUSTER_KINDS, VERIFY_KINDS
from cpuplan.backends.base import Files, to_file
from cpuplan.backends.flux import health
from cpuplan.backends.managed import Managed
from cpuplan.base.emit import to_yaml
from cpuplan.fleet.hosting import HOST, application
from cpuplan.language.model.delivery import DeliverySpec

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
    for cluster, is_for_host in sorted({(each.cluster, each.is_for_host) for each in objects}):
        own = [
            each for each in objects if (each.cluster, each.is_for_host) == (cluster, is_for_host)
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
    checks = health.expressions({(each.api, each.kind) for each in objects})
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
    for group, kind in sorted({each.group_kind for each in objects} - go):
        target = {"group": group, "kind": kind} if group else {"kind": kind}
        yield {"target": target, "patch": to_yaml(_STAYS)}
