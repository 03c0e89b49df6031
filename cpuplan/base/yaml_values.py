"""The events of a YAML parser to values, also by YAML 1.1, as Kubernetes reads files.

The composer does not recurse, and it is bounded. Other composers, such as PyYAML's, recurse: deep
nesting overflows the stack, which ends the process. A few lines of aliases stand for more values
than there are atoms (CVE-2019-11253): an alias counts as much as what it stands for.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

#: libyaml where PyYAML was built with it; the parser in Python gives the same events fifteen times
#: slower.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: Characters of a text that count as one value where an alias repeats it.
_CHARACTERS = 64
#: What libyaml says from 0.2.6 on of 1,000 levels. Where a bracket may begin a key, it reads on in
#: search of its end, and so gets there before the first of these levels is an event.
_TOO_DEEP = "exceeded maximum nesting depth"


class Limits(NamedTuple):
    """The most that a file may hold."""

    values: int  # keys among them
    depth: int


class ExcessError(ValueError):
    """More than the limits allow; `event` is one too many."""

    def __init__(self, problem: str, event: Any, what: str, limit: int) -> None:
        super().__init__(problem)
        self.event, self.what, self.limit = event, what, limit


class Container:
    """An open list, or a document: a list with one item, its root."""

    def __init__(self, value: Any, append: Callable[[Any], None]) -> None:
        self.value = value
        self._append = append

    def add(self, child: Any, _event: Any) -> None:
        """Take the next child; a list or mapping is still empty then."""
        self._append(child)

    def end_child(self, event: Any) -> None:
        """The list or mapping that was taken last is complete."""


class Pairs(Container):
    """An open mapping."""

    def __init__(self, value: Any, put: Callable[[Any, Any], None]) -> None:
        self.value = value
        self._put = put
        self._keys: list[Any] = []  # the key whose value comes next

    def add(self, child: Any, _event: Any) -> None:
        """Take the next key, or its value."""
        if self._keys:
            self._put(self._keys.pop(), child)
        else:
            self._keys.append(child)


class Builder(ABC):
    """Makes values of events."""

    def document(self) -> Container:
        """A document."""
        roots: list[Any] = []
        return Container(roots, roots.append)

    @abstractmethod
    def mapping(self, event: Any) -> Container:
        """The mapping that an event begins."""

    @abstractmethod
    def sequence(self, event: Any) -> Container:
        """The list that an event begins."""

    @abstractmethod
    def scalar(self, event: Any) -> Any:
        """The value of a scalar."""

    def alias(self, _event: Any, value: Any) -> Any:
        """The value of an alias; `value` has its anchor, None without a complete one."""
        return value


def compose(loader: Any, builder: Builder, limits: Limits) -> Iterator[Container]:
    """The documents of a loader, each as soon as it is complete.

    Raises ExcessError, and yaml.YAMLError for what is not YAML.
    """
    try:
        yield from _composed(loader, builder, limits)
    except yaml.scanner.ScannerError as error:
        if error.problem != _TOO_DEEP:
            raise
        mark = error.problem_mark
        raise _too_deep(SequenceStartEvent(None, None, True, mark, mark), limits) from error


def _too_deep(event: Any, limits: Limits) -> ExcessError:
    problem = f"it is nested deeper than {limits.depth} levels"
    return ExcessError(problem, event, "levels of nesting", limits.depth)


def _composed(loader: Any, builder: Builder, limits: Limits) -> Iterator[Container]:
    container = builder.document()
    outer: list[tuple[Container, str | None, int]] = []
    anchors: dict[str, tuple[Any, int]] = {}  # values, and what they count
    count = 0
    for event in iter(loader.get_event, None):
        kind = event.__class__
        count += 1
        if count > limits.values:
            problem = f"it has more than {limits.values:,} keys and values"
            raise ExcessError(problem, event, "keys and values", limits.values)
        if kind is ScalarEvent:
            value = builder.scalar(event)
            container.add(value, event)
            if event.anchor:
                anchors[event.anchor] = value, 1 + len(event.value) // _CHARACTERS
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(outer) == limits.depth:
                raise _too_deep(event, limits)
            is_mapping = kind is MappingStartEvent
            inner = builder.mapping(event) if is_mapping else builder.sequence(event)
            container.add(inner.value, event)
            outer.append((container, event.anchor, count))
            container = inner
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            count -= 1
            value = container.value
            container, anchor, start = outer.pop()
            container.end_child(event)
            if anchor:
                anchors[anchor] = value, 1 + count - start
        elif kind is AliasEvent:
            value, weight = anchors.get(event.anchor, (None, 1))
            count += weight - 1
            container.add(builder.alias(event, value), event)
        elif kind is DocumentEndEvent:
            yield container
            container = builder.document()


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


def load_yaml11(text: str, loader_class: Any = LOADER) -> Iterator[Any]:
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
