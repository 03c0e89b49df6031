"""Pods for tests of the simulated kubelet."""

from typing import Any

from cpuplan.upstream.kubernetes.pod import Pod, read_pod

Manifest = dict[str, Any]


def container(
    cpu: str = "", memory: str = "", *, limits: Manifest | None = None, sidecar: bool = False
) -> Manifest:
    requests = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}
    given = {
        "name": "c",
        "resources": {"requests": requests, "limits": requests if limits is None else limits},
    }
    return given | ({"restartPolicy": "Always"} if sidecar else {})


def pod(*containers: Manifest, init: tuple[Manifest, ...] = (), own: Manifest | None = None) -> Pod:
    spec: dict[str, object] = {"containers": list(containers), "initContainers": list(init)}
    if own is not None:
        spec["resources"] = {"requests": own, "limits": own}
    return read_pod({"metadata": {"uid": "p"}, "spec": spec})


def named(uid: str, given: Pod, names: str = "abcdef") -> Pod:
    """The pod, with a name for each of its containers."""
    fresh = iter(names)
    init = tuple(container._replace(name=next(fresh)) for container in given.init_containers)
    return given._replace(
        uid=uid,
        init_containers=init,
        containers=tuple(container._replace(name=next(fresh)) for container in given.containers),
    )


def guaranteed(uid: str, cpus: int | str) -> Pod:
    return named(uid, pod(container(str(cpus), "1Gi")))
