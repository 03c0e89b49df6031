"""Names of the profiles that come with TuneD, and which of them the operator's profile has.

Upstream: redhat-performance/tuned profiles @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

#: What openshift-node and cpu-partitioning are made of, on machines and in virtual machines.
PARENTS = frozenset(
    (
        "cpu-partitioning",
        "latency-performance",
        "network-latency",
        "network-throughput",
        "openshift",
        "openshift-node",
        "throughput-performance",
        "virtual-guest",
    )
)
_OTHERS = frozenset(
    (
        "accelerator-performance",
        "atomic-guest",
        "atomic-host",
        "aws",
        "balanced",
        "balanced-battery",
        "cpu-partitioning-powersave",
        "default",
        "desktop",
        "desktop-powersave",
        "enterprise-storage",
        "hpc-compute",
        "intel-sst",
        "laptop-ac-powersave",
        "laptop-battery-powersave",
        "mssql",
        "openshift-control-plane",
        "optimize-serial-console",
        "oracle",
        "postgresql",
        "powersave",
        "realtime",
        "realtime-virtual-guest",
        "realtime-virtual-host",
        "sap-hana",
        "sap-hana-kvm-guest",
        "sap-netweaver",
        "server-powersave",
        "spectrumscale-ece",
        "spindown-disk",
        "virtual-host",
    )
)


def is_packaged(name: str) -> bool:
    """Whether a profile of this name comes with TuneD."""
    return name in PARENTS or name in _OTHERS
