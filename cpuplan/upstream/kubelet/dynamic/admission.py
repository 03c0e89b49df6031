"""What the dynamic policy answers when a pod comes."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.kubelet.dynamic.updates import Update

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
