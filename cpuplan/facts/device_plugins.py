"""Device plugins of vendors of GPUs: which devices they offer, and under which name."""

from typing import NamedTuple


class Known(NamedTuple):
    """A resource that whoever has such devices gets from the plugin of their vendor.

    `drivers` are those with which it offers them; a device of which no driver is known counts.
    """

    resource: str
    #: PCI vendor: its id, and how its name begins.
    vendor: str
    vendor_name: str
    drivers: tuple[str, ...]


#: Classes of devices that these plugins offer.
CLASSES = ("gpu", "accelerator")
KNOWN = (
    # NVIDIA/k8s-device-plugin internal/rm/devices.go
    Known("nvidia.com/gpu", "10de", "nvidia", ("nvidia",)),
    # ROCm/k8s-device-plugin internal/pkg/plugin/plugin.go
    Known("amd.com/gpu", "1002", "advanced micro devices", ("amdgpu",)),
    # intel/intel-device-plugins-for-kubernetes cmd/gpu_plugin/gpu_plugin.go
    Known("gpu.intel.com/i915", "8086", "intel", ("i915",)),
    Known("gpu.intel.com/xe", "8086", "intel", ("xe",)),
)
