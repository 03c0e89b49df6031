"""Shipped texts: units, scripts and files below `templates/`."""

from collections.abc import Callable
from functools import cache

from cpuplan.resources import resource


def template(name: str, **values: object) -> str:
    """The text of `templates/<name>` with its gaps filled."""
    return _compiled(name)(values)


@cache
def _compiled(name: str) -> Callable[[dict[str, object]], str]:
    """A shipped text as a function of its values; only names that end in .j2 need Jinja."""
    text = resource("templates", name).read_text(encoding="utf-8")
    if not name.endswith(".j2"):
        return lambda _values: text
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(text).render
