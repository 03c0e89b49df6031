"""What syncs `out/` to the clusters: the files for Argo CD and for Flux of a Delivery document."""

from collections.abc import Iterable, Sequence

from cpuplan.backends import argocd, koordinator, verify
from cpuplan.backends.base import Files
from cpuplan.backends.managed import Managed
from cpuplan.model.delivery import DeliverySpec
from cpuplan.plan import ConfiguredPlan


def files(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec, objects: Iterable[Managed]
) -> Files:
    """The files of the tools that the document names, by path below `out/`."""
    managed = tuple(objects)
    made: Files = {}
    if "argocd" in delivery.tools:
        given = argocd.Inputs(
            delivery,
            managed,
            of_koordinator=tuple(koordinator.ignored_differences(plans)),
            verifies=bool(verify.are_in(plans)),
        )
        made |= argocd.files(given)
    return made
