"""Pods as the API server stores them, before any node sees them."""

from cpuplan.upstream.kubelet.pods.defaults import apply_defaults
from cpuplan.upstream.kubelet.pods.pod import Pod
from cpuplan.upstream.kubelet.releases.features import Gates


def store(pod: Pod, gates: Gates) -> Pod:
    """The pod with its defaults."""
    return apply_defaults(pod, gates)
