"""What all input documents share: the class of their mappings, their envelope, types of fields."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_plain_validator_function

from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet, CpuSetError, as_written
from cpuplan.base.text import QUANTITY_PATTERN, printable


class Model(BaseModel):
    """A mapping of a document: camelCase in YAML, unknown keys refused, never changed once read."""

    # `strict`: `"3"` is not a number. `defer_build`: a command pays only for the models that it
    # reads.
    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )

    @classmethod
    def read(cls, value: object) -> Self:
        """The mapping of a document, whose keys have one spelling: that of the schema.

        The names of attributes are for code, which makes mappings by them.
        """
        return cls.model_validate(value, by_name=False)


def to_json(model: Model) -> str:
    """The JSON of a mapping without what is None, as `model_dump_json(exclude_none=True)` gives it.

    pydantic would first make what writes such models, which takes longer than all else that a run
    with a lock does. It is asked where a value is of a type that texts of digests rarely have.
    """
    try:
        return json.dumps(_plain(model), ensure_ascii=False, separators=(",", ":"))
    except _RareError:
        return model.model_dump_json(exclude_none=True)


class _RareError(TypeError):
    """A value that pydantic writes in a way of its own."""


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | bool) or type(value) is int:
        return value
    if isinstance(value, CpuSet):
        return str(value)
    if isinstance(value, Model):
        fields = ((name, getattr(value, name)) for name in type(value).model_fields)
        return {name: _plain(given) for name, given in fields if given is not None}
    if isinstance(value, tuple | list):
        return [*map(_plain, value)]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _plain(given) for key, given in value.items()}
    raise _RareError


class Later:
    """Of a field with a model: what reads its values is made when a document has the field.

    To make what reads a model takes longer than to read most documents, and few of these have more
    than some of the many fields that an intent may have.
    """

    def __init__(self, model: type[Model]) -> None:
        self._model = model

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return no_info_plain_validator_function(self._model.read)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        LATER[self._model.__name__] = self._model
        return {_LATER: self._model.__name__}


#: In JSON Schema, until `schema_of_model` writes a reference: pydantic follows these.
_LATER = "x-later"
#: The models of which that is said, by their names.
LATER: dict[str, type[Model]] = {}


#: The patterns of all models' texts, in words.
PATTERNS: dict[str, str] = {}


@cache
def attributes(model: type[Model]) -> dict[str, str]:
    """The names of a model's fields by their keys, as YAML has them. Do not change it."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def has_key(mapping: Model, key: str) -> bool:
    """Whether a mapping has a key itself, and not a default for it."""
    return attributes(type(mapping))[key] in mapping.model_fields_set


def matching(pattern: str, words: str, *examples: str) -> Any:
    """The field of a text with a pattern, which messages and editors say in words."""
    PATTERNS[pattern] = words
    return Field(
        pattern=pattern,
        examples=list(examples) or None,
        json_schema_extra={"patternErrorMessage": words},
    )


def problem(kind: str, text: str, context: Mapping[str, Any] | None = None) -> Exception:
    """What a check raises; `read.mistakes` knows it by its kind."""
    return PydanticCustomError(kind, text, dict(context or {}))


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
#: Such a list that is printed as it is written.
WrittenList = Annotated[
    CpuSet,
    PlainValidator(_reader(as_written, str)),
    _AS_TEXT,
    WithJsonSchema({"type": "string", "pattern": list_pattern(RANGE), "examples": ["0,1,32,33"]}),
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
    matching(
        naming.LABEL_KEY_PATTERN,
        "the key of a label, such as node-role.kubernetes.io/worker",
        "node-role.kubernetes.io/worker",
    ),
    AfterValidator(_label_key),
]
LabelValue = Annotated[
    str,
    matching(
        naming.LABEL_VALUE_PATTERN,
        "the value of a label: up to 63 letters, digits, dots, dashes and underscores",
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

#: A release of a program beside the platform; `facts.programs` has those that are known.
ProgramRelease = Annotated[
    str,
    matching(
        r"^[0-9]{1,2}\.[0-9]{1,2}$", "two numbers with a dot, such as 2.3 or 0.14", "2.3", "0.14"
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

# Texts: bounded, visible, and on one line but for reasons. Whoever wrote a document may be hostile,
# and its texts reach scripts, reports and terminals; a test finds each field of a bare `str`.

#: Controls, line ends, and what is invisible or changes the direction of text; `printable` escapes
#: the same, and blanks that do not break.
_HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff0-\ufffb\ufffe\uffff"
)
#: As above, but line ends and tabs, and what joins the letters of some scripts.
_HIDDEN_IN_WORDS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff0-\ufffb\ufffe\uffff"
)
_LONGEST_LINE = 1_000
_LONGEST_WORDS = 4_000


def visible(text: str) -> str:
    """The text, if it has no tags (U+E0000 and on), which no pattern for all readers can name."""
    if any("\U000e0000" <= letter <= "\U000e0fff" or letter in "\ufffe\uffff" for letter in text):
        raise problem("hidden_text", "text without invisible characters")
    return text


#: A name or title on one line, in any language.
Line = Annotated[
    str,
    matching(rf"^[^{_HIDDEN}]*$", "text on one line, without control and invisible characters"),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]


def _escaped(text: str) -> str:
    return printable(text)[:_LONGEST_LINE]


#: What firmware, a kernel or a driver says of a machine, which nobody can correct: escapes stand
#: for what is not visible, as everywhere that it is shown.
MachineText = Annotated[str, AfterValidator(_escaped)]
#: The field of a document that something is about.
Place = Annotated[
    str,
    matching(
        rf"^[A-Z][A-Za-z]*/[a-z0-9.-]+(:[^\s{_HIDDEN}]+)?$",
        "a document such as Intent/ran-du, or a field of it such as "
        "Intent/ran-du:spec.pools.shared",
        "Intent/ran-du:spec.pools.shared",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]
#: A line that is not empty.
#: A text of many lines, such as a file of a program.
Lines = Annotated[
    str,
    matching(rf"^([^{_HIDDEN}]|[\n\t])*$", "text without control and invisible characters"),
    Field(max_length=1 << 20),
]
NonEmptyLine = Annotated[Line, Field(min_length=1)]
#: Sentences, perhaps in a block of lines.
Words = Annotated[
    str,
    matching(
        rf"^[^{_HIDDEN_IN_WORDS}]*$", "text in words, without control and invisible characters"
    ),
    Field(max_length=_LONGEST_WORDS),
    AfterValidator(visible),
]


def _said(text: str) -> str:
    if not text.strip():
        raise problem("no_words", "a reason in words")
    return text


#: A reason for later readers.
Reason = Annotated[Words, AfterValidator(_said)]

#: A node's name, or a range of names: each must be a name (CP228), so no rule is repeated here.
NodeNames = Annotated[str, Field(min_length=1, max_length=_LONGEST_LINE)]
#: Names of nodes that something is for, with ranges and `*`.
NodePattern = Annotated[
    str,
    matching(
        rf"^[^\s{_HIDDEN}]+$",
        "names of nodes without blanks, such as worker-[00-11]",
        "worker-[00-11]",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]
#: A file or folder of a node.
AbsolutePath = Annotated[
    str,
    matching(rf"^/[^{_HIDDEN}]*$", "an absolute path", "/etc/crio/crio.conf.d/05-logs.conf"),
    Field(max_length=4096),
    AfterValidator(visible),
]
#: A key of settings that others define: options of the kubelet, resources, feature gates.
Key = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,250}[A-Za-z0-9])?$",
        "a name of letters, digits, dots, dashes, underscores and slashes",
        "cpu",
    ),
]
#: A quantity, percentage or switch of such a key; which one is asked of the program that reads it.
KeyValue = Annotated[
    str,
    matching(
        r"^((-?[0-9.+]|[A-Za-z])[A-Za-z0-9.%+-]{0,63})?$",
        "letters, digits, dots, signs or a percent sign",
        "500Mi",
        "10%",
    ),
]
#: The value of an option of one of the kubelet's policies: a switch, a word, numbers by resource.
OptionValue = Annotated[
    str,
    matching(
        r"^((-?[0-9.+]|[A-Za-z])[A-Za-z0-9.%+=,/_-]{0,250})?$",
        "letters, digits, dots and signs, or numbers by resource",
        "true",
        "cpu=3,memory=1",
    ),
]
_URL = r"[A-Za-z0-9._~:/?@!&*+,=%\[\]-]"
#: Never with what templates, shells or Markdown read (braces, quotes, `$`, blanks).
WebAddress = Annotated[
    str,
    matching(rf"^https?://[A-Za-z0-9\[]{_URL}*$", "a URL without blanks, quotes and fragment"),
    Field(max_length=_LONGEST_LINE),
]
_USER = "([A-Za-z0-9][A-Za-z0-9._~%+:-]*@)?"
#: A host that begins with a dash would be an option of ssh (CVE-2017-1000117).
Repository = Annotated[
    str,
    matching(
        rf"^((https|ssh)://{_USER}[A-Za-z0-9\[]|git@[A-Za-z0-9\[]){_URL}*$",
        "a URL without blanks and quotes that begins with https://, ssh:// or git@",
        "https://git.example.com/platform/cpus.git",
    ),
    Field(max_length=_LONGEST_LINE),
]


def _reference(text: str) -> str:
    """The text, if Git takes it as a branch (git-check-ref-format)."""
    parts = text.split("/")
    is_wrong = any(part.startswith(".") or part.endswith(".lock") for part in parts)
    if is_wrong or "" in parts or ".." in text or text.endswith("."):
        raise problem("git_reference", "a branch or tag as Git takes it, such as release/4.20")
    return text


#: What no program takes for an option, and Git for nothing else.
Revision = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9_][A-Za-z0-9_.+/#=,-]*$",
        "a branch or tag: letters, digits, dots, dashes, slashes",
        "main",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(_reference),
]


@cache
def schema_of_model(model: type[Model]) -> dict[str, Any]:
    """The schema as pydantic makes it: draft 2020-12, definitions in `$defs`. Do not change it."""
    names: set[str] = set()
    form: dict[str, Any] = _with_references(model.model_json_schema(), names)
    forms = form.get("$defs", {})
    for name in names:
        own = dict(schema_of_model(LATER[name]))
        forms |= own.pop("$defs", {})
        forms[name] = own
    return {**form, "$defs": dict(sorted(forms.items()))} if forms else form


def _with_references(form: Any, names: set[str]) -> Any:
    """A schema with references to models that are made later, whose names are added."""
    if isinstance(form, list):
        return [_with_references(item, names) for item in form]
    if not isinstance(form, dict):
        return form
    if _LATER in form:
        names.add(form[_LATER])
        # as beside references of pydantic's own, without the title that it makes of the field
        beside = {key: value for key, value in form.items() if key not in (_LATER, "title")}
        return {"$ref": f"#/$defs/{form[_LATER]}"} | beside
    return {key: _with_references(value, names) for key, value in form.items()}
