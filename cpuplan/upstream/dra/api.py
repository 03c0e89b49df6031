"""Names that the driver publishes, words of its configuration, and the error with which it refuses.

Apart from the port, so that those who only write them need not load it.

Upstream: kubernetes-sigs/dra-driver-cpu api/v1alpha1/types.go pkg/device/attributes.go
  pkg/device/builder.go pkg/driver/cdi.go @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""


class DraError(Exception):
    """An error of the driver; the message is its exact text."""


DRIVER = "dra.cpu"
#: The consumable capacity of grouped devices.
CAPACITY = f"{DRIVER}/cpu"
GROUPED, INDIVIDUAL = "grouped", "individual"
MODES = (GROUPED, INDIVIDUAL)
NUMA_NODE, SOCKET, MACHINE = "numanode", "socket", "machine"
GROUPS = (SOCKET, NUMA_NODE, MACHINE)
#: The prefixes of device names, and the whole name of the machine's device.
CPU_DEVICE, SOCKET_DEVICE, NUMA_DEVICE = "cpudev", "cpudevsocket", "cpudevnuma"
MACHINE_DEVICE = "cpudevmachine"
#: Attributes of devices; the last two say the same as the first, for older claims.
STANDARD_NUMA_NODE = "resource.kubernetes.io/numaNode"
SOCKET_ID, SMT_ENABLED = f"{DRIVER}/socketID", f"{DRIVER}/smtEnabled"
CACHE_L3_ID, CORE_TYPE = f"{DRIVER}/cacheL3ID", f"{DRIVER}/coreType"
CORE_ID, CPU_ID, NUM_CPUS = f"{DRIVER}/coreID", f"{DRIVER}/cpuID", f"{DRIVER}/numCPUs"
NET_NUMA_NODE, NUMA_NODE_ID = "dra.net/numaNode", f"{DRIVER}/numaNodeID"
#: In a container's environment, followed by the claim's uid: its CPUs.
ENVIRONMENT = "DRA_CPUSET"
#: Of configuration files, and of the opaque configuration of claims.
API_VERSION = "v1alpha1"
#: Of one ResourceSlice; half with lists as attributes.
DEVICES_PER_SLICE, WITH_LISTS = 128, 64
