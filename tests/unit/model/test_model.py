"""Mappings as classes: what they take, what they refuse, and what they know of themselves."""

from typing import Annotated, Any, Literal

import pytest
from pydantic_core import ValidationError

from cpuplan.model import Before, Field, JsonForm, Model, ReadBy, jsonschema, problem


def _halved(value: Any) -> int:
    if value % 2:
        raise problem("odd", "{value} is odd", {"value": value})
    return int(value // 2)


def _named(value: Any) -> Any:
    return {"firstName": value} if isinstance(value, str) else value


class Person(Model):
    """Somebody."""

    first_name: Annotated[str, Field(pattern="^[A-Z]", description="as written", examples=["Ada"])]
    age: Annotated[int, Field(ge=0, le=150)] | None = None
    nick: str | None = Field(default=None, min_length=2, alias="nickName")


class Club(Model):
    """People."""

    kind: Literal["chess", "go"] = "chess"
    open: bool = True
    members: Annotated[
        tuple[Annotated[Person, Before(_named)], ...], Before(tuple), Field(min_length=1)
    ]
    fees: dict[str, int] = Field(default={}, description="by year")
    half: Annotated[int, ReadBy(_halved, {"type": "integer", "multipleOf": 2})] = 0
    room: Annotated[str, JsonForm({"const": "any"})] = "any"
    notes: Any = None
    chair: Person | str = "nobody"

    def verify(self) -> None:
        """A full house pays."""
        if len(self.members) > 2 and not self.fees:
            raise problem("no_fees", "nobody pays")


class Lodge(Club):
    """A club with a rite."""

    rite: str = "york"


ADA = {"firstName": "Ada"}


@pytest.mark.parametrize(
    ("given", "kind", "place"),
    [
        ({"members": [ADA], "kind": "bridge"}, "literal_error", ("kind",)),
        ({"members": [ADA], "open": "yes"}, "bool_type", ("open",)),
        ({"members": []}, "too_short", ("members",)),
        ({}, "missing", ("members",)),
        (
            {"members": [ADA, {"firstName": "ada"}]},
            "string_pattern_mismatch",
            ("members", 1, "firstName"),
        ),
        (
            {"members": [ADA, {"firstName": "Ada", "age": -1}]},
            "greater_than_equal",
            ("members", 1, "age"),
        ),
        (
            {"members": [ADA, {"firstName": "Ada", "age": 151}]},
            "less_than_equal",
            ("members", 1, "age"),
        ),
        ({"members": [ADA, {"firstName": "Ada", "age": "3"}]}, "int_type", ("members", 1, "age")),
        ({"members": [ADA, {"firstName": "Ada", "age": True}]}, "int_type", ("members", 1, "age")),
        (
            {"members": [ADA, {"firstName": "Ada", "nickName": "A"}]},
            "string_too_short",
            ("members", 1, "nickName"),
        ),
        ({"members": [ADA], "fees": {"2026": "1"}}, "int_type", ("fees", "2026")),
        ({"members": [ADA], "half": 3}, "odd", ("half",)),
        ({"members": [ADA], "colour": "red"}, "extra_forbidden", ("colour",)),
        ({"members": ["Ada", "Bob", "Cy"]}, "no_fees", ()),
    ],
)
def test_what_is_wrong_is_named(
    given: dict[str, Any], kind: str, place: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as error:
        Club.model_validate(given)
    assert [(each["type"], each["loc"]) for each in error.value.errors()] == [(kind, place)]


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ValidationError) as error:
        Club.model_validate({"members": [{"age": "x"}], "kind": 1, "half": 1})
    assert {each["type"] for each in error.value.errors()} >= {
        "missing",
        "int_type",
        "literal_error",
        "odd",
    }


def test_values_are_read() -> None:
    club = Club.model_validate(
        {"members": ["Ada", {"firstName": "Bob", "age": 3}], "half": 8, "chair": ADA}
    )
    assert club.members == (Person(first_name="Ada"), Person(firstName="Bob", age=3))  # type: ignore[call-arg]
    assert (club.half, club.kind, club.open, club.fees, club.chair) == (
        4,
        "chess",
        True,
        {},
        Person(first_name="Ada"),
    )
    assert club.model_fields_set == {"members", "half", "chair"}


def test_defaults_are_not_shared() -> None:
    one, other = (Club.model_validate({"members": [ADA]}) for _ in range(2))
    one.fees["2026"] = 1
    assert other.fees == {}


def test_a_model_is_a_value() -> None:
    ada = Person(first_name="Ada")
    assert ada == Person.model_construct(first_name="Ada")
    assert {ada, Person(first_name="Ada"), Person(first_name="Bob")} == {
        ada,
        Person(first_name="Bob"),
    }
    assert ada != "Ada"
    assert repr(ada) == "Person(first_name='Ada', age=None, nick=None)"
    with pytest.raises(AttributeError, match="does not change"):
        ada.age = 3  # type: ignore[misc]


def test_a_copy_has_other_values() -> None:
    ada = Person(first_name="Ada").model_copy(update={"age": 3})
    assert (ada.age, ada.model_fields_set) == (3, {"first_name", "age"})


def test_a_model_is_dumped() -> None:
    ada = Person(first_name="Ada", nickName="ad")
    assert ada.model_dump(by_alias=True, exclude_none=True) == {
        "firstName": "Ada",
        "nickName": "ad",
    }
    assert ada.model_dump_json(exclude_unset=True) == '{"first_name":"Ada","nick":"ad"}'


def test_a_subclass_has_the_fields_and_checks_of_its_class() -> None:
    assert Lodge.model_validate({"members": [ADA]}).rite == "york"
    with pytest.raises(ValidationError, match="nobody pays"):
        Lodge.model_validate({"members": ["Ada", "Bob", "Cy"]})


def test_json_schema() -> None:
    club = jsonschema.of_model(Club)
    assert club["additionalProperties"] is False
    assert club["required"] == ["members"]
    assert club["properties"]["members"]["minItems"] == 1
    assert club["properties"]["half"] == {
        "type": "integer",
        "multipleOf": 2,
        "default": 0,
        "title": "Half",
    }
    person = club["$defs"]["Person"]
    assert person["description"] == "Somebody."
    assert person["properties"]["firstName"] == {
        "description": "as written",
        "examples": ["Ada"],
        "pattern": "^[A-Z]",
        "title": "Firstname",
        "type": "string",
    }


def test_a_type_that_documents_do_not_have_is_refused() -> None:
    class Odd(Model):
        """With a set."""

        numbers: frozenset[int]

    with pytest.raises(TypeError, match="frozenset"):
        Odd.model_validate({"numbers": [1]})
