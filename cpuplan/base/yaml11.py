"""YAML files of nodes and clusters as YAML 1.1 has them, which is how Kubernetes reads them."""

from collections.abc import Iterator
from typing import Any, TypeVar

import yaml

from cpuplan.base.composer import LOADER, Builder, Container, Limits, Pairs, compose

LIMITS = Limits(values=200_000, depth=100)
#: Characters of an unquoted value: a number to base 60 (`1:01:01`) takes time by the square of its
#: length.
MAX_PLAIN = 16_384
#: What PyYAML's constructors raise beside its own errors, for `!!int ''`, `!!bool x`, `!!timestamp
#: x` or 5,000 digits.
_CONSTRUCTION_ERRORS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def load(text: str, loader_class: Any = LOADER) -> Iterator[Any]:
    """The documents of a text, each as the constructors of PyYAML's `loader_class` make it.

    Raises ValueError for text that is too large or has values that do not fit their tags, and
    yaml.YAMLError for text that is not YAML.
    """
    loader = loader_class(text)
    try:
        for document in list(compose(loader, _Nodes(loader), LIMITS)):
            yield loader.construct_document(document.value[0])
    except _CONSTRUCTION_ERRORS as error:
        raise ValueError(str(error)) from error


_Node = TypeVar("_Node", yaml.SequenceNode, yaml.MappingNode)


class _Nodes(Builder):
    """Makes PyYAML's nodes."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def scalar(self, event: Any) -> yaml.Node:
        if event.implicit[0] and len(event.value) > MAX_PLAIN:
            raise ValueError(f"an unquoted value has more than {MAX_PLAIN:,} characters")
        tag = self._tag(yaml.ScalarNode, event, event.value)
        return yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark, event.style)

    def alias(self, event: Any, value: Any) -> Any:
        if value is None:
            problem = f"found undefined alias {event.anchor!r}"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return value

    def sequence(self, event: Any) -> Container:
        node = self._collection(yaml.SequenceNode, event)
        return Container(node, node.value.append)

    def mapping(self, event: Any) -> Pairs:
        node = self._collection(yaml.MappingNode, event)
        return Pairs(node, lambda key, value: node.value.append((key, value)))

    def _collection(self, kind: type[_Node], event: Any) -> _Node:
        tag = self._tag(kind, event, None)
        return kind(tag, [], event.start_mark, event.end_mark, event.flow_style)

    def _tag(self, kind: Any, event: Any, value: Any) -> str:
        written = event.tag if event.tag != "!" else None
        return str(written or self._loader.resolve(kind, value, event.implicit))
