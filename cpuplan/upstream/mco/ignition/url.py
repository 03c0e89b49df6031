"""Sources of contents: URLs, and data URLs (RFC 2397) as the operator's library reads them.

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/url.go
  vendor/github.com/vincent-petithory/dataurl/dataurl.go pkg/controller/common/helpers.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import base64
import binascii
import gzip
import io
import re
import zlib
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.types import FIRST, Config, Version

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CHARACTER = r"[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]"
_TYPE = (
    rf"(?:[xX]-{_CHARACTER}*"
    rf"|(?:text|image|audio|video|application|message|multipart){_CHARACTER}*)/{_CHARACTER}*"
)
# Sets of what is allowed: Python takes milliseconds for the set of all other Unicode characters.
_QUOTED = r'"(?:[\x00-!#-\[\]-\x7f]|\\[\x00-\x7f])*"'
_DATA_URL = re.compile(
    rf"data:(?:{_TYPE})?(?:;{_CHARACTER}+=(?:{_CHARACTER}+|{_QUOTED}))*(;base64)?,(.*)", re.DOTALL
)
_URL_DATA = re.compile(r"[!$-;=?-Z_a-z~]*")
_BASE64_DATA = re.compile(r"[A-Za-z0-9+/=\n]*")
#: Schemes that need nothing else, and the specs that brought them.
_SCHEMES = {"http": (2, 0), "https": (2, 0), "tftp": (2, 1), "gs": (3, 2)}
_EMPTY_VERSION = re.compile(r"(?:^|&)versionId(?:=?(?:&|\Z))")


def scheme_of(url: str) -> str | None:
    """The scheme in lower case, "" without one; None for what Go does not parse as a URL."""
    rest, _, fragment = url.partition("#")
    if _CONTROL.search(url) or _BAD_ESCAPE.search(fragment) or rest.startswith(":"):
        return None
    match = _SCHEME.match(rest)
    scheme = match[1].lower() if match else ""
    after = rest[match.end() :] if match else rest
    is_opaque = bool(scheme) and not after.startswith("/")
    if not is_opaque and _BAD_ESCAPE.search(after.partition("?")[0]):
        return None
    return scheme


@lru_cache(maxsize=256)
def problem_of_url(url: str, version: Version) -> str | None:
    """Why a URL is not a source, if it is not."""
    scheme = scheme_of(url)
    if scheme is None:
        return "not a URL"
    if scheme in _SCHEMES and version >= _SCHEMES[scheme]:
        return None
    if scheme == "oem" and version < FIRST:
        return None
    if scheme == "s3" and version >= (2, 1):
        query = url.partition("#")[0].partition("?")[2]
        return "empty version of an S3 object" if _EMPTY_VERSION.search(query) else None
    if scheme == "arn" and version >= (3, 4):
        return _problem_of_arn(url)
    if scheme == "data":
        return None if decode_data_url(url) is not None else "not a data URL"
    return "unknown scheme"


def _problem_of_arn(url: str) -> str | None:
    name = url.partition("#")[0].partition("?")[0]
    sections = name.split(":", 5)
    if len(sections) < 6 or sections[2] != "s3":
        return "not the ARN of an S3 object"
    needed = 3 if sections[5].startswith("accesspoint/") else 2
    return "not the ARN of an S3 object" if len(name.split("/")) < needed else None


def decode_data_url(url: str) -> bytes | None:
    """The bytes of a data URL; None for text that is not one."""
    match = _DATA_URL.fullmatch(url)
    if match is None:
        return None
    if match[1]:
        return _decode_base64(match[2])
    if not _URL_DATA.fullmatch(match[2]) or _BAD_ESCAPE.search(match[2]):
        return None
    return unquote_to_bytes(match[2])


def _decode_base64(text: str) -> bytes | None:
    if not _BASE64_DATA.fullmatch(text):
        return None
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True)
    except binascii.Error:
        return None


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
