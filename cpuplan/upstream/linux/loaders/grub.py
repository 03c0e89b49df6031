"""GRUB: the menu that grub-mkconfig writes (grub.cfg), and what it is made from."""

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.upstream.linux.loaders.entry import Entry, expanded

_SET = re.compile(r"set\s+(\w+)=(.*)")
_MENU = re.compile(r"""(menuentry|submenu)\s+(?:'([^']*)'|"([^"]*)")(.*)\{\s*\Z""")
_ID = re.compile(r"""(?:--id|\$menuentry_id_option)[ =](?:'([^']*)'|"([^"]*)"|(\S+))""")
_KERNEL = re.compile(r"(?:linux|linuxefi|linux16)\s+(\S+)\s*(.*)")
_ASSIGNMENT = re.compile(r"(?:export\s+)?(\w+)(\+?=)(.*)")
#: Their values in this order are the arguments of an entry (/etc/grub.d/10_linux).
ARGUMENTS = ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")


class Menu(NamedTuple):
    """The entries of a grub.cfg in its order, and how it chooses among them."""

    entries: tuple[Entry, ...]
    #: The number, id or title of the default; "" where only the environment block says it.
    default: str
    #: Whether entries of the Boot Loader Specification are added.
    has_bls: bool


def menu(text: str, variables: Mapping[str, str]) -> Menu:
    """The menu of a grub.cfg. `variables` are those of the environment block.

    Conditions are not evaluated: of a variable that is set in several places the first counts.
    """
    known = dict(variables)
    default = ""
    entries: list[Entry] = []
    title = name = ""
    for number, raw in enumerate(nodetext.lines(text), start=1):
        line = raw.strip()
        if match := _SET.fullmatch(line):
            value = match[2].strip().strip("\"'")
            if match[1] == "default":
                default = default or expanded(value, known)
            else:
                known.setdefault(match[1], value)
        elif match := _MENU.match(line):
            title = match[2] or match[3] or ""
            own = _ID.search(match[4])
            name = next(filter(None, own.groups()), title) if own else title
        elif (match := _KERNEL.fullmatch(line)) and title:
            arguments = expanded(match[2], known)
            entries.append(Entry(name, title, arguments, match[1], number))
    has_bls = any(line.strip() == "blscfg" for line in nodetext.lines(text))
    return Menu(tuple(entries), default, has_bls)


def defaults(texts: list[str]) -> dict[str, str]:
    """The variables of /etc/default/grub and the files of grub.d, in the order that a shell reads.

    What only a shell can do (commands, conditions) is taken as it stands.
    """
    values: dict[str, str] = {}
    for line in nodetext.lines("\n".join(texts).replace("\\\n", " ")):
        match = _ASSIGNMENT.fullmatch(line.strip())
        if match:
            old = values.get(match[1], "") if match[2] == "+=" else ""
            values[match[1]] = old + expanded(_unquoted(match[3]), values)
    return values


def _unquoted(text: str) -> str:
    """The value of an assignment, up to a comment or a further command."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return text.strip("\"'")
    return words[0] if words else ""
