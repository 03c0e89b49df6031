"""The boot arguments of a profile: its options `cmdline...` one after another.

Upstream: redhat-performance/tuned tuned/plugins/plugin_bootloader.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

from collections.abc import Iterable
from typing import NamedTuple

SECTION = "bootloader"
CMDLINE = "cmdline"
_BEGINNINGS = ("\\\\", "\\+", "\\-")


class Word(NamedTuple):
    """An argument, and the option that gives it."""

    text: str
    option: str


def words(options: Iterable[tuple[str, str]]) -> list[Word]:
    """The words of the command line from options with expanded values, in their order.

    `-` takes words of options before it out; `+` and nothing at the beginning are the same.
    """
    line: list[Word] = []
    for name, value in options:
        if not name.startswith(CMDLINE) or not value:
            continue
        if value[0] == "-":
            removed = value[1:].split()
            line = [word for word in line if word.text not in removed]
            continue
        is_marked = value[0] == "+" or value[:2] in _BEGINNINGS
        line += [Word(text, name) for text in (value[1:] if is_marked else value).split()]
    return line
