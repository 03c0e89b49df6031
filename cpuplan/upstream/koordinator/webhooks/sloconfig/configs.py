"""The five keys of slo-controller-config that the webhook checks, field by field.

From apis/configuration/slo_controller_config.go and apis/slo/v1alpha1/nodeslo_types.go.
"""

from cpuplan.upstream.koordinator.annotations.values import QUANTITY
from cpuplan.upstream.koordinator.webhooks.sloconfig.fields import (
    Field,
    Struct,
    embedded,
    flag,
    flags,
    integer,
    integer32,
    number,
    word,
)
from cpuplan.upstream.koordinator.webhooks.sloconfig.resourceqos import RESOURCE_QOS
from cpuplan.upstream.koordinator.webhooks.sloconfig.types import (
    DURATION,
    EXTENSIONS,
    LABEL_SELECTOR,
)
from cpuplan.upstream.kubelet.go.unmarshal import STRING, slice_of, struct

_PERCENT = "min=0,max=100"
PROFILE = Struct(
    "configuration.NodeCfgProfile",
    (Field("Name", "name", STRING), Field("NodeSelector", "nodeSelector", LABEL_SELECTOR)),
)


def _pair(lower: str, upper: str, rules: str) -> tuple[Field, Field]:
    """Two limits that must be given together: the lower one less than the upper one."""
    return (
        integer(_go(upper), upper, f"{rules},gtfield={_go(lower)}"),
        integer(_go(lower), lower, f"{rules},ltfield={_go(upper)}"),
    )


def _go(json: str) -> str:
    return f"CPU{json[3:]}" if json.startswith("cpu") else json[0].upper() + json[1:]


_THRESHOLD = Struct(
    "v1alpha1.ResourceThresholdStrategy",
    (
        flag("Enable", "enable"),
        integer("CPUSuppressThresholdPercent", "cpuSuppressThresholdPercent", _PERCENT),
        integer("CPUSuppressMinPercent", "cpuSuppressMinPercent", _PERCENT),
        word("CPUSuppressPolicy", "cpuSuppressPolicy", "v1alpha1.CPUSuppressPolicy"),
        *_pair("memoryEvictLowerPercent", "memoryEvictThresholdPercent", _PERCENT),
        *_pair(
            "memoryAllocatableEvictLowerPercent", "memoryAllocatableEvictThresholdPercent", "min=0"
        ),
        *_pair(
            "cpuEvictBESatisfactionLowerPercent", "cpuEvictBESatisfactionUpperPercent", _PERCENT
        ),
        integer("CPUEvictBEUsageThresholdPercent", "cpuEvictBEUsageThresholdPercent", _PERCENT),
        integer("CPUEvictTimeWindowSeconds", "cpuEvictTimeWindowSeconds", "gt=0"),
        *_pair("cpuEvictLowerPercent", "cpuEvictThresholdPercent", _PERCENT),
        *_pair("cpuAllocatableEvictLowerPercent", "cpuAllocatableEvictThresholdPercent", "min=0"),
        word("CPUEvictPolicy", "cpuEvictPolicy", "v1alpha1.CPUEvictPolicy"),
        integer32("EvictEnabledPriorityThreshold", "evictEnabledPriorityThreshold"),
        integer32(
            "AllocatableEvictPriorityThreshold",
            "allocatableEvictPriorityThreshold",
            "min=0,max=7999",
        ),
    ),
)
_BURST = Struct(
    "v1alpha1.CPUBurstConfig",
    (
        word("Policy", "policy", "v1alpha1.CPUBurstPolicy"),
        integer("CPUBurstPercent", "cpuBurstPercent", "min=1,max=10000"),
        integer("CFSQuotaBurstPercent", "cfsQuotaBurstPercent", "min=100"),
        integer("CFSQuotaBurstPeriodSeconds", "cfsQuotaBurstPeriodSeconds", "min=-1"),
    ),
)
_BURST_STRATEGY = Struct(
    "v1alpha1.CPUBurstStrategy",
    (
        embedded(_BURST),
        integer("SharePoolThresholdPercent", "sharePoolThresholdPercent", _PERCENT),
    ),
)
_SYSTEM = Struct(
    "v1alpha1.SystemStrategy",
    (
        integer("MinFreeKbytesFactor", "minFreeKbytesFactor", "gt=0"),
        integer("WatermarkScaleFactor", "watermarkScaleFactor", "gt=0,max=400"),
        integer("MemcgReapBackGround", "memcgReapBackGround", "min=0,max=1"),
        integer("SchedGroupIdentityEnabled", "schedGroupIdentityEnabled"),
        integer("SchedIdleSaverWmark", "schedIdleSaverWmark"),
        flags("SchedFeatures", "schedFeatures"),
        integer("PageCacheLimitEnabled", "pageCacheLimitEnabled", "min=0,max=1"),
        Field("TotalNetworkBandwidth", "totalNetworkBandwidth", QUANTITY),
    ),
)
_COLOCATION_STRATEGY = Struct(
    "configuration.ColocationStrategy",
    (
        flag("Enable", "enable"),
        integer("MetricAggregateDurationSeconds", "metricAggregateDurationSeconds", "min=1"),
        integer("MetricReportIntervalSeconds", "metricReportIntervalSeconds", "min=1"),
        Field(
            "MetricAggregatePolicy",
            "metricAggregatePolicy",
            struct("v1alpha1.AggregatePolicy", durations=slice_of(DURATION)),
        ),
        word(
            "MetricMemoryCollectPolicy",
            "metricMemoryCollectPolicy",
            "v1alpha1.NodeMemoryCollectPolicy",
        ),
        integer("CPUReclaimThresholdPercent", "cpuReclaimThresholdPercent", "min=0"),
        word("CPUCalculatePolicy", "cpuCalculatePolicy", "configuration.CalculatePolicy"),
        integer("MemoryReclaimThresholdPercent", "memoryReclaimThresholdPercent", "min=0"),
        word("MemoryCalculatePolicy", "memoryCalculatePolicy", "configuration.CalculatePolicy"),
        integer("DegradeTimeMinutes", "degradeTimeMinutes", "min=1"),
        integer("UpdateTimeThresholdSeconds", "updateTimeThresholdSeconds", "min=1"),
        number("ResourceDiffThreshold", "resourceDiffThreshold", "gt=0,max=1"),
        word("MidReclaimMode", "midReclaimMode", "configuration.MidReclaimMode"),
        integer("MidCPUThresholdPercent", "midCPUThresholdPercent", _PERCENT),
        integer("MidMemoryThresholdPercent", "midMemoryThresholdPercent", _PERCENT),
        integer("MidUnallocatedPercent", "midUnallocatedPercent", _PERCENT),
        integer("MidStaticCPUReservedPercent", "midStaticCPUReservedPercent", _PERCENT),
        integer("MidStaticMemoryReservedPercent", "midStaticMemoryReservedPercent", _PERCENT),
        integer("BatchCPUThresholdPercent", "batchCPUThresholdPercent", "min=0"),
        integer("BatchMemoryThresholdPercent", "batchMemoryThresholdPercent", "min=0"),
        Field("Extensions", "extensions", EXTENSIONS),
    ),
)


def _of_nodes(go_type: str, strategy: Struct) -> Struct:
    return Struct(f"configuration.{go_type}", (embedded(PROFILE), embedded(strategy)))


def _config(go_type: str, nodes: str, strategy: Struct) -> Struct:
    """A configuration of the cluster and of groups of nodes."""
    return Struct(
        f"configuration.{go_type}",
        (
            Field("ClusterStrategy", "clusterStrategy", strategy),
            Field("NodeStrategies", "nodeStrategies", _of_nodes(nodes, strategy), is_list=True),
        ),
    )


COLOCATION = Struct(
    "configuration.ColocationCfg",
    (
        embedded(_COLOCATION_STRATEGY),
        Field(
            "NodeConfigs",
            "nodeConfigs",
            _of_nodes("NodeColocationCfg", _COLOCATION_STRATEGY),
            is_list=True,
        ),
    ),
)
RESOURCE_THRESHOLD = _config("ResourceThresholdCfg", "NodeResourceThresholdStrategy", _THRESHOLD)
RESOURCE_QOS_CONFIG = _config("ResourceQOSCfg", "NodeResourceQOSStrategy", RESOURCE_QOS)
SYSTEM = _config("SystemCfg", "NodeSystemStrategy", _SYSTEM)
CPU_BURST = _config("CPUBurstCfg", "NodeCPUBurstCfg", _BURST_STRATEGY)
