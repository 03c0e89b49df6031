"""What the KubeVirt object of a cluster says about the pods of its machines.

Upstream: kubevirt/kubevirt pkg/virt-config/virt-config.go pkg/virt-config/configuration.go
  pkg/virt-config/featuregate/active.go @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import Quantity, parse
from cpuplan.upstream.kubevirt.types import EVEN_PARITY, part

_DEFAULT_CPU_ALLOCATION_RATIO = 10
_DEFAULT_MEMORY_OVERCOMMIT = 100
#: Beyond it a ratio, such as `inf`, is none.
_LARGEST_RATIO = 1000.0


class Config(NamedTuple):
    """Each is as KubeVirt has it where its object says nothing.

    `supports` are the amounts of containers beside the machine's, by (type, column, resource).
    """

    cpu_allocation_ratio: int = _DEFAULT_CPU_ALLOCATION_RATIO
    memory_overcommit: int = _DEFAULT_MEMORY_OVERCOMMIT
    overhead_ratio: float = 1.0
    allows_emulation: bool = False
    completes_to_even_parity: bool = False
    logs_serial_console: bool = True
    has_image_volumes: bool = True
    runtime_class: str = ""
    architecture: str = ""
    supports: Mapping[tuple[str, str, str], Quantity] = MappingProxyType({})

    def support(self, kind: str, column: str, resource: str, default: str) -> Quantity:
        """The amount of a container of a type (GetSupportContainerRequest and -Limit)."""
        given = self.supports.get((kind, column, resource))
        return parse(default) if given is None else given


DEFAULT = Config()


def read_config(manifest: Mapping[str, Any]) -> Config:
    """A KubeVirt object; what is of another type there is left as it is by default."""
    given = part(manifest, "spec", "configuration")
    developer = part(given, "developerConfiguration")
    annotations = part(manifest, "metadata", "annotations")
    options = part(given, "virtualMachineOptions")
    runtime_class = given.get("defaultRuntimeClass")
    return Config(
        _positive(developer.get("cpuAllocationRatio"), _DEFAULT_CPU_ALLOCATION_RATIO),
        _positive(developer.get("memoryOvercommit"), _DEFAULT_MEMORY_OVERCOMMIT),
        _ratio(given.get("additionalGuestMemoryOverheadRatio")),
        developer.get("useEmulation") is True,
        EVEN_PARITY in annotations and "AlignCPUs" in _gates(developer, "featureGates"),
        options.get("disableSerialConsoleLog") is None,
        "ImageVolume" not in _gates(developer, "disabledFeatureGates"),
        runtime_class if isinstance(runtime_class, str) else "",
        supports=_supports(given.get("supportContainerResources")),
    )


def _gates(developer: Mapping[str, Any], key: str) -> list[Any]:
    listed = developer.get(key)
    return listed if isinstance(listed, list) else []


def _positive(given: Any, default: int) -> int:
    is_number = isinstance(given, int) and not isinstance(given, bool) and given > 0
    return given if is_number else default


def _ratio(given: Any) -> float:
    try:
        ratio = float(given)
    except (TypeError, ValueError, OverflowError):
        return 1.0
    return ratio if 0 < ratio <= _LARGEST_RATIO else 1.0


def _supports(listed: Any) -> dict[tuple[str, str, str], Quantity]:
    amounts = {}
    for entry in listed if isinstance(listed, list) else ():
        for column in ("requests", "limits"):
            for name, amount in part(entry, "resources", column).items():
                try:
                    amounts[str(entry.get("type")), column, str(name)] = parse(str(amount))
                except KubeletError:
                    continue
    return amounts
