"""Settings that only OpenShift has."""

from functools import partial

from cpuplan.facts.settings.costs import UNREAD, Cost, Impact, Rule
from cpuplan.facts.settings.crio import MIXED_CPUS
from cpuplan.facts.settings.host import BIN, BOOT, UNIT_FOLDER, UNITS
from cpuplan.facts.settings.kubelet import CONFIG
from cpuplan.facts.settings.row import Row, operator_only, with_operator

DRAIN = "drain and reboot by the machine config operator"
UPDATE = "pkg/daemon/update.go"
POLICIES = "docs/NodeDisruptionPolicy.md; pkg/apihelpers/apihelpers.go"
KERNEL = Rule(
    "mco-kernel-type",
    Impact.REBOOT,
    f"{DRAIN}, into another kernel",
    "Another kernel is installed by a reboot. Of several objects the last one that names a "
    "kernel other than the default wins.",
    f"{UPDATE} (newMachineConfigDiff); pkg/controller/common/helpers.go (MergeMachineConfigs)",
)
UNIT = Rule(
    "mco-unit",
    Impact.REBOOT,
    DRAIN,
    "A systemd unit without a node disruption policy of exactly its name reboots the nodes.",
    f"{UPDATE} (calculatePostConfigChangeNodeDisruptionAction); {POLICIES}",
)

PINNING = "pinning"
_PINNING_FILES = Rule(
    "workload-partitioning",
    Impact.RESTART,
    "restart of crio.service and of the kubelet",
    "CRI-O and the kubelet read the CPUs of the platform's pods when they start.",
    "openshift/enhancements workload-partitioning",
    costs=Cost.RESTARTS,
)
_pinning = partial(Row, PINNING, shown_by="", cost=_PINNING_FILES)
PLATFORM_CPUS = _pinning("management.cpuset", field="targets.cpuPartitioning")
#: For MachineConfigs of other pools; no file of the node has it.
PINNED_POOLS = _pinning("pools", cost=UNREAD, field="targets.pinnedPools")

MIXED = "mixedcpus"
LIMIT = with_operator(
    "containers-limit",
    "up to 256 containers may use shared CPUs, as under the node tuning operator",
    off="runtime: {containersLimit: 100}",
)
#: How many containers of the node may share CPUs.
CONTAINERS_LIMIT = Row(
    MIXED,
    "shared_cpus.containers_limit",
    shown_by="kubectl get node -o yaml",
    cost=CONFIG,
    field="runtime.containersLimit",
    usually="256",
    defaults=(
        MIXED_CPUS,
        LIMIT,
    ),
)

# The MachineConfig's own fields, and the pool.
MACHINE_CONFIG, POOL = "machineconfig", "pool"
_machine_config = partial(Row, MACHINE_CONFIG, shown_by="uname -v", cost=KERNEL)
KERNEL_TYPE = _machine_config(
    "kernelType",
    field="kernel.realTime",
    usually="default",
    defaults=(
        with_operator(
            "kernel-type",
            "nodes boot the usual kernel of the release",
            off="kernel: {realTime: true}",
        ),
    ),
)
#: A pool that takes the object before and after takes the same.
MACHINE_CONFIG_LABELS = _machine_config(
    "metadata.labels", cost=UNREAD, field="targets.machineConfigLabel"
)
#: Another pool may mean another configuration, or the same.
_pool = partial(Row, POOL, shown_by="", cost=None, field="targets.pool")
POOL_LABELS = _pool("metadata.labels", field="targets.machineConfigPoolSelector")
POOL_SELECTOR = _pool("machineConfigSelector")
POOL_WITHOUT = _pool("machineConfigSelector.cpuplan.io/pool")
POOL_NODES = _pool("nodeSelector", field="targets.nodeSelector")

#: Fields below `spec`, and annotations: the objects that the operator makes of it tell the cost.
PROFILE = "performanceprofile"
PROFILE_FIELD = Row(PROFILE, "{field}", shown_by="", cost=None)

# Open vSwitch with DPDK: the arguments of a unit.
OVS_DPDK = "ovsdpdk"
_ovs_dpdk = partial(Row, OVS_DPDK, shown_by="", cost=UNIT)
OVS_DPDK_CPUS = _ovs_dpdk("OVS_DPDK_CPUS", field="openVSwitch.dpdk")
OVS_DPDK_PARTITION = _ovs_dpdk(
    "partition",
    field="openVSwitch.loadBalancing",
    defaults=(
        with_operator(
            "dpdk-balancing",
            "the scheduler may move the threads of Open vSwitch",
            off="openVSwitch: {loadBalancing: false}",
        ),
    ),
)

# Units and files that the node tuning operator ships.
_shipped = partial(Row, UNITS, shown_by="systemctl cat", cost=BOOT)
_OVS_SLICE = operator_only(
    "ovs-slice", "Open vSwitch may use all CPUs: its affinity is managed by OVN-Kubernetes"
)
IRQBALANCE_SCRIPT = _shipped(
    f"{BIN}/clear-irqbalance-banned-cpus.sh",
    defaults=(operator_only("irqbalance-start", "clear-irqbalance-banned-cpus.service runs it"),),
)
CPUSET_SCRIPT = _shipped(
    f"{BIN}/cpuset-configure.sh",
    defaults=(operator_only("cgroup-v1", "cpuset-configure.service runs it"),),
)
OVS_SLICE = _shipped(f"{UNIT_FOLDER}/ovs.slice", defaults=(_OVS_SLICE,))
USE_OVS_SLICE = _shipped(
    f"{UNIT_FOLDER}/{{service}}.service.d/01-use-ovs-slice.conf", defaults=(_OVS_SLICE,)
)
DYNAMIC_AFFINITY = _shipped(
    "/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity", defaults=(_OVS_SLICE,)
)
STALLD_BACKEND = _shipped(
    "/etc/sysconfig/stalld-backend",
    defaults=(
        operator_only(
            "stalld-backend",
            "stalld reads the scheduler's debug files, as under the node tuning operator",
        ),
    ),
)
STALLD_DROP_IN = _shipped(
    f"{UNIT_FOLDER}/stalld.service.d/stalld-backend.conf",
    defaults=(operator_only("stalld-backend", "stalld must know its backend"),),
)
IRQBALANCE_UNIT = _shipped(
    "clear-irqbalance-banned-cpus.service",
    defaults=(
        operator_only(
            "irqbalance-start",
            "irqbalance starts with no CPU banned: CRI-O bans those of pinned pods",
        ),
    ),
)
CPUSET_UNIT = _shipped(
    "cpuset-configure.service",
    defaults=(
        operator_only(
            "cgroup-v1",
            "with cgroup v1, load balancing can be switched off only if the root cgroup has none",
        ),
    ),
)
TUNED_ONE_SHOT = _shipped(
    "ocp-tuned-one-shot.service",
    defaults=(operator_only("tuned-first", "TuneD tunes the node before its kubelet starts"),),
)
