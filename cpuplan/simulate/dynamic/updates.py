"""The order in which cpusets are changed so that no CPU has two owners on the way."""

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
#: Sets of CPUs by owner.
Sets = Mapping[K, int]


class Update(NamedTuple, Generic[K]):
    """What a container sees in the file that is projected into it: its CPUs before and after."""

    key: K
    old: int
    new: int


def order_updates(before: Sets[K], after: Sets[K]) -> list[Update[K]]:
    """The updates from one state to the next; both have the same owners.

    Owners that wait for each other shrink first to what they keep, which is an update more; one
    that keeps nothing then is changed while another still has its new CPUs.
    """
    now = dict(before)
    updates = []

    def change(key: K, cpus: int) -> None:
        updates.append(Update(key, now[key], cpus))
        now[key] = cpus

    while waiting := [key for key in now if now[key] != after[key]]:
        ready = [key for key in waiting if _is_free(key, after[key], now)]
        if ready:
            change(ready[0], after[ready[0]])
            continue
        shrinking = [key for key in waiting if now[key] & after[key] not in (0, now[key])]
        key = (shrinking or waiting)[0]
        change(key, now[key] & after[key] if shrinking else after[key])
    return updates


def _is_free(key: K, cpus: int, now: Sets[K]) -> bool:
    return not any(cpus & held for other, held in now.items() if other != key)


#: (pod UID, container name).
Key = tuple[str, str]
#: Stands for all containers in the shared pool.
SHARED_POOL: Key = ("", "")


class Admission(NamedTuple):
    """The CPUs of an admitted pod's containers, and the updates that other containers see.

    A container without exclusive CPUs has the shared pool. Without `is_exact` fewer CPUs might have
    been moved.
    """

    cpus: Mapping[str, int]
    updates: tuple[Update[Key], ...]
    is_exact: bool = True
