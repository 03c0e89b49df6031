"""Boot arguments as text."""

from collections.abc import Iterable, Sequence

from cpuplan.components import cmdline
from cpuplan.plan.setting import Setting, Value


def arguments(settings: Iterable[Setting]) -> list[str]:
    """The words of the command line."""
    return [word for setting in settings for word in cmdline.words(setting.key, setting.value)]


def argument(setting: Setting) -> str:
    """One setting as it stands on the command line."""
    return " ".join(map(cmdline.quote, cmdline.words(setting.key, setting.value)))


def render(settings: Sequence[Setting]) -> str:
    """The command line, on one line without its end."""
    return " ".join(map(cmdline.quote, arguments(settings)))


def parse(text: str) -> dict[str, Value]:
    """A command line, also all of /proc/cmdline; `cmdline.keyed` describes repeated arguments."""
    return cmdline.keyed(text)


def occurrences(text: str) -> dict[str, list[cmdline.Occurrence]]:
    """Every time that each key of `parse` is on the command line."""
    return cmdline.occurrences(text)
