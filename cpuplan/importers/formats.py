"""The formats, and which of them a file or folder has by its look."""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from importlib import import_module
from pathlib import Path

from cpuplan.base.files.packed import is_archive
from cpuplan.importers.base import Format
from cpuplan.importers.packed_files import unpacked_head

#: Modules that define a FORMAT; their looks are tried in this order.
_MODULES = (
    "sysroot",
    "must_gather",
    "lscpu",
    "hwloc",
    "objects",
    "machineinfo",
    "ironic",
)
_KNOWN: list[Format] = [import_module(f"cpuplan.importers.{name}").FORMAT for name in _MODULES]
FORMATS = {known.name: known for known in _KNOWN}
#: How much of a file is looked at: the first object of a NodeList may have long annotations.
_HEAD = 256 * 1024
#: This much more of a text whose head shows no format: other objects come first, lines are long.
_MORE = 8 * 1024 * 1024
#: What a text begins with, or has at the beginning of a line, that is worth reading more of.
_SIGNS = re.compile(rb"\A\s*\{|^apiVersion\s*:", re.MULTILINE)


def detect(path: Path) -> Format | None:
    """The format of the file or folder at `path`; None where it looks like none."""
    if os.path.isdir(path):
        return next((known for known in FORMATS.values() if known.is_folder(path)), None)
    try:
        with path.open("rb") as file:
            start = file.read(_HEAD)
            if is_archive(start):
                return _of_archive(start)
            known = _of_text(start)
            if known is None and len(start) == _HEAD and _SIGNS.search(start):
                known = _of_text(start + file.read(_MORE))
            return known
    except OSError:
        return None


def _of_archive(start: bytes) -> Format | None:
    """The format of a compressed file by its text; one that is no text is taken for an archive."""
    text = unpacked_head(start, _HEAD)
    known = None if is_archive(text) else _of_text(text)
    return known or next((known for known in FORMATS.values() if known.packs_files), None)


def _of_text(start: bytes) -> Format | None:
    encoding = "utf-16" if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    matching = (known for known in FORMATS.values() if known.text and known.text.match(text))
    return next(matching, None)
