"""Shipped texts: units, scripts and files below `templates/`."""

import re
from collections.abc import Callable
from functools import cache

from cpuplan.base.program import resource

#: Without quotes, `$`, `%`, backslashes, line ends, and all that ends a word of a shell.
_INERT = re.compile(r"[A-Za-z0-9_.,:/=@+ -]*")


def template(name: str, **values: object) -> str:
    """The text of `templates/<name>` with its gaps filled."""
    return _compiled(name)(values)


def _inert(value: object) -> str:
    """A value for a gap, if it is one line without what units, shells or profiles read.

    Units run as root. The models take no other values; this is the second lock on the door.
    """
    text = str(value)
    if not _INERT.fullmatch(text):
        raise ValueError(f"{text!r} does not belong into a unit or script")
    return text


@cache
def _compiled(name: str) -> Callable[[dict[str, object]], str]:
    """A shipped text as a function of its values; only names that end in .j2 need Jinja."""
    text = resource("templates", name).read_text(encoding="utf-8")
    if not name.endswith(".j2"):
        return lambda _values: text
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML
        undefined=StrictUndefined, finalize=_inert, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(text).render
