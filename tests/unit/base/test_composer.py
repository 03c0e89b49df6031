"""Containers from events: what is complete, what is counted, what is too much."""

from typing import Any

import pytest
import yaml

from cpuplan.base.yaml_values import LOADER, Builder, Container, ExcessError, Limits, Pairs, compose


class Plain(Builder):
    """Texts in lists and dicts."""

    def mapping(self, event: Any) -> Container:
        data: dict[Any, Any] = {}
        return Pairs(data, data.__setitem__)

    def sequence(self, event: Any) -> Container:
        data: list[Any] = []
        return Container(data, data.append)

    def scalar(self, event: Any) -> Any:
        return event.value


def roots(text: str, values: int = 100, depth: int = 10) -> list[Any]:
    documents = compose(LOADER(text), Plain(), Limits(values, depth))
    return [document.value[0] for document in documents]


def test_documents() -> None:
    assert roots("a: [b, {c: d}]\n--- e\n---\n- - f\n") == [{"a": ["b", {"c": "d"}]}, "e", [["f"]]]
    assert roots("") == []


def test_an_alias_is_what_its_anchor_was_last() -> None:
    assert roots("[&a x, *a, &a [y], *a, &a {b: *a}, *a]") == [
        ["x", "x", ["y"], ["y"], {"b": ["y"]}, {"b": ["y"]}]
    ]
    assert roots("[*a, &b [*b]]") == [[None, [None]]]


def test_documents_that_are_complete_come_before_an_error() -> None:
    documents = compose(LOADER("a: b\n---\nc: ["), Plain(), Limits(100, 10))
    assert next(documents).value == [{"a": "b"}]
    with pytest.raises(yaml.YAMLError):
        next(documents)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("[x, x]", 5),  # stream, document, list and items
        ("[&a [x, x], *a]", 9),
        (f"[&a {'x' * 640}, *a]", 15),
        ("- &a [x]\n- &b [*a, *a]\n- [*b, *b]", 21),
    ],
)
def test_values_are_counted_as_if_written_out(text: str, least: int) -> None:
    assert roots(text, values=least + 2)  # the ends of document and stream
    with pytest.raises(ExcessError, match=f"it has more than {least + 1} keys and values"):
        roots(text, values=least + 1)


@pytest.mark.parametrize("bracket", ["[", "{a: ", "- ", "? "])
def test_nesting(bracket: str) -> None:
    with pytest.raises(ExcessError, match="it is nested deeper than 10 levels") as error:
        roots(bracket * 100_000)
    assert (error.value.what, error.value.limit) == ("levels of nesting", 10)
    assert roots("[" * 10 + "]" * 10)


class Shallow:
    """A parser that bears less nesting than the limits, as libyaml from 0.2.6 on."""

    def get_event(self) -> None:
        mark = yaml.Mark("", 1000, 0, 1000, None, 0)
        problem = "exceeded maximum nesting depth"
        raise yaml.scanner.ScannerError("while increasing flow level", mark, problem, mark)


def test_a_parser_that_gives_up_sooner() -> None:
    with pytest.raises(ExcessError, match="it is nested deeper than 10 levels") as error:
        list(compose(Shallow(), Plain(), Limits(100, 10)))
    assert error.value.event.start_mark.column == 1000
