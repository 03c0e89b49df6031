"""What is made once for each plan, and shipped texts with gaps."""

import gc
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from cpuplan.components import base
from cpuplan.components.base import once, template
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import plan


def test_a_function_is_asked_once_for_each_plan() -> None:
    asked: list[tuple[ConfiguredPlan, str]] = []

    @once
    def of(plan: ConfiguredPlan, word: str = "a") -> list[str]:
        asked.append((plan, word))
        return [word]

    first, second = plan(), plan()
    assert of(first) is of(first)
    assert of(first, "b") == of(second, word="b") == ["b"]
    assert asked == [(first, "a"), (first, "b"), (second, "b")]


def test_nothing_is_kept_of_plans_that_are_gone() -> None:
    made: list[str] = []

    @once
    def of(_plan: ConfiguredPlan) -> int:
        made.append("")
        return len(made)

    for _ in range(3):
        of(plan())
        gc.collect()
    assert len(made) == 3


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of templates."""
    monkeypatch.setattr(base, "resource", tmp_path.joinpath)
    base._compiled.cache_clear()
    (tmp_path / "templates").mkdir()
    return tmp_path / "templates"


def test_gaps_are_filled(shipped: Path) -> None:
    (shipped / "a.j2").write_text(
        "[{{ cpus }}]\n{% for name in names %}\n{{ name }}\n{% endfor %}\n"
    )
    assert template("a.j2", cpus="0-3", names=["a", "b"]) == "[0-3]\na\nb\n"
    assert template("a.j2", cpus=7, names=[]) == "[7]\n"


def test_texts_without_gaps_need_no_jinja(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    (shipped / "a.sh").write_bytes(b"echo {{ cpus }} ${a}\r\n{%")
    assert template("a.sh", cpus="0") == "echo {{ cpus }} ${a}\n{%"


@pytest.mark.parametrize("text", ["{{ other }}", "{{ environment.THREE }}"])
def test_a_gap_without_a_value_is_a_mistake(shipped: Path, text: str) -> None:
    (shipped / "a.j2").write_text(text)
    with pytest.raises(UndefinedError):
        template("a.j2", environment={"ONE": "1"})


@pytest.mark.parametrize("value", ["a\nb", "$(id)", "%i", 'a"', "{{ cpus }}", "a;b", "\\"])
def test_values_that_units_read_are_refused(shipped: Path, value: str) -> None:
    (shipped / "a.j2").write_text("{{ cpus }}")
    with pytest.raises(ValueError, match="does not belong"):
        template("a.j2", cpus=value)
