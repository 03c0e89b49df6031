"""The contents of the files of an Ignition config (DecodeIgnitionFileContents)."""

import gzip
import io
import zlib

from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.ignition.schema import Config
from cpuplan.upstream.mco.ignition.urls import decode_data_url

#: Bytes of the unpacked files of a config. Packed, all of them are below what etcd takes (1.5 MB),
#: from which a gigabyte can be made.
_MAX_UNPACKED = 64 * 1024**2


def contents(config: Config) -> dict[str, bytes]:
    """By path; files that are fetched from elsewhere are left out.

    McoError for compressed contents that cannot be unpacked.
    """
    decoded = {}
    room = _MAX_UNPACKED
    for file in config.get("storage", {}).get("files") or ():
        section = file.get("contents", {})
        data = decode_data_url(section.get("source") or "data:,")
        if data is not None:
            if section.get("compression") == "gzip":
                data = _unpacked(data, file["path"], room)
                room -= len(data)
            decoded[file["path"]] = data
    return decoded


def _unpacked(data: bytes, path: str, room: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(room + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise McoError("contents cannot be unpacked", path=path) from error
    if len(unpacked) > room:
        raise McoError("contents are too large to be unpacked", path=path)
    return unpacked
