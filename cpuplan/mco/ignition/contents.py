"""The contents of the files of an Ignition config (DecodeIgnitionFileContents)."""

import gzip
import zlib

from cpuplan.mco.errors import McoError
from cpuplan.mco.ignition.schema import Config
from cpuplan.mco.ignition.urls import decode_data_url


def contents(config: Config) -> dict[str, bytes]:
    """By path; files that are fetched from elsewhere are left out.

    McoError for compressed contents that cannot be unpacked.
    """
    decoded = {}
    for file in config.get("storage", {}).get("files") or ():
        section = file.get("contents", {})
        data = decode_data_url(section.get("source") or "data:,")
        if data is not None:
            is_packed = section.get("compression") == "gzip"
            decoded[file["path"]] = _unpacked(data, file["path"]) if is_packed else data
    return decoded


def _unpacked(data: bytes, path: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise McoError("contents cannot be unpacked", path=path) from error
