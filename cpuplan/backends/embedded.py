"""Platforms that bring a containerd of their own, which is theirs to configure; files as elsewhere.

They differ in folders and units, which are values of `Platform`.
"""

from collections.abc import Iterator

from cpuplan.backends import kubernetes, registry, unsupported
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan

manifests = kubernetes.manifests
node_files = kubernetes.node_files
on_node = kubernetes.on_node
delivered = kubernetes.delivered
expected = kubernetes.expected
check_cluster = kubernetes.check_cluster
expected_of_cluster = kubernetes.expected_of_cluster
facts_of_cluster = kubernetes.facts_of_cluster


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What CRI-O would do, and what deliveries cannot."""
    yield from unsupported.check(plan, registry.lacking(plan), locate)
    yield from kubernetes.check(plan, locate)
