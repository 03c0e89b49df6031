"""Contents of files by what they mean: each format as the program that reads it understands it.

The rules are those of `vectors/nto/README.md`, "Comparing rendered manifests": CPU lists are sets,
amounts of memory are bytes; texts of scripts and comments are not compared. Empty values count
here: a program that reads a file tells `""` from nothing.
"""

import base64
import gzip
import json
import re
import shlex
import tomllib
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote_to_bytes

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.text import quantity_bytes

#: Where units find their scripts: texts of the operator's own, which are not compared.
SCRIPTS = "/usr/local/bin/"
_RELATIONS = frozenset(
    {
        "Before",
        "After",
        "Requires",
        "Wants",
        "WantedBy",
        "RequiredBy",
        "BindsTo",
        "PartOf",
        "Conflicts",
    }
)
_TEXTS_FOR_PEOPLE = frozenset({"Description", "Documentation"})
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})+")
_CPU_KEY = re.compile(r"(cpuset|CPUs|CPUS|cpu_affinity)$")
_MEMORY_KEY = re.compile(r"(^memory(\.|$)|storage$|^hugepages-)")
_SHELLS = frozenset({"bash", "sh"})


class Exact(dict[str, Any]):
    """A mapping whose empty values count."""


def cpu_list(text: str) -> str:
    """A CPU list in one form; other texts as they are."""
    try:
        return str(CpuSet.parse_kernel(text))
    except CpuSetError:
        return text


def decoded(contents: dict[str, Any]) -> str:
    """The text behind a `data:` URL (RFC 2397)."""
    header, _, payload = (contents.get("source") or "data:,").partition(",")
    data = base64.b64decode(payload) if header.endswith(";base64") else unquote_to_bytes(payload)
    return (gzip.decompress(data) if contents.get("compression") == "gzip" else data).decode()


def meaning_of(path: str, text: str) -> Any:
    """The text of the file at `path` on a node, by its format."""
    if "/crio.conf.d/" in path:
        return Exact(plain(tomllib.loads(text)))
    if "/openshift-workload-" in path:
        return Exact(plain(json.loads(text)))
    if path.startswith("/etc/systemd/system/"):
        return unit(text)
    stripped = map(str.strip, text.splitlines())
    lines = [line for line in stripped if line and not line.startswith("#")]
    if not lines:
        return "(comments)" if text.strip() else "(empty)"
    if path.endswith(".rules"):
        return [sorted(token.strip() for token in line.split(",")) for line in lines]
    if "/sysctl.d/" in path:
        pairs = (line.partition("=") for line in lines)
        return Exact({key.strip(): value.strip() for key, _, value in pairs})
    return lines


def unit(text: str) -> Exact:
    """systemd.syntax(7): sections of keys with ordered values; relations to other units as sets."""
    sections = Exact()
    section: dict[str, list[str]] = {}
    kept = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(kept)).splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[] "), Exact())
            continue
        key, _, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if key not in _TEXTS_FOR_PEOPLE:
            section.setdefault(key, []).extend(_unit_values(key, value))
    for named in sections.values():
        relations = {key: sorted(set(named[key])) for key in named.keys() & _RELATIONS}
        named.update(relations)
    return sections


def _unit_values(key: str, value: str) -> list[str]:
    if key in _RELATIONS:
        return value.split()
    if key == "Environment":
        return [_environment(word) for word in shlex.split(value)]
    if key.startswith("Exec"):
        return [_command(value)]
    return [value]


def _command(line: str) -> str:
    """The words of a command line, after systemd's prefixes; what a shell starts is as good alone.

    A script is named by its path and arguments, whatever starts it.
    """
    bare = line.lstrip("-@:+!")
    prefixes, words = line[: len(line) - len(bare)], shlex.split(bare)
    if PurePath(words[0]).name in _SHELLS and words[1:2] == ["-c"]:
        words = shlex.split(words[2])
    script = next((place for place, word in enumerate(words) if word.startswith(SCRIPTS)), None)
    if script is not None:
        return prefixes + shlex.join(words[script:])
    return prefixes + shlex.join([PurePath(words[0]).name, *words[1:]])


def _environment(word: str) -> str:
    """A list of CPUs as a set; a mask without the commas between its words of 32 bits."""
    name, _, value = word.partition("=")
    if _MASK.fullmatch(value):
        value = value.replace(",", "").lstrip("0")
    return f"{name}={cpu_list(value) if _CPU_KEY.search(name) else value}"


def tuned_sections(text: str) -> dict[str, Exact]:
    """tuned.conf(5) without comments. A section without options switches its plugin on."""
    sections: dict[str, Exact] = {}
    section = Exact()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[] "), Exact())
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            section[key.strip()] = value.strip()
    return {name: options or Exact(enabled="true") for name, options in sections.items()}


def plain(value: Any, key: str = "") -> Any:
    """CPU lists and amounts in one form; lists sorted, since their order says nothing here."""
    if isinstance(value, dict):
        return Exact({name: plain(item, name) for name, item in value.items()})
    if isinstance(value, list):
        return sorted((plain(item) for item in value), key=_order)
    if not isinstance(value, str):
        return value
    if _CPU_KEY.search(key):
        return cpu_list(value)
    if _MEMORY_KEY.search(key):
        try:
            return quantity_bytes(value)
        except ValueError:
            return value
    return value


def _order(value: Any) -> str:
    """A key to sort values by, the same for mappings whatever the order of their keys."""
    return json.dumps(value, sort_keys=True)
