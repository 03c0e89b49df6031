"""The strategy of resource-qos-config, by class of pods."""

from cpuplan.upstream.koordinator.webhooks.sloconfig.fields import (
    Field,
    Struct,
    embedded,
    flag,
    integer,
    word,
)
from cpuplan.upstream.koordinator.webhooks.sloconfig.types import INT_OR_STRING

_PERCENT, _SWITCH = "min=0,max=100", "min=0,max=1"
_END = "CATRangeEndPercent"
_ENABLE = flag("Enable", "enable")
#: The classes whose shares of the network are added up: names in Go and in JSON.
CLASSES = (("LSRClass", "lsrClass"), ("LSClass", "lsClass"), ("BEClass", "beClass"))


def _section(name: str, *fields: Field) -> Struct:
    """A section that can be switched on: v1alpha1.CPUQOSCfg embeds v1alpha1.CPUQOS."""
    inner = Struct(f"v1alpha1.{name}", fields)
    return Struct(f"v1alpha1.{name}Cfg", (_ENABLE, embedded(inner)))


_CPU = _section(
    "CPUQOS",
    integer("GroupIdentity", "groupIdentity", "min=-1,max=2"),
    integer("SchedIdle", "schedIdle", _SWITCH),
    flag("CoreExpeller", "coreExpeller"),
)
_MEMORY = _section(
    "MemoryQOS",
    integer("MinLimitPercent", "minLimitPercent", _PERCENT),
    integer("LowLimitPercent", "lowLimitPercent", _PERCENT),
    integer("ThrottlingPercent", "throttlingPercent", _PERCENT),
    integer("WmarkRatio", "wmarkRatio", _PERCENT),
    integer("WmarkScalePermill", "wmarkScalePermill", "min=1,max=1000"),
    integer("WmarkMinAdj", "wmarkMinAdj", "min=-25,max=50"),
    integer("PriorityEnable", "priorityEnable", _SWITCH),
    integer("Priority", "priority", "min=0,max=12"),
    integer("OomKillGroup", "oomKillGroup", _SWITCH),
    flag("PageCacheEnable", "pageCacheEnable"),
    integer("PageCacheLimitPercent", "pageCacheLimitPercent", _PERCENT),
    integer("PageCacheLimitSize", "pageCacheLimitSize"),
    flag("PageCacheReclaimSync", "pageCacheReclaimSync"),
)
_LIMITS = (
    "readIOPS",
    "writeIOPS",
    "readBPS",
    "writeBPS",
    "ioWeightPercent",
    "readLatency",
    "writeLatency",
    "readLatencyPercent",
    "writeLatencyPercent",
    "modelReadBPS",
    "modelWriteBPS",
    "modelReadSeqIOPS",
    "modelWriteSeqIOPS",
    "modelReadRandIOPS",
    "modelWriteRandIOPS",
)
_IO = Struct(
    "v1alpha1.IOCfg",
    (
        *(integer(name[0].upper() + name[1:], name) for name in _LIMITS),
        flag("EnableUserModel", "enableUserModel"),
    ),
)
_BLOCK = Struct(
    "v1alpha1.BlockCfg",
    (
        word("Name", "name", "string"),
        word("BlockType", "type", "v1alpha1.BlockType"),
        Field("IOCfg", "ioCfg", _IO),
    ),
)
_BLOCK_IO = _section("BlkIOQOS", Field("Blocks", "blocks", _BLOCK, is_list=True))
_RESCTRL = _section(
    "ResctrlQOS",
    integer(
        "CATRangeStartPercent", "catRangeStartPercent", f"{_PERCENT},ltfield=CATRangeEndPercent"
    ),
    integer("CATRangeEndPercent", "catRangeEndPercent", f"{_PERCENT},gtfield=CATRangeStartPercent"),
    integer("MBAPercent", "mbaPercent", _PERCENT),
)
#: What each class can ask of the network: a percentage or a quantity; names in Go and in JSON.
NETWORK_FIELDS = (
    ("IngressRequest", "ingressRequest"),
    ("IngressLimit", "ingressLimit"),
    ("EgressRequest", "egressRequest"),
    ("EgressLimit", "egressLimit"),
)
_NETWORK = _section("NetworkQOS", *(Field(go, json, INT_OR_STRING) for go, json in NETWORK_FIELDS))
_CLASS = Struct(
    "v1alpha1.ResourceQOS",
    (
        Field("CPUQOS", "cpuQOS", _CPU),
        Field("MemoryQOS", "memoryQOS", _MEMORY),
        Field("BlkIOQOS", "blkioQOS", _BLOCK_IO),
        Field("ResctrlQOS", "resctrlQOS", _RESCTRL),
        Field("NetworkQOS", "networkQOS", _NETWORK),
    ),
)
_POLICIES = Struct(
    "v1alpha1.ResourceQOSPolicies",
    (
        word("CPUPolicy", "cpuPolicy", "v1alpha1.CPUQOSPolicy"),
        word("NETQOSPolicy", "netQOSPolicy", "v1alpha1.NETQOSPolicy"),
    ),
)
RESOURCE_QOS = Struct(
    "v1alpha1.ResourceQOSStrategy",
    (
        Field("Policies", "policies", _POLICIES),
        *(Field(go, json, _CLASS) for go, json in CLASSES),
        Field("SystemClass", "systemClass", _CLASS),
        Field("CgroupRoot", "cgroupRoot", _CLASS),
    ),
)
