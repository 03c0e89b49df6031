"""YAML that others wrote, before a reader that recurses takes it: PyYAML's own composer in C
overflows the stack, which ends the process, and a few lines of aliases stand for more values than
there are atoms (CVE-2019-11253).
"""

from typing import Any

MAX_DEPTH = 100
MAX_VALUES = 200_000
#: Characters of an unquoted value: a number to base 60 (`1:01:01`) takes time by the square of its
#: length.
MAX_PLAIN = 16_384
#: What PyYAML's constructors raise beside its own errors, for `!!int ''`, `!!bool x`, `!!timestamp
#: x` or 5,000 digits.
CONSTRUCTION_ERRORS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


def check_yaml(text: str, parser: Any = None) -> None:
    """Raise ValueError for YAML that is nested too deeply or stands for too many values.

    Nothing is said of syntax: yaml.YAMLError of the `parser` (libyaml's) is raised as it comes.
    """
    import yaml

    loader: Any = (parser or getattr(yaml, "CSafeLoader", yaml.SafeLoader))(text)
    # how many values an anchor stands for; None as long as it is open
    anchors: dict[str | None, int | None] = {}
    begun: list[tuple[str | None, int]] = []
    count = 0
    while (event := loader.get_event()) is not None:
        count += 1
        if isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, count))
            anchors[event.anchor] = None
        elif isinstance(event, yaml.CollectionEndEvent):
            name, start = begun.pop()
            anchors[name] = count - start
        elif isinstance(event, yaml.AliasEvent):
            weight = anchors.get(event.anchor, 0)
            if weight is None:
                raise ValueError(f"the alias {event.anchor!r:.40} stands within itself")
            count += weight
        elif isinstance(event, yaml.ScalarEvent):
            anchors[event.anchor] = 1 + len(event.value) // 64
            if event.implicit[0] and len(event.value) > MAX_PLAIN:
                raise ValueError(f"an unquoted value has more than {MAX_PLAIN:,} characters")
        if len(begun) > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        if count > MAX_VALUES:
            raise ValueError(f"it stands for more than {MAX_VALUES:,} values")
