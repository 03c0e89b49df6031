"""What a change of the objects that a user edits costs: render before, render after, compare."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.mco.cost.impact import PLAIN, Impact, Node, impact, overrides
from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.pools import Object
from cpuplan.upstream.mco.reconcile import refusal_against_current
from cpuplan.upstream.mco.render import Rendered, render


class Change(NamedTuple):
    """Both sides rendered, None for a pool that selects nothing, and the cost of the step.

    With a `refusal` the pool is not rendered anew, and no node sees the change.
    """

    before: Rendered | None
    after: Rendered | None
    impact: Impact | None
    refusal: McoError | None = None

    @property
    def is_same(self) -> bool:
        """Whether both sides have the same contents."""
        return _spec(self.before) == _spec(self.after)


def change(
    pool: Object,
    before: Sequence[Object],
    after: Sequence[Object] | None = None,
    pool_after: Object | None = None,
    node: Node = PLAIN,
) -> Change:
    """What it costs a node of `pool` that the objects change, or that it moves to another pool.

    RenderError where one side cannot be rendered.
    """
    old = render(pool, before, node.release)
    new = render(pool_after or pool, before if after is None else after, node.release)
    if old is None or new is None:
        return Change(old, new, None)
    current = _object("rendered-before", old)
    refusal = None
    if pool_after is None:
        allowed = overrides(node.configuration, node.release)
        refusal = refusal_against_current(current, new, node.release, allowed)
    return Change(old, new, impact(current, _object("rendered-after", new), node), refusal)


def _object(name: str, rendered: Rendered) -> Mapping[str, Any]:
    return {"metadata": {"name": name}, "spec": rendered.spec}


def _spec(rendered: Rendered | None) -> Mapping[str, Any] | None:
    return None if rendered is None else rendered.spec
