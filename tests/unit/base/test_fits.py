"""The quick check finds the same values valid as the library `jsonschema`."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import jsonschema
import pytest

from cpuplan.base.fits import compiled
from cpuplan.write.emitted import reader_of
from tests.projects import REPOSITORY

SCHEMAS = {
    path.name.partition(".")[0]: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((REPOSITORY / "schemas/emitted").glob("*.schema.json"))
}
#: What a value is replaced with.
OTHERS: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "a b", "x" * 300, [], [{}], {}, {"a": 1})


def written() -> Iterator[tuple[str, Any]]:
    """One object for each schema in the repository's `out/`: the schema's name, and the content."""
    seen: set[str] = set()
    out = REPOSITORY / "out"
    for path in sorted(out.rglob("*.yaml")):
        place = str(path.relative_to(out))
        reader = reader_of(place)
        name, (content, _) = reader(path.read_bytes()) if reader else ("", (None, True))
        if name in SCHEMAS and name not in seen:
            seen.add(name)
            yield name, content


WRITTEN = dict(written())


def mutations(value: Any) -> Iterator[Any]:
    """The value with one of its parts replaced, removed or added."""
    yield from OTHERS
    if isinstance(value, dict):
        yield value | {"unknown": 1}
    keys = list(value) if isinstance(value, dict) else []
    places = range(len(value)) if isinstance(value, list) else keys
    for place in places:
        without = deepcopy(value)
        del without[place]
        yield without
        for mutation in mutations(value[place]):
            changed = deepcopy(value)
            changed[place] = mutation
            yield changed


@pytest.mark.parametrize("kind", WRITTEN)
def test_it_says_what_the_library_says(kind: str) -> None:
    validator = jsonschema.Draft7Validator(SCHEMAS[kind])
    fits = compiled(SCHEMAS[kind])
    assert fits(WRITTEN[kind])
    for value in mutations(WRITTEN[kind]):
        assert fits(value) == validator.is_valid(value), value


@pytest.mark.parametrize(
    ("schema", "valid", "not_valid"),
    [
        ({"type": ["string", "number"]}, 1.5, True),
        ({"type": "integer"}, 1, True),
        ({"minimum": 1}, 1, 0),
        ({"maximum": 1}, 1, 2),
        ({"minItems": 1}, [0], []),
        ({"minProperties": 1}, {"a": 0}, {}),
        ({"propertyNames": {"pattern": "^a"}}, {"a": 0}, {"b": 0}),
        ({"additionalProperties": {"type": "string"}}, {"a": ""}, {"a": 0}),
        ({"anyOf": [{"type": "string"}, {"required": ["a"]}]}, {"a": 0}, {}),
    ],
)
def test_keywords(schema: dict[str, Any], valid: Any, not_valid: Any) -> None:
    assert compiled(schema)(valid)
    assert not compiled(schema)(not_valid)
    assert not jsonschema.Draft7Validator(schema).is_valid(not_valid)


def test_an_unknown_keyword_is_left_to_the_library() -> None:
    assert not compiled({"multipleOf": 1})(1)
