"""A field has one spelling, which is that of the schema."""

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from cpuplan.language.model import base
from cpuplan.language.read import yaml as reader
from cpuplan.language.read.documents import KINDS, validate
from cpuplan.profiles.model import PerformanceProfileSpec


def _below(model: type[base.Model]) -> Iterator[type[base.Model]]:
    for kind in model.__subclasses__():
        yield kind
        yield from _below(kind)


FIELDS = sorted(
    {
        (model.__module__, model.__name__, name, key)
        for model in _below(base.Model)
        if model.__module__.startswith("cpuplan.")
        for key, name in base.attributes(model).items()
        if key != name
    }
)
MODELS = {(model.__module__, model.__name__): model for model in _below(base.Model)}
assert PerformanceProfileSpec in MODELS.values(), "profiles are of the same class"


def test_there_are_many_fields() -> None:
    """The list is that of all documents, and not empty by a fault."""
    assert len(FIELDS) > 150


@pytest.mark.parametrize(("module", "model", "name", "key"), FIELDS)
def test_the_name_of_an_attribute_is_no_key(module: str, model: str, name: str, key: str) -> None:
    """`huge_pages` is refused beside `hugePages`, and in its place."""
    for value in ({name: 1}, {name: 1, key: 1}):
        with pytest.raises(ValidationError) as caught:
            MODELS[module, model].read(value)
        refused = {
            error["loc"] for error in caught.value.errors() if error["type"] == "extra_forbidden"
        }
        assert (name,) in refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("huge_pages: {pages: []}", (2, 3, "did you mean 'hugePages'?")),
        ("hugePages: {default_size: 1G}", (2, 15, "did you mean 'defaultSize'?")),
        ("kubelet: {cpu_manager_policy: none}", (2, 13, "did you mean 'cpuManagerPolicy'?")),
        ("selector: {match_labels: {a: b}}", (2, 14, "did you mean 'matchLabels'?")),
        ("huge-pages: {pages: []}", (2, 3, "did you mean 'hugePages'?")),
    ],
)
def test_the_finding_has_its_place_and_the_right_spelling(
    text: str, said: tuple[int, int, str]
) -> None:
    """Fields of sections that are read later too."""
    (source,), _ = reader.decode("a.yaml", f"spec:\n  {text}\n".encode())
    _, problems = validate(KINDS["Intent"], source, ("spec",))
    spelling = [problem for problem in problems if problem.code == "CP201"]
    assert [(*at.position[1:3], at.remedy) for at in spelling if at.position] == [said]
