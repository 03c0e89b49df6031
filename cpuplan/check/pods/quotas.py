"""Quotas of processor time that leave a container less than its exclusive CPUs."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.check.pods.pairing import Pair
from cpuplan.check.pods.tree import Quota, Tree, above

#: Where CRI-O puts what `exec` starts; it has a quota of its own.
_EXEC = "exec"


class Throttled(NamedTuple):
    """Containers whose quota is too small, or has stopped one of them."""

    pairs: tuple[Pair, ...]
    quota: Quota
    #: In how many periods it stopped one; 0 if the quota alone is too small.
    periods: int


def throttled(tree: Tree, pairs: Iterable[Pair]) -> list[Throttled]:
    """Containers whose smallest quota, above, of, or in their control group, is not enough.

    The smallest ratio of quota and period wins (cri-o/cri-o#9251). Each quota is there once.
    """
    found: dict[str, Throttled] = {}
    for pair in pairs:
        one = _throttled(tree, pair)
        if one:
            known = found.get(one.quota.path, one._replace(pairs=()))
            found[one.quota.path] = known._replace(pairs=(*known.pairs, pair))
    return list(found.values())


def _throttled(tree: Tree, pair: Pair) -> Throttled | None:
    path = pair.running.container.path
    inner = [each for each in tree.below(path) if each.rpartition("/")[2] != _EXEC]
    found = [(quota, each) for each in (*above(path), path, *inner) if (quota := tree.quota(each))]
    if not found:
        return None
    least = min((quota for quota, _ in found), key=lambda quota: quota.cpus)
    if least.cpus < len(pair.wanted):
        return Throttled((pair,), least, 0)
    own = ((quota, tree.throttled(each)) for quota, each in found if each in (path, *inner))
    return next((Throttled((pair,), quota, count) for quota, count in own if count), None)
