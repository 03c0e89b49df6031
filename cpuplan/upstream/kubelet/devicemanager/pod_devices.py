"""Devices of plugins, and who has which of them (pkg/kubelet/cm/devicemanager/pod_devices.go).

Sets of devices are integers: a bit for each device of a pool.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/devicemanager/pod_devices.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import bits_of, masks_over, members
from cpuplan.upstream.kubernetes.errors import NIL_DEREFERENCE, PanicError

#: NUMA nodes with higher numbers are in no mask (bitmask.IsSet).
_MASK_WIDTH = 64


class Device(NamedTuple):
    """A device as its plugin reports it; `nodes` is None without any word on NUMA nodes."""

    id: str
    nodes: tuple[int, ...] | None = None
    is_healthy: bool = True

    @property
    def mask(self) -> int:
        """Its NUMA nodes as a mask; 0 for a device that is near none."""
        return bits_of({node for node in self.nodes or () if 0 <= node < _MASK_WIDTH})


class Plugin(NamedTuple):
    """The devices that a plugin offers as one resource.

    `may_prefer`: it says which of them it would rather give out (GetPreferredAllocation), or nobody
    knows whether it does.
    """

    resource: str
    devices: tuple[Device, ...]
    may_prefer: bool = True


class Pool:
    """The registered devices of a resource."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.devices = plugin.devices
        self._at = {device.id: at for at, device in enumerate(self.devices)}
        self.all = (1 << len(self.devices)) - 1
        self.healthy = bits_of(at for at, device in enumerate(self.devices) if device.is_healthy)
        self._near_sets: dict[tuple[int, ...], tuple[tuple[int, int, int], ...]] = {}
        #: The devices by their masks of NUMA nodes.
        self.by_mask: dict[int, int] = {}
        for at, device in enumerate(self.devices):
            self.by_mask[device.mask] = self.by_mask.get(device.mask, 0) | 1 << at
        #: Those that have a word on NUMA nodes, and it is empty or names none that a mask can have.
        self.lost = bits_of(
            at for at, device in enumerate(self.devices) if device.nodes is not None
        ) & self.by_mask.get(0, 0)
        self.without_nodes = bits_of(
            at for at, device in enumerate(self.devices) if not {*(device.nodes or ())} - {-1}
        )

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """The NUMA nodes of all devices, ascending."""
        return tuple(sorted({node for device in self.devices for node in device.nodes or ()}))

    def bits(self, ids: Iterable[str]) -> int:
        """The devices with these ids; PanicError for one that is not registered any more."""
        try:
            return bits_of(self._at[name] for name in ids)
        except KeyError:
            raise PanicError(NIL_DEREFERENCE) from None

    def known(self, ids: Collection[str]) -> int:
        """Those of the devices that are registered."""
        return bits_of(self._at[name] for name in ids if name in self._at)

    def ids(self, bits: int) -> tuple[str, ...]:
        """The ids of devices, in the order in which the plugin lists them."""
        return tuple(self.devices[at].id for at in members(bits))

    def near_sets(self, nodes: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
        """For each set of NUMA nodes its mask, its size, and the devices that are near it."""
        known = self._near_sets.get(nodes)
        if known is None:
            sets = masks_over(nodes)
            known = tuple((mask, len(of_mask), self.near(mask)) for mask, of_mask in sets)
            self._near_sets[nodes] = known
        return known

    def near(self, mask: int) -> int:
        """The devices that are near any NUMA node of a mask."""
        near = 0
        for nodes, bits in self.by_mask.items():
            if nodes & mask:
                near |= bits
        return near


#: By resource, the ids of devices.
Given = dict[str, frozenset[str]]


class PodDevices:
    """What containers have, by pod UID and container name."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Given]] = {}

    def copy(self) -> "PodDevices":
        copied = PodDevices()
        for pod, containers in self.entries.items():
            copied.entries[pod] = {name: dict(given) for name, given in containers.items()}
        return copied

    def insert(self, pod: str, container: str, resource: str, ids: frozenset[str]) -> None:
        self.entries.setdefault(pod, {}).setdefault(container, {})[resource] = ids

    def delete(self, pod: str) -> None:
        self.entries.pop(pod, None)

    def of_pod(self, pod: str, resource: str) -> frozenset[str]:
        """The devices of all containers of a pod."""
        given = (given.get(resource) for given in self.entries.get(pod, {}).values())
        return frozenset().union(*filter(None, given))

    def of_container(self, pod: str, container: str) -> Given:
        return self.entries.get(pod, {}).get(container, {})

    def devices(self) -> dict[str, frozenset[str]]:
        """All devices that anybody has, by resource."""
        together: dict[str, frozenset[str]] = {}
        for containers in self.entries.values():
            for given in containers.values():
                for resource, ids in given.items():
                    together[resource] = together.get(resource, frozenset()) | ids
        return together
