"""Entries of the Boot Loader Specification, which systemd-boot, Fedora's GRUB and ostree read."""

from collections.abc import Mapping

from cpuplan.base import nodetext
from cpuplan.upstream.linux.loaders.entry import Entry, expanded


def entry(name: str, text: str, variables: Mapping[str, str]) -> Entry:
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


def environment(text: str) -> dict[str, str]:
    """The variables of a GRUB environment block (grubenv), which is filled up with `#`."""
    lines = (line.partition("=") for line in nodetext.lines(text) if not line.startswith("#"))
    return {name: value for name, equals, value in lines if equals}


def default_of_systemd_boot(text: str) -> str:
    """The pattern of the default entry in loader.conf; "" without one."""
    words = (line.split(maxsplit=1) for line in nodetext.lines(text))
    found = [pair[1].strip() for pair in words if len(pair) == 2 and pair[0] == "default"]
    return found[-1] if found else ""
