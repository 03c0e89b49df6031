"""The keys of slo-controller-config, field by field: those that the webhook checks, and the others.

The others koord-manager reads as it runs.

Upstream: koordinator-sh/koordinator apis/configuration/slo_controller_config.go
  apis/slo/v1alpha1/nodeslo_types.go @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.util import QUANTITY
from cpuplan.upstream.kubernetes.durations import parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, Type, kind_of, map_of, slice_of
from cpuplan.upstream.kubernetes.strconv import float_text
from cpuplan.upstream.kubernetes.unmarshal import (
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    RawNumber,
    struct,
    unmarshal,
)

Values = Mapping[str, Any]


class Field(NamedTuple):
    """A field: its names in Go and JSON, its type, and rules such as `min=0,ltfield=Other`.

    The JSON name is empty for an embedded struct.
    """

    go: str
    json: str
    type: "Type | Struct"
    rules: str = ""
    is_list: bool = False


class Struct(NamedTuple):
    """A struct by its name in errors."""

    go_type: str
    fields: tuple[Field, ...]

    def as_type(self) -> Type:
        """Its JSON, with the fields of embedded structs beside its own."""
        return Type(self.go_type, "object", dict(self._json_fields()))

    def _json_fields(self) -> Iterator[tuple[str, Type]]:
        for field in self.fields:
            inner = field.type.as_type() if isinstance(field.type, Struct) else field.type
            if not field.json:
                yield from (inner.fields or {}).items()
            elif field.is_list:
                yield field.json, Type(f"[]{inner.go_type}", "array", items=inner)
            else:
                yield field.json, inner


def integer(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, INT64, rules)


def integer32(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, INT32, rules)


def number(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, FLOAT64, rules)


def flag(go: str, json: str) -> Field:
    return Field(go, json, BOOL)


def word(go: str, json: str, go_type: str) -> Field:
    """A string of a type of its own: any value passes."""
    return Field(go, json, STRING._replace(go_type=go_type))


def flags(go: str, json: str) -> Field:
    return Field(go, json, map_of(BOOL))


def embedded(struct: Struct) -> Field:
    return Field(struct.go_type.rpartition(".")[2], "", struct)


def problems(struct: Struct, values: Values) -> dict[str, str]:
    """What the validator says against a decoded struct, by the path of the field."""
    return dict(_problems(struct, values, struct.go_type.rpartition(".")[2]))


def _problems(struct: Struct, values: Values, path: str) -> Iterator[tuple[str, str]]:
    by_go = {field.go: values.get(field.json) for field in struct.fields if field.json}
    for field in struct.fields:
        where = f"{path}.{field.go}"
        given: Any = values if not field.json else values.get(field.json)
        if given is None:
            continue
        if isinstance(field.type, Struct):
            rows = enumerate(given) if field.is_list else ()
            for index, row in rows:
                yield from _problems(field.type, row, f"{where}[{index}]")
            if not field.is_list:
                yield from _problems(field.type, given, where)
        elif text := _problem(field, given, by_go):
            yield where, text


_SENTENCES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "min": (lambda value, limit: value >= limit, "must be {} or greater"),
    "max": (lambda value, limit: value <= limit, "must be {} or less"),
    "gt": (lambda value, limit: value > limit, "must be greater than {}"),
    "gtfield": (lambda value, limit: value > limit, "must be greater than {}"),
    "ltfield": (lambda value, limit: value < limit, "must be less than {}"),
}


def _problem(field: Field, value: float, others: Mapping[str, Any]) -> str:
    """The first rule that a value breaks; a rule about a field that is absent is broken too."""
    for rule in field.rules.split(",") if field.rules else ():
        name, _, parameter = rule.partition("=")
        holds, sentence = _SENTENCES[name]
        limit = others[parameter] if name.endswith("field") else float(parameter)
        shown = parameter if name.endswith("field") else _grouped(float(parameter))
        if limit is None or not holds(value, limit):
            return f"{field.go} {sentence.format(shown)}"
    return ""


def _grouped(limit: float) -> str:
    """`7,999`."""
    return f"{int(limit):,}" if limit == int(limit) else float_text(limit)


LABEL_SELECTOR = struct(
    "v1.LabelSelector",
    matchLabels=map_of(STRING),
    matchExpressions=slice_of(
        struct(
            "v1.LabelSelectorRequirement",
            key=STRING,
            operator=Type("v1.LabelSelectorOperator", "string"),
            values=slice_of(STRING),
        )
    ),
)


def _read_duration(value: Any) -> int:
    if isinstance(value, str) and not isinstance(value, RawNumber):
        return parse_duration(value)
    raise _refused(value, "string")


def _read_int_or_string(value: Any) -> int | str:
    if isinstance(value, RawNumber):
        number: int = unmarshal(value, INT32)
        return number
    if isinstance(value, str):
        return value
    raise _refused(value, "int32")


def _refused(value: Any, go_type: str) -> KubeletError:
    kind = "number" if isinstance(value, RawNumber) else kind_of(value)
    return KubeletError(f"json: cannot unmarshal {kind} into Go value of type {go_type}")


DURATION = Type("v1.Duration", "string", read=_read_duration)
INT_OR_STRING = Type("intstr.IntOrString", "string", read=_read_int_or_string)
EXTENSIONS = Type("configuration.ExtraFields", "object")


_PERCENTAGE, _SWITCH = "min=0,max=100", "min=0,max=1"
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
    integer("MinLimitPercent", "minLimitPercent", _PERCENTAGE),
    integer("LowLimitPercent", "lowLimitPercent", _PERCENTAGE),
    integer("ThrottlingPercent", "throttlingPercent", _PERCENTAGE),
    integer("WmarkRatio", "wmarkRatio", _PERCENTAGE),
    integer("WmarkScalePermill", "wmarkScalePermill", "min=1,max=1000"),
    integer("WmarkMinAdj", "wmarkMinAdj", "min=-25,max=50"),
    integer("PriorityEnable", "priorityEnable", _SWITCH),
    integer("Priority", "priority", "min=0,max=12"),
    integer("OomKillGroup", "oomKillGroup", _SWITCH),
    flag("PageCacheEnable", "pageCacheEnable"),
    integer("PageCacheLimitPercent", "pageCacheLimitPercent", _PERCENTAGE),
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
        "CATRangeStartPercent", "catRangeStartPercent", f"{_PERCENTAGE},ltfield=CATRangeEndPercent"
    ),
    integer(
        "CATRangeEndPercent", "catRangeEndPercent", f"{_PERCENTAGE},gtfield=CATRangeStartPercent"
    ),
    integer("MBAPercent", "mbaPercent", _PERCENTAGE),
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


_AMPLIFICATION = "resource-amplification-config"
_NORMALIZATION = "cpu-normalization-config"
_RATIOS = {
    "enable": BOOL,
    "resourceAmplificationRatio": map_of(FLOAT64, "v1.ResourceName"),
}
_MODEL = struct(
    "configuration.ModelRatioCfg",
    baseRatio=FLOAT64,
    hyperThreadEnabledRatio=FLOAT64,
    turboEnabledRatio=FLOAT64,
    hyperThreadTurboEnabledRatio=FLOAT64,
)
_MODELS = {"enable": BOOL, "defaultRatio": FLOAT64, "ratioModel": map_of(_MODEL)}
_PROFILE = {"name": STRING, "nodeSelector": LABEL_SELECTOR}
_APPLICATION = struct(
    "v1alpha1.HostApplicationSpec",
    name=STRING,
    priority=Type("extension.PriorityClass", "string"),
    qos=Type("extension.QoSClass", "string"),
    cgroupPath=struct(
        "v1alpha1.CgroupPath",
        base=Type("v1alpha1.CgroupBaseType", "string"),
        parentDir=STRING,
        relativePath=STRING,
    ),
)
_APPLICATIONS = {"applications": slice_of(_APPLICATION)}


def _unchecked_config(go_type: str, fields: Mapping[str, Type]) -> Type:
    nodes = Type(f"configuration.Node{go_type}", "object", {**_PROFILE, **fields})
    return Type(f"configuration.{go_type}", "object", {**fields, "nodeConfigs": slice_of(nodes)})


_TYPES = {
    _AMPLIFICATION: _unchecked_config("ResourceAmplificationCfg", _RATIOS),
    _NORMALIZATION: _unchecked_config("CPUNormalizationCfg", _MODELS),
    "host-application-config": _unchecked_config("HostApplicationCfg", _APPLICATIONS),
}


def failures(key: str, text: str) -> list[str]:
    """What koord-manager finds when it uses the value of an unchecked key."""
    if key not in _TYPES or not text:
        return []
    try:
        value = unmarshal(text, _TYPES[key])
    except KubeletError as error:
        return [str(error)]
    sections = [value, *(value.get("nodeConfigs") or ())]
    return [problem for section in sections for problem in _ratio_problems(section)]


def _ratio_problems(section: Mapping[str, Any]) -> Iterator[str]:
    for name, ratio in (section.get("resourceAmplificationRatio") or {}).items():
        if ratio < 1:
            yield f"the ratio of {name} is {float_text(ratio)}, less than 1"
    for model, ratios in (section.get("ratioModel") or {}).items():
        for name, ratio in ratios.items():
            if ratio < 1:
                yield f"{name} of {model} is {float_text(ratio)}, less than 1"


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
