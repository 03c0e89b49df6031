"""What kubelets of a release do that was not read, or has no port: said, and nothing is proven."""

from collections.abc import Iterator, Sequence

from cpuplan.components.checks.releases import uncertain
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_OPTIONS, TOPOLOGY_MANAGER_POLICY
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.policy_options import NUMA_STRATEGY


def notes(plans: Sequence[ConfiguredPlan]) -> Iterator[str]:
    """Releases whose rules are others', and options that are not simulated."""
    yield from dict.fromkeys(sentence for plan in plans for sentence in uncertain(plan))
    if option := reason(plans):
        yield (
            f"which of equally good NUMA nodes the topology manager takes by {option} is not "
            "simulated: pods get the lowest of them here"
        )


def reason(plans: Sequence[ConfiguredPlan]) -> str:
    """The option that decides about pods and has no port; empty without any."""
    return next(filter(None, map(_strategy, plans)), "")


def _strategy(plan: ConfiguredPlan) -> str:
    """`numa-allocation-strategy least-allocated`, where there are NUMA nodes to choose from."""
    config = planned(plan).config
    chosen = (config.get(TOPOLOGY_MANAGER_OPTIONS.head) or {}).get(NUMA_STRATEGY, "none")
    if config.get(TOPOLOGY_MANAGER_POLICY.key, "none") == "none" or chosen in ("", "none"):
        return ""
    return f"{NUMA_STRATEGY} {chosen}" if len(plan.topology.numa_nodes) > 1 else ""
