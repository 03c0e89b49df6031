"""What a node gets from all the pools and objects of a cluster: ports together, to compare with."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan.upstream.mco.common import NEWEST, Release
from cpuplan.upstream.mco.helpers import Membership, Object, pools_for_node
from cpuplan.upstream.mco.render_controller import Rendered, render


class Effective(NamedTuple):
    """The node's pools, and what the first of them is rendered to; None where there is nothing."""

    membership: Membership
    rendered: Rendered | None


def effective(
    node: Object,
    pools: Sequence[Object],
    machine_configs: Sequence[Object],
    release: Release = NEWEST,
    default_os_image: str = "",
) -> Effective:
    """NodePoolError where no pool can be chosen, RenderError where the pool cannot be rendered."""
    membership = pools_for_node(node, pools)
    if not membership.pools:
        return Effective(membership, None)
    return Effective(
        membership, render(membership.pools[0], machine_configs, release, default_os_image)
    )
