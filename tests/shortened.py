"""Compiled files for people who compare them: what they need not read is put in short.

A shipped text becomes its name, base64 a reference to the comment above it, a list of values one
line, and values that differ between projects become `{names}`. `expand` gives the file back.
"""

import re
from base64 import b64encode
from functools import cache

from cpuplan.base.resources import resource

_BASE64 = "{of these lines}"
_SOURCE = re.compile(r"((?:^ *#.*\n)+)( *source: data:[^,]*;base64,)(.+)", re.MULTILINE)
_COMMENT = re.compile(r"^ *# ?", re.MULTILINE)
_TEMPLATE = re.compile(r"^( *(?:# )?)\{templates/(.+)\}\n", re.MULTILINE)
#: A list item with plain values only, over lines and on one.
_ITEM = re.compile(r"^( *)- (name: \S+(?:\n\1  \w+: \S+)+)\n(?!\1  )", re.MULTILINE)
_SHORT_ITEM = re.compile(r"^( *)- (name: \S+(?:, \w+: \S+)+)\n", re.MULTILINE)
_COSTS = re.compile(r"^( *)costs:\n((?:\1- name: \S+, value: \S+\n)+)", re.MULTILINE)
_SHORT_COSTS = re.compile(r"^( *)costs: (.+)\n", re.MULTILINE)


def shorten(text: str, names: dict[str, str], *, words: bool = False) -> str:
    """A file in short, with `names` for their values, and with a line for each of its `words`."""
    if words:
        text = text.replace(" ", "\n")
    text = _SOURCE.sub(_short_source, text)
    for name, shipped in _templates().items():
        text = _short_template(text, name, shipped)
    text = _ITEM.sub(_short_item, text)
    text = _COSTS.sub(_short_costs, text)
    for name, value in names.items():
        # `cpuplan-mixed-cpus` is a name of cpuplan's own, and not one of an intent `mixed-cpus`.
        text = re.sub(rf"(?<!cpuplan-){re.escape(value)}", f"{{{name}}}", text)
    return text


def expand(text: str, names: dict[str, str], *, words: bool = False) -> str:
    """The file that was put in short."""
    for name, value in reversed(names.items()):
        text = text.replace(f"{{{name}}}", value)
    text = _SHORT_COSTS.sub(_long_costs, text)
    text = _SHORT_ITEM.sub(_long_item, text)
    text = _TEMPLATE.sub(lambda gap: _indented(_templates().get(gap[2], ""), gap[1]), text)
    text = _SOURCE.sub(_long_source, text)
    return " ".join(text.splitlines()) + "\n" if words else text


def _short_source(source: re.Match[str]) -> str:
    comment, start, data = source.groups()
    return f"{comment}{start}{_BASE64 if data == _base64(comment) else data}"


def _long_source(source: re.Match[str]) -> str:
    comment, start, data = source.groups()
    return f"{comment}{start}{_base64(comment) if data == _BASE64 else data}"


def _base64(comment: str) -> str:
    return b64encode(_COMMENT.sub("", comment).encode()).decode()


@cache
def _templates() -> dict[str, str]:
    """The shipped texts without gaps, the longest first: a short one may be part of it."""
    folder = resource("templates")
    texts = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".j2"
    }
    return dict(sorted(texts.items(), key=lambda item: -len(item[1])))


def _short_template(text: str, name: str, shipped: str) -> str:
    first = re.escape(shipped.partition("\n")[0])
    for before in set(re.findall(rf"^( *(?:# )?){first}$", text, re.MULTILINE)):
        text = text.replace(_indented(shipped, before), f"{before}{{templates/{name}}}\n")
    return text


def _indented(text: str, before: str) -> str:
    return "".join(f"{before}{line}".rstrip() + "\n" for line in text.splitlines())


def _short_item(item: re.Match[str]) -> str:
    values = item[2].replace(f"\n{item[1]}  ", ", ")
    return f"{item[1]}- {values}\n"


def _long_item(item: re.Match[str]) -> str:
    lines = item[2].replace(", ", f"\n{item[1]}  ")
    return f"{item[1]}- {lines}\n"


def _short_costs(costs: re.Match[str]) -> str:
    values = re.findall(r"- name: (\S+), value: (\S+)\n", costs[2])
    return f"{costs[1]}costs: {', '.join(map(' '.join, values))}\n"


def _long_costs(costs: re.Match[str]) -> str:
    lines = [f"{costs[1]}costs:"]
    for cost in costs[2].split(", "):
        name, _, value = cost.partition(" ")
        lines.append(f"{costs[1]}- name: {name}, value: {value}")
    return "\n".join(lines) + "\n"
