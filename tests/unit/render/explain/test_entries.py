"""What codes, rules and goals mean."""

import pytest

from cpuplan.diagnostics.codes import CODES, Code
from cpuplan.language.model.vocabulary import EXPERT_RULES, FIXED_RULES, GOALS
from cpuplan.render.explain.codes import explain_code, wording
from cpuplan.render.explain.reasons import explain_rule


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> str:
    """A code of this test's own: the wording of the real ones is not its matter."""
    about = (
        "The second of two equal keys wins in some readers and the first in others, "
        "so both are refused by cpuplan."
    )
    monkeypatch.setitem(
        CODES, "CP199", Code("same key", "key {key!r} is there twice", "keep one", about, "warning")
    )
    return "CP199"


def test_explain_code(code: str) -> None:
    assert (
        explain_code(code.lower())
        == """\
CP199: same key

warning[CP199]: key <key> is there twice
  help: keep one

The second of two equal keys wins in some readers and the first in others, so both are
refused by cpuplan.
"""
    )


def test_explain_a_divided_code_and_one_of_its_codes() -> None:
    assert (
        explain_code("cp718")
        == """\
CP718: divided

CP718 stood for unlike findings, and each has a code of its own now. A waiver of CP718
is one of all of them.

  CP7200  pod that requests less than it claims
  CP7201  limit below a claim
  CP7202  claim that is counted twice
"""
    )
    assert explain_code("CP7201").endswith("It was a part of CP718, which was divided.\n")


@pytest.mark.parametrize("name", [*EXPERT_RULES, *FIXED_RULES, *GOALS])
def test_explain_rule(name: str) -> None:
    sort, _, rest = explain_rule(name).partition(" ")
    assert (sort, rest.partition(":")[0]) == ("goal" if name in GOALS else "rule", name)


def test_explain_a_rule_that_is_off() -> None:
    page = explain_rule("reserved-on-every-numa-node")
    assert "It applies only if an intent has:" in page
    assert "- {enable: reserved-on-every-numa-node, because: ...}" in page


def test_explain_unknown_code() -> None:
    with pytest.raises(KeyError):
        explain_code("CP000")


def test_wording() -> None:
    assert wording("key {key!r} of {{a}} in {path}") == "key <key> of {a} in <path>"
