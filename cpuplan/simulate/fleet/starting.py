"""How the nodes of a fleet start."""

from types import MappingProxyType
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.allocators.base import Allocator
from cpuplan.simulate.allocators.registry import Start
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Resources


class Starter(NamedTuple):
    """How nodes start: with which allocator, state files and amounts of further resources."""

    start: Start
    state: Node = Node()
    resources: Resources = MappingProxyType({})
    #: The limit of work on the nodes of a class, in seconds; None for the default.
    seconds: float | None = None

    def __call__(self, plan: ConfiguredPlan) -> Allocator:
        """A node of a class; CpuplanError where the kubelet does not start."""
        try:
            return self.start(planned(plan)._replace(resources=self.resources), self.state)
        except (KubeletError, HangError, PanicError) as error:
            of = plan.node_class
            problem = diagnose("CP701", name=of.name, cluster=of.cluster, problem=error)
            raise CpuplanError([problem]) from None
