"""Settings of Git as text of a configuration file."""

from collections.abc import Iterable

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


def as_text(settings: Iterable[tuple[str, str]]) -> str:
    """The lines of a configuration file that give keys their values, in this order."""
    lines = []
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, dot, name = rest.rpartition(".")
        title = f'{section} "{subsection.translate(_ESCAPES)}"' if dot else section
        lines.append(f'[{title}]\n\t{name} = "{value.translate(_ESCAPES)}"\n')
    return "".join(lines)
