"""Whether a hostile text is anything else than data in an output, by the output's own grammar.

An output with the hostile text and one with a harmless text in its place have the same structure:
the same keys, items, elements, lines. What differs holds the text, or is a digest.
"""

import base64
import gzip
import json
import re
import tomllib
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, unquote_to_bytes
from xml.etree import ElementTree

import yaml

from cpuplan.base.text import printable
from tests.injection.payloads import BENIGN

#: Never in anything that is printed or written.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069\ufeff\ufffe]")
_DIGEST = re.compile(r"(sha(256|512)[:-])?[0-9a-f]{8,128}")


def parsed(path: str, text: str) -> Any:
    """The structure of a file, by what its name ends in."""
    suffix = PurePath(path).suffix
    if suffix in (".yaml", ".yml"):
        return list(yaml.load_all(text, yaml.CSafeLoader))
    if suffix in (".json", ".ign", ".sarif"):
        return json.loads(text)
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix in (".xml", ".svg"):
        return _element(ElementTree.fromstring(text))  # noqa: S314 - made here
    return text


def _element(element: ElementTree.Element) -> list[Any]:
    return [
        element.tag,
        dict(element.attrib),
        element.text or "",
        element.tail or "",
        [_element(child) for child in element],
    ]


#: Where things are in a picture, which depends on how long a text is.
_GEOMETRY = {"x", "y", "width", "height", "viewBox", "transform", "d", "points", "textLength"}


def kinds_of_picture(text: str, payload: str) -> set[tuple[str, str, str]]:
    """The elements of an SVG with their attributes: a longer text has more lines of one kind."""
    kinds = set()
    for element in ElementTree.fromstring(text).iter():  # noqa: S314 - made here
        kinds.add((element.tag, "", ""))
        for name, value in element.attrib.items():
            shown = "" if name in _GEOMETRY else _masked(value, payload)
            kinds.add((element.tag, name, shown))
    return kinds


def differences(hostile: Any, benign: Any, payload: str, where: str = "") -> list[str]:
    """Where two structures differ in more than the text."""
    if isinstance(hostile, str) and isinstance(benign, str):
        return _of_texts(hostile, benign, payload, where)
    if type(hostile) is not type(benign):
        return [f"{where}: {type(hostile).__name__}, not {type(benign).__name__}"]
    if isinstance(hostile, dict):
        if hostile.keys() != benign.keys():
            return [f"{where}: other keys: {sorted(map(str, hostile.keys() ^ benign.keys()))}"]
        pairs = [(f"{where}.{key}", hostile[key], benign[key]) for key in hostile]
    elif isinstance(hostile, list):
        if len(hostile) != len(benign):
            return [f"{where}: {len(hostile)} items, not {len(benign)}"]
        numbered = enumerate(zip(hostile, benign, strict=True))
        pairs = [(f"{where}[{number}]", *items) for number, items in numbered]
    else:
        return [] if hostile == benign else [f"{where}: {hostile!r}, not {benign!r}"]
    return [
        problem
        for place, own, other in pairs
        for problem in differences(own, other, payload, place)
    ]


def _of_texts(hostile: str, benign: str, payload: str, where: str) -> list[str]:
    if hostile == benign or (_DIGEST.fullmatch(hostile) and _DIGEST.fullmatch(benign)):
        return []
    if _without(hostile, payload) == _without(benign, BENIGN):
        return []
    inner = _decoded(hostile), _decoded(benign)
    if inner[0] is not None and inner[1] is not None:
        return differences(inner[0], inner[1], payload, f"{where}>")
    lines, other = hostile.split("\n"), benign.split("\n")
    if len(lines) != len(other):
        return [f"{where}: {len(lines)} lines, not {len(other)}"]
    return [
        f"{where}:{number}: {line!r}, not {expected!r}"
        for number, (line, expected) in enumerate(zip(lines, other, strict=True), 1)
        if _masked(line, payload) != _masked(expected, BENIGN)
    ]


def _forms(text: str) -> set[str]:
    """How a text is written where it is data."""
    quoted = json.dumps(text)[1:-1]
    forms = {text, printable(text), quoted, json.dumps(printable(text))[1:-1], quote(text)}
    forms |= {text.replace("'", "''"), text.replace('"', '\\"'), quoted.replace("\\u0000", "\\0")}
    return {*forms, printable(text).replace("\\", "\\\\").replace('"', '\\"')}


def _without(text: str, payload: str) -> str:
    for form in sorted(_forms(payload), key=len, reverse=True):
        text = text.replace(form, "<text>")
    return text


def _masked(line: str, payload: str) -> str:
    """A line without the text, its quotes, and digests."""
    line = re.sub(r"""["']?<text>["']?""", "<text>", _without(line, payload))
    return re.sub(r"\b[0-9a-f]{8}\b|[0-9a-f]{16,128}", "<digest>", line)


def _decoded(text: str) -> Any:
    """What a text holds in another language: a data URL, base64, YAML or JSON."""
    if text.startswith("data:"):
        head, _, body = text.partition(",")
        data = unquote_to_bytes(body)
        return _bytes(base64.b64decode(data) if head.endswith("base64") else data)
    if re.fullmatch(r"[A-Za-z0-9+/]{40,}={0,2}", text):
        return _bytes(base64.b64decode(text))
    if "\n" in text or text.startswith(("{", "[")):
        try:
            data = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError:
            return None
        return data if isinstance(data, dict | list) else None
    return None


def _bytes(data: bytes) -> str:
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
