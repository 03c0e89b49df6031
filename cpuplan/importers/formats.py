"""Formats by their look: how a file begins, or what stands in a folder. Importers are loaded after
this.
"""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from cpuplan.importers.trees.archive import is_archive
from cpuplan.importers.trees.folder import system_root

#: How much of a file is looked at: the first object of a NodeList may have long annotations. Of a
#: text that does not show in its head what it is (a stream of other objects first, a sign late in
#: one long line), this much more.
_HEAD = 256 * 1024
_MORE = 8 * 1024 * 1024

#: The format of a text by how it begins; the first one counts.
_LOOKS = {
    # Possessive and atomic, so that a long row of comments or blanks cannot take forever.
    "hwloc": re.compile(
        r"\s*+(?>(<\?xml[^>]*+>|<!--.*?-->)\s*+)*+<(!DOCTYPE\s++)?topology\b", re.DOTALL
    ),
    "lscpu": re.compile(
        r"""\s*\{\s*"(lscpu|cpus)"\s*:|(#[^\n]*\n)*#\s*([a-z0-9]+,)*CPU[,\r\n]"""
        r"""|Architecture: |CPU( +[A-Z][A-Za-z0-9:%]*)+\s*\n""",
        re.IGNORECASE,
    ),
    "objects": re.compile(
        r"""(?s:.*?)(^|[{,\s])["']?kind["']?\s*:\s*["']?(List|(NodeResourceTopology|Node)(List)?)["']?\s*($|[,}])""",
        re.MULTILINE,
    ),
    "machineinfo": re.compile(r'\s*\{.*?"num_cores"\s*:', re.DOTALL),
    "ironic": re.compile(r'\s*\{.*?"numa_topology"\s*:', re.DOTALL),
}
#: What a text begins with, or has at the beginning of a line, that is worth reading more of.
_SIGNS = re.compile(rb"\A\s*\{|^apiVersion\s*:", re.MULTILINE)


def detect(path: Path) -> str | None:
    """The format of the file or folder at `path`; None where it looks like none."""
    if os.path.isdir(path):
        return _detect_folder(path)
    try:
        with path.open("rb") as file:
            start = file.read(_HEAD)
            if is_archive(start):
                text = _unpacked_head(start)
                return (None if text[257:262] == b"ustar" else _detect_text(text)) or "sysroot"
            found = _detect_text(start)
            if found is None and len(start) == _HEAD and _SIGNS.search(start):
                found = _detect_text(start + file.read(_MORE))
            return found
    except OSError:
        return None


def _unpacked_head(start: bytes) -> bytes:
    """What the beginning of a compressed file unpacks to; a little of it is enough. b"" for what is
    none.
    """
    try:
        if start.startswith(b"\x1f\x8b"):
            import zlib

            return zlib.decompressobj(31).decompress(start, _HEAD)
        if start.startswith(b"BZh"):
            import bz2

            return bz2.BZ2Decompressor().decompress(start, _HEAD)
        import lzma

        return lzma.LZMADecompressor().decompress(start, _HEAD)
    except Exception:  # zlib.error, LZMAError, OSError: the modules' own errors have no common base
        return b""


def _detect_text(start: bytes) -> str | None:
    encoding = "utf-16" if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    return next((name for name, look in _LOOKS.items() if look.match(text)), None)


def _detect_folder(path: Path) -> str | None:
    if system_root(path) is not None:
        return "sysroot"
    from cpuplan.importers import must_gather

    return "must-gather" if must_gather.detect(path) else None
