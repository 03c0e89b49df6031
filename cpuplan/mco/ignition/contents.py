"""The contents of the files of an Ignition config (DecodeIgnitionFileContents)."""

import gzip
import io
import zlib

from cpuplan.mco.errors import McoError
from cpuplan.mco.ignition.schema import Config
from cpuplan.mco.ignition.urls import decode_data_url

#: Of all files of a config, which etcd keeps in 1.5 MiB.
MAX_UNPACKED = 64 * 1024 * 1024


def contents(config: Config) -> dict[str, bytes]:
    """By path; files that are fetched from elsewhere are left out.

    McoError for compressed contents that cannot be unpacked.
    """
    decoded: dict[str, bytes] = {}
    left = MAX_UNPACKED
    for file in config.get("storage", {}).get("files") or ():
        section = file.get("contents", {})
        data = decode_data_url(section.get("source") or "data:,")
        if data is not None:
            is_packed = section.get("compression") == "gzip"
            contents_of = _unpacked(data, file["path"], left) if is_packed else data
            decoded[file["path"]] = contents_of
            left -= len(contents_of)
    return decoded


def _unpacked(data: bytes, path: str, limit: int) -> bytes:
    unpacked = b""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            unpacked = stream.read(max(limit, 0) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise McoError("contents cannot be unpacked", path=path) from error
    if len(unpacked) > limit:
        raise McoError("contents have too many bytes unpacked", path=path)
    return unpacked
