"""Devices of plugins on simulated nodes: which there are, and what of them nobody knows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.base.text import counted, joined
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY
from cpuplan.fleet import device_plugins
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Device, Plugin
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod, Resources, aggregate, sum_of
from cpuplan.upstream.kubernetes.quantity import Quantity

#: Resources that no device plugin gives out, by the end of their domain, or one that knows no NUMA
#: nodes (/dev/kvm, kubevirt/kubevirt pkg/virt-handler/device-manager/generic_device.go).
_WITHOUT_DEVICES = (
    "kubernetes.io",
    "koordinator.sh",
    "workload.openshift.io",
    "devices.kubevirt.io",
)
#: `4@0`, `2@0+1`, `1@-`: so many devices near NUMA nodes, or near none.
_NEAR = re.compile(r"([0-9]{1,6})@(-|[0-9]{1,4}(?:\+[0-9]{1,4})*)\Z")
#: Devices of one resource: SR-IOV gives a node some thousands.
_MOST_DEVICES = 10_000


class Given(NamedTuple):
    """What `--resource` says that each node has: amounts, and devices near NUMA nodes."""

    amounts: Resources = MappingProxyType({})
    plugins: Mapping[str, Plugin] = MappingProxyType({})

    def on(self, plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
        """The plugins of a node: an amount that is not theirs leaves the NUMA nodes unknown."""
        known = {plugin.resource: plugin for plugin in plugins if self._agrees(plugin)}
        return tuple({**known, **self.plugins}.values())

    def _agrees(self, plugin: Plugin) -> bool:
        amount = self.amounts.get(plugin.resource)
        return amount is None or amount.value == len(plugin.devices)


def read_given(texts: Iterable[str]) -> Given:
    """Options NAME=AMOUNT, NAME=COUNT@NODE,...; KubeletError for what is neither."""
    amounts: dict[str, Quantity] = {}
    plugins: dict[str, Plugin] = {}
    for text in texts:
        name, _, amount = text.partition("=")
        if not name:
            raise KubeletError("no name")
        if "@" in amount:
            plugins[name] = _plugin(name, amount)
            amounts[name] = quantity.of(len(plugins[name].devices))
        else:
            amounts[name] = quantity.parse(amount)
            plugins.pop(name, None)
    return Given(amounts, plugins)


def _plugin(name: str, text: str) -> Plugin:
    """Devices that are called by their resource and a number."""
    nodes = [near for part in text.split(",") for near in _near(part)]
    own = name.rpartition("/")[2]
    return Plugin(name, tuple(Device(f"{own}-{at}", near) for at, near in enumerate(nodes)))


def _near(text: str) -> list[tuple[int, ...] | None]:
    matched = _NEAR.match(text)
    if not matched:
        raise KubeletError("no devices")
    count, nodes = int(matched[1]), matched[2]
    numbers = None if nodes == "-" else tuple(map(int, nodes.split("+")))
    if count > _MOST_DEVICES or any(number > MAX_NUMA_NODE for number in numbers or ()):
        raise KubeletError("too many devices")
    return [numbers] * count


def unaligned(plans: Sequence[ConfiguredPlan], pods: Iterable[Pod], given: Given) -> list[str]:
    """Resources of device plugins that a topology manager aligns, whose NUMA nodes nobody knows.

    Their hints decide with those of CPUs and memory, and are left out (cm/devicemanager,
    GetTopologyHints).
    """
    names = sorted(name for name in _requested(pods) if is_of_devices(name))
    merging = [plan for plan in plans if names and _merges_hints(plan)]
    known = [_known(plan, given) for plan in merging]
    return [name for name in names if known and name not in set.intersection(*known)]


def _known(plan: ConfiguredPlan, given: Given) -> set[str]:
    if plan.node_class.target.has_topology_aware:
        return set()  # the policy goes by the devices of containers, and the port does not
    return {plugin.resource for plugin in _offered(plan, given)}


def _offered(plan: ConfiguredPlan, given: Given) -> tuple[Plugin, ...]:
    return given.on(device_plugins.plugins_of(plan.node_class))


def is_of_devices(name: str) -> bool:
    """Whether a device plugin gives out a resource, as far as its name tells."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith(_WITHOUT_DEVICES)


def _requested(pods: Iterable[Pod]) -> set[str]:
    limits = sum_of(aggregate(pod, "limits") for pod in pods)
    return {name for name, amount in limits.items() if amount.nano}


def _merges_hints(plan: ConfiguredPlan) -> bool:
    """Whether hints of several NUMA nodes are merged, by the kubelet or the NRI policy."""
    policy = planned(plan).config.get(TOPOLOGY_MANAGER_POLICY.key, "none")
    is_aligned = policy != "none" or plan.node_class.target.has_topology_aware
    return is_aligned and len(plan.topology.numa_nodes) > 1


def notes(plans: Sequence[ConfiguredPlan], pods: Sequence[Pod], given: Given) -> Iterator[str]:
    """What of the devices is unknown, assumed, or not determined."""
    by_policy = [plan for plan in plans if plan.node_class.target.has_topology_aware]
    if unseen := unaligned(by_policy, pods, given):
        yield (
            f"the devices of {joined(unseen)} are not simulated: the topology-aware policy chooses "
            "pools by them, so pods may get other CPUs than here"
        )
    by_kubelet = [plan for plan in plans if plan not in by_policy]
    if unknown := unaligned(by_kubelet, pods, given):
        yield (
            f"the NUMA nodes of {joined(unknown)} are not known: the topology manager also counts "
            "the hints of devices, so pods may be refused, or get other CPUs than here; say with "
            "devicePlugins of the Hardware which devices they are, or give them with --resource "
            "NAME=COUNT@NODE"
        )
    requested = _requested(pods)
    for name in sorted(requested.difference(given.plugins)):
        assumed = {words for plan in plans if (words := _assumed(name, plan, given))}
        if assumed:
            yield f"{name}: {joined(sorted(assumed))} of the inventory, as its vendor's plugin has"


def _assumed(name: str, plan: ConfiguredPlan, given: Given) -> str:
    """The devices of a resource that no document states, in words."""
    if name in device_plugins.stated(plan.node_class):
        return ""
    for plugin in _offered(plan, given):
        if plugin.resource == name:
            return f"{counted(len(plugin.devices), 'device')} {_where(plugin)}"
    return ""


def _where(plugin: Plugin) -> str:
    """`4 on NUMA node 0, 4 on 1`."""
    counts: dict[tuple[int, ...], int] = {}
    for device in plugin.devices:
        counts[device.nodes or ()] = counts.get(device.nodes or (), 0) + 1
    parts = [
        f"{number} on NUMA node {','.join(map(str, nodes))}" if nodes else f"{number} on none"
        for nodes, number in sorted(counts.items())
    ]
    return f"({', '.join(parts)})"
