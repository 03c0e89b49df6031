"""YAML of nodes and clusters, and what would end the process or keep it busy."""

import pytest
import yaml

from cpuplan.base import yaml_values
from cpuplan.components import kubelet

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 200_000, "it is nested deeper than 100 levels"),
        ("{a: " * 200_000, "it is nested deeper than 100 levels"),
        ("- " * 200_000, "it is nested deeper than 100 levels"),
        (BOMB, "it has more than 200,000 keys and values"),
        ("a: [" + "1, " * 300_000 + "]", "it has more than 200,000 keys and values"),
        ("a: &b [*b]", "found undefined alias 'b'"),
        ("a: *gone", "found undefined alias 'gone'"),
        ("a: !!int x", "invalid literal for int"),
        ("a: 1" + ":01" * 100_000, "an unquoted value has more than 16,384 characters"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    with pytest.raises((ValueError, yaml.YAMLError), match=problem):
        list(yaml_values.load_yaml11(text))
    with pytest.raises(ValueError, match=problem):
        kubelet.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: &b [1, 0x10]\nc: *b\nd: {<<: {e: 1}}\n",
        "a: '" + "x" * 100_000 + "'",
        "on\n--- !!str 1\n--- ! 2\n--- !!set {a, b}\n---\n",
    ],
)
def test_values_are_those_of_pyyaml(text: str) -> None:
    documents = list(yaml.load_all(text, yaml.CSafeLoader))
    assert list(yaml_values.load_yaml11(text)) == documents
    assert list(yaml_values.load_yaml11(text, yaml.SafeLoader)) == documents


def test_a_kubelet_has_one_document() -> None:
    with pytest.raises(ValueError, match="it holds more than one document"):
        kubelet.parse("a: 1\n---\nb: 2")
