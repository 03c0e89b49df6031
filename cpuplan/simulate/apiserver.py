"""Pods as the API server stores them, before any node sees them."""

from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults


def store(pod: Pod, gates: Gates) -> Pod:
    """The pod with its defaults."""
    return apply_defaults(pod, gates)
