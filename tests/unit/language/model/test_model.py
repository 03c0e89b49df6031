"""Mappings as classes: what all of them take and refuse, and what editors know of their texts."""

from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from cpuplan.base.cpuset import CpuSet
from cpuplan.language.model import base
from cpuplan.language.model.base import (
    PATTERNS,
    Listed,
    Model,
    attributes,
    has_key,
    matching,
    problem,
)
from cpuplan.language.model.tuning import Kernel

Name = Annotated[str, matching("^[A-Z]", "a name such as Ada", "Ada")]


class Person(Model):
    """Somebody."""

    first_name: Name
    age: int | None = None


class Club(Model):
    """People."""

    members: Annotated[tuple[Person, ...], Field(min_length=1), Listed]
    fees: dict[Name, int] = Field(default={})


ADA = {"firstName": "Ada"}


@pytest.mark.parametrize(
    ("given", "kind", "place"),
    [
        ({}, "missing", ("members",)),
        ({"members": []}, "too_short", ("members",)),
        ({"members": [ADA], "colour": "red"}, "extra_forbidden", ("colour",)),
        ({"members": [ADA, ADA | {"age": "3"}]}, "int_type", ("members", 1, "age")),
        ({"members": [ADA, ADA | {"age": True}]}, "int_type", ("members", 1, "age")),
        ({"members": [ADA, {"firstName": 3}]}, "string_type", ("members", 1, "firstName")),
        ({"members": [ADA], "fees": {"b": 1}}, "string_pattern_mismatch", ("fees", "b", "[key]")),
    ],
)
def test_what_is_wrong_is_named(
    given: dict[str, Any], kind: str, place: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as error:
        Club.model_validate(given)
    assert [(detail["type"], detail["loc"]) for detail in error.value.errors()] == [(kind, place)]


def test_quotes_around_the_value_of_a_boot_argument() -> None:
    """The kernel removes them (lib/cmdline.c), and `cgroup_no_v1="all"` is how many write it."""
    read = Kernel.model_validate({"extraArguments": ['cgroup_no_v1="all"', "audit=0"]})
    assert read.extra_arguments == ("cgroup_no_v1=all", "audit=0")
    for word in ('foo="a b"', 'foo="a', 'fo"o'):
        with pytest.raises(ValueError, match="extraArguments"):
            Kernel.model_validate({"extraArguments": [word]})


def test_values_are_read() -> None:
    club = Club.model_validate({"members": [ADA | {"age": 3}]})
    assert club.members == (Person(first_name="Ada", age=3),)
    assert club.model_fields_set == {"members"}


def test_defaults_are_not_shared() -> None:
    first, other = (Club.model_validate({"members": [ADA]}) for _ in range(2))
    first.fees["Ada"] = 1
    assert other.fees == {}


def test_a_model_is_a_value() -> None:
    ada = Person(first_name="Ada")
    assert {ada, Person(first_name="Ada")} == {Person.model_construct(first_name="Ada")}
    with pytest.raises(ValidationError, match="frozen"):
        ada.age = 3


def test_keys_are_those_of_yaml() -> None:
    assert attributes(Person) == {"firstName": "first_name", "age": "age"}
    ada = Person.model_validate(ADA)
    assert (has_key(ada, "firstName"), has_key(ada, "age")) == (True, False)


def test_a_pattern_is_said_in_words() -> None:
    person = base.schema_of_model(Club)["$defs"]["Person"]["properties"]["firstName"]
    assert person["patternErrorMessage"] == "a name such as Ada"
    assert person["examples"] == ["Ada"]
    assert PATTERNS["^[A-Z]"] == "a name such as Ada"


def test_a_problem_is_known_by_its_kind() -> None:
    error = problem("odd", "{value} is odd", {"value": 3})
    assert (error.type, error.context, str(error)) == ("odd", {"value": 3}, "3 is odd")  # type: ignore[attr-defined]


class _Anything(base.Model):
    """A mapping that may hold whatever YAML has."""

    value_of_it: Any = None
    cpus: base.CpuList | None = None
    below: "tuple[_Anything, ...]" = ()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        1 << 70,
        "",
        'é\u2028\x01\x7f"\\\t😀',
        [None, [1, "a"], {}],
        {"a": None, "b": {"c": None, "d": [None]}},
        {"zwölf": 12, "": ()},
        1.5,
        1e300,
        {1: "a"},
        {"a": {None: 2.0}},
    ],
    ids=repr,
)
def test_json_is_as_pydantic_writes_it(value: object) -> None:
    inner = _Anything(value_of_it=value, cpus=CpuSet((0, 1, 2, 5)))
    for model in (inner, _Anything(value_of_it=[value]), _Anything(below=(inner, inner))):
        assert base.to_json(model) == model.model_dump_json(exclude_none=True)


class _Inner(Model):
    """A mapping that few documents have."""

    number: int


class _Outer(Model):
    """One that may have some."""

    inner: Annotated[_Inner, base.Later(_Inner)] | None = None
    others: Annotated[tuple[Annotated[_Inner, base.Later(_Inner)], ...], Listed] = ()


def test_a_model_is_made_when_a_document_has_it() -> None:
    assert _Outer.model_validate({}).inner is None
    assert not _Inner.__pydantic_complete__
    made = _Outer.model_validate({"inner": {"number": 1}, "others": [{"number": 2}]})
    assert _Inner.__pydantic_complete__
    assert made == _Outer(inner=_Inner(number=1), others=(_Inner(number=2),))
    with pytest.raises(ValidationError) as caught:
        _Outer.model_validate({"inner": {"number": "1", "more": 2}, "others": [{}, 3]})
    assert [(error["loc"], error["type"]) for error in caught.value.errors()] == [
        (("inner", "number"), "int_type"),
        (("inner", "more"), "extra_forbidden"),
        (("others", 0, "number"), "missing"),
        (("others", 1), "model_type"),
    ]
    form = base.schema_of_model(_Outer)
    assert form["properties"]["others"]["items"] == {"$ref": "#/$defs/_Inner"}
    assert form["$defs"] == {"_Inner": _Inner.model_json_schema()}
