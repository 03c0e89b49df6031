"""What is wrong with values, in sentences: every field, with values that people write."""

import copy
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field
from cpuplan.facts.settings.table import SWITCHES
from cpuplan.language.model.base import PATTERNS, Model
from cpuplan.language.read import mistakes
from cpuplan.language.read import yaml as reader
from cpuplan.language.read.documents import KINDS, from_sources, schema, validate
from cpuplan.profiles.model import PerformanceProfileSpec

WRONG: list[Any] = [
    True,
    5,
    -1,
    "v1.33",
    "../x",
    "a b",
    "UPPER",
    "x\n",
    [],
    [4, 5],
    ["a b"],
    {},
    {"a b": "x"},
    None,
    "",
]
NAMES = (
    "use lower-case letters, digits and dashes; "
    "in names of documents, nodes and pools, also dots between them"
)
WORD = "one word of the kernel command line, such as audit=0, without blanks and what shells read"
NEAR = "the name of a device, or a mapping with device, class or driver"
SET = "the name of a pool, of a QoS set, or of a partition such as isolated.dpdk"
FOLDERS = (
    "folders below the repository's root, such as sites/north: "
    "letters, digits, dots, dashes, underscores"
)
MODELS: dict[str, type[Model]] = {**KINDS, "PerformanceProfile": PerformanceProfileSpec}


def patterns_of(model: type[Model]) -> set[str]:
    """The patterns by which a model is checked, as pydantic knows them."""
    model.model_rebuild()
    return set(patterns(model.__pydantic_core_schema__))


def patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str):
            yield value["pattern"]
        for item in value.values():
            yield from patterns(item)
    elif isinstance(value, list):
        for item in value:
            yield from patterns(item)


@pytest.mark.parametrize("kind", MODELS)
def test_every_pattern_is_said_in_words(kind: str) -> None:
    model = MODELS[kind]
    assert patterns_of(model) <= PATTERNS.keys()


def resolved(form: Any, whole: Any) -> Any:
    while "$ref" in form or "anyOf" in form:
        if "$ref" in form:
            form = whole["definitions"][form["$ref"].rsplit("/", 1)[1]]
        else:
            forms = [resolved(option, whole) for option in form["anyOf"]]
            form = next((option for option in forms if "properties" in option), forms[0])
    return form


def fields(form: Any, whole: Any, way: Field) -> Iterator[Field]:
    """The way to every field, the first items of lists and some key of mappings."""
    for name, said_of in resolved(form, whole).get("properties", {}).items():
        yield (*way, name)
        inner = resolved(said_of, whole)
        yield from fields(inner, whole, (*way, name))
        if isinstance(inner.get("items"), dict):
            yield (*way, name, 0)
            yield from fields(inner["items"], whole, (*way, name, 0))
        if isinstance(inner.get("additionalProperties"), dict):
            yield from fields(inner["additionalProperties"], whole, (*way, name, "some"))


def put(data: Any, way: Field, value: Any) -> None:
    for key, following in pairwise(way):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(data, list):
            data.append(empty)
            data = empty
        else:
            data = data.setdefault(key, empty)
    if isinstance(data, list):
        data.append(value)
    else:
        data[way[-1]] = value


def problems(kind: str, way: Field, value: Any) -> list[Diagnostic]:
    document: dict[str, Any] = {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": {},
    }
    put(document, way, copy.deepcopy(value))
    sources, unreadable = reader.parse("f.yaml", json.dumps(document))
    assert not unreadable
    return from_sources(sources)[1]


def said(kind: str, field: str, value: Any) -> tuple[str, str]:
    """(message, remedy) of the one problem at a field."""
    way = tuple(int(part) if part.isdigit() else part for part in field.split("."))
    (diagnostic,) = [
        problem
        for problem in problems(kind, way, value)
        if problem.code not in ("CP201", "CP202", "CP209")
    ]
    return diagnostic.message, diagnostic.remedy


@pytest.mark.parametrize("kind", KINDS)
def test_no_mistake_is_answered_with_a_regular_expression(kind: str) -> None:
    whole = schema(kind)
    expressions = patterns_of(KINDS[kind])
    for way in fields(whole["properties"]["spec"], whole, ("spec",)):
        for value in WRONG:
            for problem in problems(kind, way, value):
                told = f"{problem.message} {problem.label} {problem.remedy}"
                assert not any(expression in told for expression in expressions), told
                assert not re.search(r"\^|\[[a-zA-Z0-9]-[a-z0-9]|\\s|\$|should", told), told


@pytest.mark.parametrize(
    ("field", "value", "message", "remedy"),
    [
        (
            "spec.pools.isolated",
            [4, 5],
            (
                "spec.pools.isolated is a list; it must be a CPU list such as 0-3,8, "
                "rest, or a mapping such as {cores: 2}"
            ),
            'write "4-5"',
        ),
        ("spec.pools.shared", ["0-1", 8], None, 'write "0-1,8"'),
        ("spec.pools.reserved.never", [3], None, 'write "3"'),
        (
            "spec.targets.0.version",
            "v1.33",
            (
                "spec.targets.0.version is 'v1.33'; "
                "it must be two numbers with a dot, such as 4.20 or 1.33"
            ),
            'write "1.33"',
        ),
        ("spec.targets.0.version", "4.20.3", None, 'write "4.20"'),
        (
            "spec.kubelet.cpuManagerPolicyOptions",
            {"full-pcpus-only": True},
            "spec.kubelet.cpuManagerPolicyOptions.full-pcpus-only is true; it must be text",
            'quote it: "true"',
        ),
        (
            "spec.kubelet.topologyManagerPolicyOptions",
            {"max-allowable-numa-nodes": 12},
            None,
            'quote it: "12"',
        ),
        (
            "spec.runtime.handler",
            "../x",
            (
                "'../x' is not a valid name: it has '.', "
                "which is not a lower-case letter, digit or dash"
            ),
            f'write "x", or {NAMES}',
        ),
        ("spec.targets.0.pool", "Worker CNF", None, f'write "worker-cnf", or {NAMES}'),
        (
            "spec.kernel.extraArguments.0",
            "audit=0 quiet",
            f"spec.kernel.extraArguments.0 is 'audit=0 quiet'; it must be {WORD}",
            "write an item for each: audit=0, quiet",
        ),
        ("spec.kernel.extraArguments.0", "nosmt = force", None, 'write "nosmt=force"'),
        ("spec.kernel.extraArguments.0", "a =b quiet", None, "write an item for each: a=b, quiet"),
        (
            "spec.defaults.0.enable",
            "mce",
            "spec.defaults.0.enable is 'mce'; it must be one of 27 names",
            f"known: {', '.join(sorted(SWITCHES))}",
        ),
        (
            "spec.kernel.extraArguments.0",
            'dyndbg="file a +p"',
            None,
            f"write {WORD}",
        ),
        ("spec.kernel.extraArguments", "audit=0", None, "write it as a list: ['audit=0']"),
        ("spec.hugePages.defaultSize", "2MiB", None, 'write "2M"'),
        ("spec.hugePages.defaultSize", "1gb", None, 'write "1G"'),
        ("spec.kubelet.cpuManagerReconcilePeriod", "10", None, 'write "10s"'),
        ("spec.net.devices.0.vendorID", "8086", None, 'write "0x8086"'),
        ("spec.kernel.realTime", "true", None, "remove the quotes: true"),
        ("spec.kernel.realTime", "yes", None, "write true or false"),
        ("spec.pools.reserved.cores", "2", None, "remove the quotes: 2"),
        (
            "spec.pools.reserved.cores",
            -1,
            "spec.pools.reserved.cores is -1; it must be at least 0",
            "write at least 0",
        ),
        (
            "spec.pools.reserved.near",
            ["ens1f0"],
            f"spec.pools.reserved.near is a list; it must be {NEAR}",
            None,
        ),
        (
            "spec.pools.reserved.apart",
            {"iso lated": "core"},
            f"a key of spec.pools.reserved.apart is 'iso lated'; it must be {SET}",
            None,
        ),
        (
            "spec.kubelet",
            "static",
            None,
            "write a mapping with keys such as cpuManagerPolicy and cpuManagerPolicyOptions",
        ),
        (
            "spec.pools.isolated.rest",
            False,
            "spec.pools.isolated.rest is false; it must be true",
            None,
        ),
    ],
)
def test_what_is_said_of_an_intent(
    field: str, value: Any, message: str | None, remedy: str | None
) -> None:
    diagnostic = said("Intent", field, value)
    assert (message or diagnostic[0], remedy or diagnostic[1]) == diagnostic


@pytest.mark.parametrize(
    ("kind", "field", "value", "remedy"),
    [
        ("Nodes", "spec.cluster", "Site_A", f'write "site-a", or {NAMES}'),
        ("Nodes", "spec.hardware", "dl380/gen10", f'write "dl380-gen10", or {NAMES}'),
        ("Hardware", "spec.hugePageSizes.0", "2 mib", 'write "2Mi"'),
        ("Hardware", "spec.devices.0.address", "17:00.0", 'write "0000:17:00.0"'),
        ("Hardware", "spec.devices.0.address", "0000:3B:00.0", 'write "0000:3b:00.0"'),
        ("Hardware", "spec.regular.coreIds", "0-3, 8", 'write "0-3,8"'),
        (
            "Delivery",
            "spec.repository",
            "git.example.com/cpus",
            'write "https://git.example.com/cpus"',
        ),
        (
            "Delivery",
            "spec.path",
            "../x",
            f"write {FOLDERS}",
        ),
    ],
)
def test_what_to_write_instead(kind: str, field: str, value: Any, remedy: str) -> None:
    assert said(kind, field, value)[1] == remedy


def test_what_is_proposed_is_taken() -> None:
    values = "v1.33", "../x", "a b", "UPPER_case", " 16 GB", "0-3, 8", "'q'", "17:00.0", "Ünïx"
    for pattern in PATTERNS:
        for value in (*values, "-", "x\n"):
            mended = mistakes.suggested_text(value, pattern)
            assert mended is None or re.search(pattern.removesuffix("$") + r"\Z", mended)


def test_a_profile_says_it_too() -> None:
    text = json.dumps(
        {"spec": {"cpu": {"reserved": 3, "isolated": [4, 5]}, "nodeSelector": {"a": True}}}
    )
    (source,), _ = reader.parse("f.yaml", text)
    remedies = {
        problem.message.split(" ")[0]: problem.remedy
        for problem in validate(PerformanceProfileSpec, source, ("spec",))[1]
    }
    assert remedies == {
        "spec.cpu.reserved": 'quote it: "3"',
        "spec.cpu.isolated": 'write "4-5"',
        "spec.nodeSelector.a": 'quote it: "true"',
    }
