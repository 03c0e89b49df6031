"""GRUB: the menu that grub-mkconfig writes (grub.cfg), and what it is made from.

Upstream: rhboot/grub2 util/grub-mkconfig.in util/grub.d/10_linux.in grub-core/commands/blscfg.c
  @ 5e9e7e44eddcab0174decc12c3799825e600639f
Upstream: uapi-group/specifications specs/boot_loader_specification.md
  @ ed66b52d813264daec0f930381c2abb1f6c82da9
"""

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.base import nodetext

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class Entry(NamedTuple):
    """A kernel that can be booted, with its arguments on one line."""

    #: The name by which a default is chosen: a file's name without `.conf`, or an id or title.
    name: str
    title: str
    arguments: str
    version: str = ""
    #: The line of the file with the arguments, from 1.
    line: int = 1


def is_rescue(entry: Entry) -> bool:
    """Whether an entry is there for repairs, and not for every day."""
    text = f"{entry.name} {entry.title} {entry.version}".lower()
    words = ("rescue", "recovery", "memtest", "single-user", "firmware")
    return any(word in text for word in words)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with the values of variables; unknown ones are empty."""
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), text)


def in_order(version: str) -> tuple[tuple[int, int, str], ...]:
    """A key to sort versions by, numbers as numbers; the highest is last."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return tuple(_in_order(part) for part in parts)


def _in_order(part: str) -> tuple[int, int, str]:
    """Of numbers, that of more digits is the larger one."""
    if not part.isdigit():
        return 0, 0, part
    digits = part.lstrip("0")
    return 1, len(digits), digits


def bls_entry(name: str, text: str, variables: Mapping[str, str]) -> Entry:
    """The entry of a file `<name>.conf`; several lines of options make one.

    `variables` are those of GRUB's environment block, such as `kernelopts`.
    """
    fields: dict[str, str] = {}
    options, at = [], 1
    for number, line in enumerate(nodetext.lines(text), start=1):
        key, _, value = line.strip().partition(" ")
        if key == "options":
            options.append(value.strip())
            at = number
        elif key and not key.startswith("#"):
            fields[key] = value.strip()
    arguments = expanded(" ".join(options), variables)
    return Entry(name, fields.get("title", name), arguments, fields.get("version", name), at)


def grub_environment(text: str) -> dict[str, str]:
    """The variables of a GRUB environment block (grubenv), which is filled up with `#`."""
    lines = (line.partition("=") for line in nodetext.lines(text) if not line.startswith("#"))
    return {name: value for name, equals, value in lines if equals}


def default_of_systemd_boot(text: str) -> str:
    """The pattern of the default entry in loader.conf; "" without one."""
    words = (line.split(maxsplit=1) for line in nodetext.lines(text))
    defaults = [pair[1].strip() for pair in words if len(pair) == 2 and pair[0] == "default"]
    return defaults[-1] if defaults else ""


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


def grub_menu(text: str, variables: Mapping[str, str]) -> Menu:
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


def grub_defaults(texts: list[str]) -> dict[str, str]:
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
