"""Objects of a cluster in files, as `kubectl get -o yaml` writes them: those of one node."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.read.pods import value_of
from cpuplan.simulate.koordinatorfiles.objects import NRT, Object, objects
from cpuplan.source import Source

_DONE = ("Succeeded", "Failed")


class Snapshot(NamedTuple):
    """The Node, its NodeResourceTopology, and its running pods: None if no file has pods."""

    node: Object | None
    topology: Object | None
    pods: tuple[Object, ...] | None


def snapshot(sources: Iterable[Source], name: str) -> Snapshot:
    """What the files have of the node `name`; of several versions of an object the last one."""
    node = topology = None
    pods, has_pods = [], False
    for found in objects(sources):
        if found.kind == "Node" and found.name == name:
            node = found
        elif found.kind == NRT and found.name == name:
            topology = found
        elif found.kind == "Pod":
            has_pods = True
            is_done = value_of(found.data, ("status", "phase")) in _DONE
            if value_of(found.data, ("spec", "nodeName")) == name and not is_done:
                pods.append(found)
    return Snapshot(node, topology, tuple(pods) if has_pods else None)
