"""What all input documents share: their envelope, and the types of their fields."""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from cpuplan import naming
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.model.base import matching, problem
from cpuplan.quantity import PATTERN as QUANTITY_PATTERN


def list_pattern(item: str) -> str:
    """The pattern of items with commas between them."""
    return f"^{item}(,{item})*$"


#: A CPU or a range of them.
RANGE = "[0-9]+(-[0-9]+)?"
_STRIDE = "[0-9]+(-[0-9]+(:[0-9]+/[0-9]+)?)?"


def _reader(
    parse: Callable[[str], CpuSet], types: type | tuple[type, ...] = (str, int)
) -> Callable[[object], CpuSet]:
    """What reads a CPU list; a bare number is an integer only to YAML."""

    def read(value: object) -> CpuSet:
        if isinstance(value, CpuSet):
            return value
        if isinstance(value, bool) or not isinstance(value, types):
            raise problem("cpu_list_type", "a CPU list is text such as 0-3,8")
        try:
            return parse(str(value))
        except CpuSetError as error:
            context = {"item": error.item, "problem": error.problem}
            raise problem("cpu_list", "{item} {problem}", context) from None

    return read


def _form(pattern: str, example: str) -> dict[str, object]:
    """The JSON Schema of a CPU list."""
    text = {"type": "string", "pattern": pattern}
    return {"anyOf": [text, _NUMBER], "examples": [example]}


_NUMBER = {"type": "integer", "minimum": 0}
_AS_TEXT = PlainSerializer(str)

#: A list that every reader down the line takes: `0-3,8`.
CpuList = Annotated[
    CpuSet,
    PlainValidator(_reader(CpuSet.parse)),
    _AS_TEXT,
    WithJsonSchema(_form(list_pattern(RANGE), "0-1,32-33")),
]
#: A list as the kernel prints or takes it, strides too: what inventories hold.
KernelList = Annotated[
    CpuSet,
    PlainValidator(_reader(CpuSet.parse_kernel)),
    _AS_TEXT,
    WithJsonSchema(_form(list_pattern(_STRIDE), "0-110:1/2")),
]
#: A list as the kubelet reads its own and PerformanceProfiles are written: text in any order,
#: repeats allowed.
KubeletList = Annotated[CpuSet, PlainValidator(_reader(CpuSet.parse_kubelet, str)), _AS_TEXT]


def _numbers_as_text(value: object) -> object:
    """`[0, 2]` says the same as `0,2`."""
    numbers = value if isinstance(value, list | tuple) else ()
    if numbers and all(type(number) is int and number >= 0 for number in numbers):
        return ",".join(map(str, numbers))
    return value


#: Numbers of NUMA nodes, sockets, dies or caches, in the same form, or as a list of numbers.
NumberList = Annotated[
    CpuSet,
    PlainValidator(_reader(CpuSet.parse)),
    BeforeValidator(_numbers_as_text),
    _AS_TEXT,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": list_pattern(RANGE)},
                _NUMBER,
                {"type": "array", "items": _NUMBER, "minItems": 1},
            ],
            "examples": ["0-1"],
        }
    ),
]


def _name_reader(longest: int, *, dots: bool = True) -> PlainValidator:
    """What reads a name of at most `longest` characters; `naming` has the rule."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise problem("string_type", "a name is text")
        if wrong := naming.problem_of(value, longest, dots=dots):
            instead = naming.instead_of(value, longest, dots=dots)
            raise problem("name", "{problem}", {"problem": wrong, "instead": instead})
        return value

    return PlainValidator(read)


def name_form(longest: int, *, dots: bool = True) -> dict[str, object]:
    """The JSON Schema of a name."""
    pattern = naming.NAME_PATTERN if dots else naming.LABEL_PATTERN
    return {"type": "string", "pattern": pattern, "maxLength": longest}


#: Of clusters, namespaces, partitions and runtime handlers: no dots.
Name = Annotated[
    str,
    _name_reader(naming.LONGEST_LABEL, dots=False),
    WithJsonSchema(name_form(naming.LONGEST_LABEL, dots=False)),
]
#: Of documents.
DocumentName = Annotated[
    str, _name_reader(naming.LONGEST_NAME), WithJsonSchema(name_form(naming.LONGEST_NAME))
]
#: Of MachineConfigPools, which labels of objects hold, too.
PoolName = Annotated[
    str, _name_reader(naming.LONGEST_LABEL), WithJsonSchema(name_form(naming.LONGEST_LABEL))
]


def _label_key(text: str) -> str:
    """The key of a label; the pattern cannot count."""
    if not naming.is_label_key(text):
        raise problem("label_key", "the key of a label, whose domain has at most 253 characters")
    return text


LabelKey = Annotated[
    str,
    matching(naming.LABEL_KEY_PATTERN, "the key of a label", "app.kubernetes.io/part-of"),
    AfterValidator(_label_key),
]
LabelValue = Annotated[
    str,
    matching(
        naming.LABEL_VALUE_PATTERN,
        "the value of a label: letters, digits, dots, dashes, at most 63",
        "worker",
    ),
]
#: Labels of objects, and what selectors compare them with: as the API server takes them.
Labels = dict[LabelKey, LabelValue]
Quantity = Annotated[
    str,
    matching(QUANTITY_PATTERN, "an amount with or without a unit, such as 16Gi", "16Gi"),
]

#: Two unions of one Literal in different orders are one object to `typing`, in the order that was
#: imported first. So every field takes this one.
OciRuntime = Literal["crun", "runc"]
#: `spec.featureSet` of the FeatureGate object `cluster`; empty there, it is the default.
FeatureSet = Literal[
    "Default", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"
]
#: A release of a platform.
Release = Annotated[
    str,
    matching(
        r"^[1-9][0-9]?\.[0-9]{1,2}$", "two numbers with a dot, such as 4.20 or 1.33", "4.20", "1.33"
    ),
]

#: A unit of systemd that runs a program; systemd allows a backslash too, which scripts do not.
ServiceName = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,127}\.service$",
        "the name of a systemd service, such as kubelet.service",
        "kubelet.service",
    ),
]


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


#: Lists arrive from YAML as lists and are kept as tuples.
Listed = BeforeValidator(_as_tuple)


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else _as_tuple(value)


#: A single item may stand without its list.
OneOrMore = BeforeValidator(_as_list)

#: Intel's names, or kind0, kind1, ... from the least capable on, if the kernel only reports that
#: kinds differ (Arm).
CoreType = Annotated[
    str,
    matching(
        r"^(performance|efficient|lowPower|kind[0-9])$",
        "performance, efficient, lowPower, or kind0 to kind9",
        "performance",
        "efficient",
        "kind0",
    ),
]
