"""YAML that tools emit, anchors too, as mappings and lists of texts."""

from typing import Any

from cpuplan.base.yaml_values import LOADER, Builder, Container, Limits, Pairs, compose

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
#: Tags that say what is so anyway; another one makes of a text what nobody here expects.
_PLAIN_TAGS = frozenset(
    {None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))}
)


def parse(text: str, limits: Limits) -> list[Any]:
    """The documents of a text. Raises ValueError and yaml.YAMLError."""
    return [document.value[0] for document in compose(LOADER(text), _Texts(), limits)]


class _Texts(Builder):
    """Makes a scalar its text, or None."""

    def sequence(self, event: Any) -> Container:
        _check_tag(event)
        items: list[Any] = []
        return Container(items, items.append)

    def mapping(self, event: Any) -> Pairs:
        _check_tag(event)
        data: dict[str, Any] = {}

        def put(key: Any, value: Any) -> None:
            if isinstance(key, str):  # nobody looks for another one
                data[key] = value

        return Pairs(data, put)

    def scalar(self, event: Any) -> str | None:
        _check_tag(event)
        is_null = event.implicit[0] and event.value in _NULLS
        return None if is_null else str(event.value)


def _check_tag(event: Any) -> None:
    if event.tag not in _PLAIN_TAGS:
        raise ValueError(f"the tag {event.tag.strip()[:40]} is not read")
