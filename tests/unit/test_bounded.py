"""YAML that would end the process, or keep it busy, is told from YAML."""

import pytest

from cpuplan.bounded import check_yaml
from cpuplan.components import crio, kubelet

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 200_000, "it is nested deeper than 100 levels"),
        ("{a: " * 200_000, "it is nested deeper than 100 levels"),
        ("- " * 200_000, "it is nested deeper than 100 levels"),
        (BOMB, "it stands for more than 200,000 values"),
        ("a: [" + "1, " * 300_000 + "]", "it stands for more than 200,000 values"),
        ("a: &b [*b]", "the alias 'b' stands within itself"),
        ("a: 1" + ":01" * 100_000, "an unquoted value has more than 16,384 characters"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_yaml(text)
    with pytest.raises(ValueError, match=problem):
        kubelet.parse(text)


@pytest.mark.parametrize(
    "text", ["", "a: &b [1, 2]\nc: *b\nd: {<<: {e: 1}}\n", "a: '" + "x" * 100_000 + "'", "a: *gone"]
)
def test_taken(text: str) -> None:
    check_yaml(text)


@pytest.mark.parametrize(
    "key", ["a" + ".a" * 100_000, '"a"' + '."a"' * 100_000, "a" + " .\t'a'" * 100_000]
)
def test_toml_of_long_keys(key: str) -> None:
    with pytest.raises(ValueError, match="a key has more than 32 parts"):
        crio.parse(f"{key} = 1\n")
    assert crio.parse('[a.b]\nc = "1.2.3.4"  # ........................................\n')
