"""The defaults that a setting comes from, and what an intent writes to have them or not."""

from collections.abc import Iterable

from cpuplan.components.reasons import DEFAULT
from cpuplan.plan import defaults
from cpuplan.plan.defaults import Default
from cpuplan.plan.setting import Setting

#: Above the rows of `switches`.
HEADING = "to change it (docs/defaults.md)"


def rows_of(setting: Setting) -> list[Default]:
    """The defaults that a setting comes from."""
    texts = {reason.text for reason in setting.reasons if reason.origin == DEFAULT}
    candidates = defaults.candidates(setting.component, setting.key)
    return [row for row in candidates if row.reason in texts]


def switches(rows: Iterable[Default]) -> list[tuple[str, str]]:
    """(name, what an intent writes not to have it) of each default, once."""
    return list(dict.fromkeys((row.name, off_switch(row)) for row in rows))


def off_switch(row: Default) -> str:
    """What an intent writes not to have a default."""
    return row.off_by or f"defaults: [{{disable: {row.name}, because: ...}}]"


def on_switch(row: Default) -> str:
    """What an intent writes to have a default where it is none, in Markdown."""
    if row.on_by:
        return f"`{row.on_by}`"
    also = ", or `workloadHints: {realTime: true}`" if row.real_time else ""
    return f"`defaults: [{{enable: {row.name}, because: ...}}]`{also}"
