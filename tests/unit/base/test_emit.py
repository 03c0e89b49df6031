import io
import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from cpuplan.base.emit import Flow, Noted, to_json, to_toml, to_yaml
from cpuplan.language.read.yaml import parse

WORDS = """
yes No ON off y N true False NULL null ~ 0 017 0o17 0O17 0x1 0X1F 0b1 0B1 1_000 1,000 12:30
1:2:3.5 2024-01-02 2001-12-14t21:59:43.10-05:00 1.5 1e3 1E5 1e-5 .5 .inf -.INF .NaN +5 -1 -0 08 <<
= - -- --- ... -x --flag ? : a: :a a:b
# a#b *a &a !a !!str %a @a ` ' " '' "" \\ \\n a\\ {} [] {a [a a] a, ,a | > |- a| a> .
.. ../x ./x .x / 0-3 0,1 0,2-5 2Mi 10%
worker-[00-11] 0000:18:00.0 10:11:22:33:44:55 4.20 1.33.2 1. 1.e5 ._1 _1 0_ 1__0 9223372036854775808
"""

NASTY = [
    *WORDS.split(),
    "",
    " ",
    " x",
    "x ",
    "x  y",
    "a: b",
    "a :b",
    "a #b",
    "- x",
    "? x",
    "-\tx",
    "\t",
    "\tx",
    "x\ty",
    "\n",
    "\n\n",
    "a\n",
    "a\nb",
    "a\n\n",
    "a\n\n\nb\n\n\n",
    " a\nb",
    "\ta\nb",
    "\na",
    "a\n b\n",
    "a\n\tb\n",
    "a \nb",
    "a\n ",
    "a\n#b\n",
    "#a\nb\n",
    "---\na\n...\n",
    "a\r\nb",
    "a\rb",
    "a\x85b",
    "a\u2028b\u2029\n",
    "\ufeffa",
    "a\ufeff\nb\n",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\x9f",
    "\xa0",
    "\u202eabc",
    "\ufffe\uffff",
    "é",
    "日本\n語\n",
    "\U0001f600",
    "\U000e0001",
    "it's",
    'say "x"',
    "'\"\\",
    "C:\\x",
    "2024-01-02 03:04:05",
    "x" * 1100,
    "a, " * 500,
    "\n".join(["x" * 300] * 3),
    "\\" * 600,
]

TEXTS = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=12), st.text("ab \n\t:#-'\"\\0,1{}[]", max_size=10)
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**63) + 1, 2**63 - 1), TEXTS)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(TEXTS, DATA, min_size=1, max_size=4)


def read_11(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def read_12(text: str) -> list[Any]:
    # The pure parser: the compiled one of ruamel reads YAML 1.1.
    return list(YAML(typ="safe", pure=True).load_all(io.StringIO(text)))


def read_own(text: str) -> list[Any]:
    sources, diagnostics = parse("emitted.yaml", text)
    assert diagnostics == []
    return [source.data for source in sources]


def assert_read_back(text: str, documents: list[Any]) -> None:
    # As JSON, because Python has True == 1, and so that the order of keys counts.
    expected = json.dumps(documents)
    assert json.dumps(read_11(text)) == expected
    assert json.dumps(read_12(text)) == expected
    assert json.dumps(read_own(text)) == expected


@pytest.mark.parametrize("text", NASTY)
def test_every_reader_gives_a_nasty_text_back(text: str) -> None:
    places = {
        "value": text,
        "list": [text, [text, text]],
        text + "k": {text: text, "last": [{text: text, "z": 0}]},
    }
    flow = {"flow": [text, {text: text, "x": [text]}]}
    assert_read_back(
        to_yaml({**places, "flow": Flow(flow["flow"])}, header=text), [{**places, **flow}]
    )


@given(MAPPINGS)
@example({"a": [[], {}, [[[1]]], [{}], [{"a": [{"b": "c\nd"}]}]]})
def test_block_style_round_trips(data: dict[str, Any]) -> None:
    assert_read_back(to_yaml(data), [data])


@given(MAPPINGS)
def test_flow_style_is_one_line_and_round_trips(data: dict[str, Any]) -> None:
    text = to_yaml({"nodes": [Flow(data)]})
    assert text.count("\n") == 2
    assert_read_back(text, [{"nodes": [data]}])


@given(DATA)
def test_a_document_may_be_any_value(data: Any) -> None:
    text = to_yaml(data)
    assert json.dumps(read_11(text)) == json.dumps([data])
    assert json.dumps(read_12(text)) == json.dumps([data])


@given(MAPPINGS)
def test_json_round_trips(data: dict[str, Any]) -> None:
    text = to_json(data)
    assert text.isascii()
    assert json.dumps(json.loads(text)) == json.dumps(data, sort_keys=True)


@given(
    st.dictionaries(
        TEXTS, st.recursive(TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1), st.lists)
    )
)
def test_toml_round_trips(data: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(data)) == data


NODE = {
    "kind": "Nodes",
    "metadata": {"name": "site-a", "labels": {}},
    "spec": {
        "nodes": [
            {"name": "worker-0", "cpus": "0-3,8", "pci": "0000:18:00.0", "hugepages": None},
            Flow({"id": 0, "cpus": "0-55", "more": [1, "0,1", "a b", True]}),
        ],
        "matrix": [[1, 2], [[]]],
    },
}

NODE_YAML = """\
# Made by cpuplan.
#
# Do not edit.
kind: Nodes
metadata:
  name: site-a
  labels: {}
spec:
  nodes:
  - name: worker-0
    cpus: 0-3,8
    pci: "0000:18:00.0"
    hugepages: null
  - {id: 0, cpus: 0-55, more: [1, "0,1", "a b", true]}
  matrix:
  - - 1
    - 2
  - - []
"""


def test_block_style_is_the_one_of_kustomize() -> None:
    assert to_yaml(NODE, header="Made by cpuplan.\n\nDo not edit.") == NODE_YAML


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (2**80, str(2**80)),
        (0.8, "0.8"),
        (-1.0, "-1.0"),
        (1e-5, "0.00001"),
        ("text", "text"),
        ("two words", "two words"),
        ("/sys/devices/system/cpu", "/sys/devices/system/cpu"),
        ("isolcpus=managed_irq,2-5", "isolcpus=managed_irq,2-5"),
        ("0-3", "0-3"),
        ("2Mi", "2Mi"),
        ("on", '"on"'),
        ("y", '"y"'),
        ("4.20", '"4.20"'),
        ("0,1", '"0,1"'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ('{"a": 1}', "'{\"a\": 1}'"),
        ("é\u202e", '"é\\u202e"'),
        ("tab\tand\nline", "|-\n  tab\tand\n  line"),
        ("one\n\ntwo\n", "|\n  one\n\n  two"),
        ("one\n\n", "|+\n  one\n"),
        (" one\ntwo", '" one\\ntwo"'),
        ("one \ntwo", '"one \\ntwo"'),
        ((), "[]"),
        (Flow([]), "[]"),
        (Flow({"a": {"b": "c:d"}}), '{a: {b: "c:d"}}'),
    ],
)
def test_a_value_is_written(value: object, written: str) -> None:
    assert to_yaml({"key": value}) == f"key: {written}\n"


def test_a_long_key_stands_alone() -> None:
    key = "k" * 1025
    data = {key: [1, {key: {"a": "b\n"}}]}
    assert to_yaml(data) == f"? {key}\n:\n- 1\n- ? {key}\n  :\n    a: |\n      b\n"
    assert_read_back(to_yaml(data), [data])


def test_json_is_sorted_and_indented() -> None:
    assert to_json({"b": Flow([1]), "a": "é"}) == '{\n  "a": "\\u00e9",\n  "b": [\n    1\n  ]\n}\n'


def test_toml_keeps_the_order() -> None:
    data = {"crio": {"runtime": {"shared_cpuset": "2,3", "allowed": Flow(["a"])}}}
    assert to_toml(data) == '[crio.runtime]\nshared_cpuset = "2,3"\nallowed = [\n    "a",\n]\n'


@pytest.mark.parametrize("value", [float("inf"), float("nan"), object(), {1: 2}, b"x", {1}])
def test_yaml_refuses_other_types(value: object) -> None:
    with pytest.raises(TypeError):
        to_yaml({"key": value})


def test_json_and_toml_refuse_other_types() -> None:
    with pytest.raises(TypeError):
        to_json({"key": b"x"})
    with pytest.raises(TypeError):
        to_toml({"key": None})


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="half of a character"):
        to_yaml({"key": "\ud800"})


def test_a_note_stands_above_its_text() -> None:
    data = {
        "contents": {"source": Noted("aGk=", "hi\n\n# there\x1b\n")},
        "files": [{"source": Noted("aGk=", "hi")}],
    }
    text = to_yaml(data)
    assert text == (
        "contents:\n  # hi\n  #\n  # # there\\x1b\n  source: aGk=\nfiles:\n- source: aGk=\n"
    )
    assert yaml.safe_load(text) == data
