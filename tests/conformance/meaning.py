"""Kubernetes objects by what they mean: the form in which two of them are equal when a cluster
treats them alike.

The rules are those of `vectors/nto/README.md`, "Comparing rendered manifests": absent, null and
empty are one; files are compared by their format, CPU lists as sets, amounts of memory by bytes;
texts of scripts and comments are not compared. Nothing here uses the parsers of
`cpuplan.components`, which belong to what is judged.
"""

import base64
import gzip
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.quantity import to_bytes

#: Where units find their scripts: texts of the operator's own, which are not compared.
SCRIPTS = "/usr/local/bin/"
OWNER_LABEL = "performance.openshift.io/weak-owner-reference-name"
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
_OWN_TEXT = frozenset({"Description", "Documentation", "ExecStartPre"})
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})+")
_CPU_KEY = re.compile(r"(cpuset|CPUs|CPUS|cpu_affinity)$")
_MEMORY_KEY = re.compile(r"(^memory(\.|$)|storage$|^hugepages-)")
#: Kernel arguments of which every occurrence counts.
_CUMULATIVE = frozenset({"console", "earlycon", "isolcpus", "module_blacklist"})
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())
_MISSING = object()


def canonical(manifest: dict[str, Any]) -> dict[str, Any]:
    """The meaning of a MachineConfig, KubeletConfig or RuntimeClass, as nested dicts without empty
    values.
    """
    metadata = manifest.get("metadata") or {}
    labels = {
        name: text or "(empty)"
        for name, text in (metadata.get("labels") or {}).items()
        if name != OWNER_LABEL
    }
    body = _BODIES[manifest["kind"]](manifest)
    meant: dict[str, Any] = _pruned(
        {"metadata": {"name": metadata.get("name"), "labels": labels}, **body}
    )
    return meant


def differences(
    expected: Any, found: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path, what differs) of two canonical values, ascending by path."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            yield from differences(
                expected.get(key, _MISSING), found.get(key, _MISSING), (*path, key)
            )
    elif expected is _MISSING:
        yield path, f"is {_short(found)}, and should not be there"
    elif found is _MISSING:
        yield path, f"is missing; it should be {_short(expected)}"
    elif expected != found:
        yield path, f"is {_short(found)}; it should be {_short(expected)}"


def line_of(path: Path, words: tuple[str, ...]) -> int:
    """The line of the last of `words` in `path`, each sought below the one before; those not found
    are passed over.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    at = -1
    for word in words:
        at = next((index for index in range(at + 1, len(lines)) if word in lines[index]), at)
    return max(at, 0) + 1


def missing_scripts(manifest: dict[str, Any]) -> list[str]:
    """Scripts that a MachineConfig's units start and that it does not bring, or not as executable
    files.
    """
    config = manifest["spec"]["config"]
    modes = {
        file["path"]: file.get("mode", 0o644)
        for file in (config.get("storage") or {}).get("files") or ()
    }
    units = (config.get("systemd") or {}).get("units") or ()
    started = {
        word
        for each in units
        for line in (each.get("contents") or "").splitlines()
        if line.startswith("Exec")
        for word in re.findall(rf"{SCRIPTS}\S+", line)
    }
    return sorted(path for path in started if not modes.get(path, 0) & 0o100)


def cpu_list(text: str) -> str:
    """A CPU list in one form; other texts as they are."""
    try:
        return str(CpuSet.parse_kernel(text))
    except CpuSetError:
        return text


def argument_differences(
    expected: list[str], found: list[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(name, what differs) of two lists of kernel arguments, as the set of values of each name.

    Of a name with several values the last one alone is as good where the last one holds in the
    kernel.
    """
    wanted, given = _arguments(expected), _arguments(found)
    for name in wanted.keys() & given.keys() - _CUMULATIVE:
        if given[name] == wanted[name][-1:]:
            wanted[name] = given[name]
    yield from differences(_sorted(wanted), _sorted(given))


def _sorted(arguments: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(values) for name, values in arguments.items()}


def _arguments(words: list[str]) -> dict[str, list[str]]:
    """Values by name, each value at its last place; counts of huge pages by their size."""
    found: dict[str, dict[str, None]] = {}
    size = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name == "hugepagesz":
            size = value
            continue
        if name == "hugepages":
            name = f"hugepages of {size or 'the default size'}"
        text = _argument(name, value) if equals else "(given)"
        values = found.setdefault(name, {})
        values.pop(text, None)
        values[text] = None
    return {name: list(values) for name, values in found.items()}


def _argument(name: str, value: str) -> str:
    if name == "tuned.non_isolcpus":
        return str(CpuSet.parse_mask(value))
    flags = [flag for flag in ("domain", "managed_irq", "nohz") if flag in value.split(",")]
    rest = ",".join(item for item in value.split(",") if item not in flags)
    return ",".join([*flags, cpu_list(rest)]) if re.fullmatch(r"[\d,-]+", rest) else value


def _machine_config(manifest: dict[str, Any]) -> dict[str, Any]:
    """Boot arguments are left out: the operator writes them into another MachineConfig, from what
    nodes tell it.
    """
    spec = manifest["spec"]
    config = spec["config"]
    files = (config.get("storage") or {}).get("files") or ()
    units = (config.get("systemd") or {}).get("units") or ()
    return {
        "ignition": config["ignition"]["version"].partition(".")[0],
        "kernelType": spec.get("kernelType") or "default",
        "fips": spec.get("fips") or None,
        "extensions": spec.get("extensions"),
        "osImageURL": spec.get("osImageURL"),
        "files": {
            file["path"]: _file(file) for file in files if not file["path"].startswith(SCRIPTS)
        },
        "units": {each["name"]: _unit_entry(each) for each in units},
    }


def _file(file: dict[str, Any]) -> dict[str, Any]:
    text = _decoded(file.get("contents") or {})
    return {
        "mode": oct(file.get("mode", 0o644)),
        "user": file.get("user"),
        "group": file.get("group"),
        "contents": _contents(file["path"], text),
    }


def _decoded(contents: dict[str, Any]) -> str:
    """The text behind a `data:` URL (RFC 2397)."""
    header, _, payload = (contents.get("source") or "data:,").partition(",")
    data = base64.b64decode(payload) if header.endswith(";base64") else unquote_to_bytes(payload)
    return (gzip.decompress(data) if contents.get("compression") == "gzip" else data).decode()


def _contents(path: str, text: str) -> Any:
    if "/crio.conf.d/" in path:
        return _plain(tomllib.loads(text))
    if "/openshift-workload-" in path:
        return _plain(json.loads(text))
    if path.startswith("/etc/systemd/system/"):
        return _unit(text)
    lines = [
        line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")
    ]
    if not lines:
        return "(comments)" if text.strip() else "(empty)"
    if path.endswith(".rules"):
        return [sorted(token.strip() for token in line.split(",")) for line in lines]
    if "/sysctl.d/" in path:
        return {
            key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)
        }
    return lines


def _unit_entry(unit: dict[str, Any]) -> dict[str, Any]:
    return {
        "enabled": str(bool(unit.get("enabled"))),
        "mask": unit.get("mask") or None,
        "contents": _unit(unit.get("contents") or ""),
        "dropins": {
            each["name"]: _unit(each.get("contents") or "") for each in unit.get("dropins") or ()
        },
    }


def _unit(text: str) -> dict[str, Any]:
    """systemd.syntax(7): sections of keys with ordered values; relations to other units as sets,
    programs by path.
    """
    sections: dict[str, dict[str, Any]] = {}
    section: dict[str, Any] = {}
    kept = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(kept)).splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[] "), {})
            continue
        key, _, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if key in _OWN_TEXT:
            continue
        section.setdefault(key, []).extend(_unit_values(key, value))
    for section in sections.values():
        section.update(
            {key: sorted(set(values)) for key, values in section.items() if key in _RELATIONS}
        )
    return sections


def _unit_values(key: str, value: str) -> list[str]:
    if key in _RELATIONS:
        return value.split()
    if key == "Environment":
        return [_environment(word) for word in shlex.split(value)]
    if key.startswith("Exec"):
        words = value.lstrip("-@:+!").split()
        script = next((word for word in words if word.startswith(SCRIPTS)), None)
        return [script or words[0]]
    return [value]


def _environment(word: str) -> str:
    """A list of CPUs as a set; a mask without the commas between its words of 32 bits."""
    name, _, value = word.partition("=")
    if _MASK.fullmatch(value):
        value = value.replace(",", "").lstrip("0")
    return f"{name}={cpu_list(value) if _CPU_KEY.search(name) else value}"


def _kubelet_config(manifest: dict[str, Any]) -> dict[str, Any]:
    spec = manifest["spec"]
    kubelet = dict(spec.get("kubeletConfig") or {})
    kubelet["logging"] = _without_zeros(kubelet.get("logging") or {})
    # The kubelet's default; the operator leaves an empty policy empty
    # (kubelet/apis/config/v1beta1/defaults.go).
    kubelet["topologyManagerPolicy"] = kubelet.get("topologyManagerPolicy") or "none"
    labels = (spec.get("machineConfigPoolSelector") or {}).get("matchLabels") or {}
    selector = {name: text or "(empty)" for name, text in labels.items()}
    return {"spec": {"machineConfigPoolSelector": selector, "kubeletConfig": _plain(kubelet)}}


def _without_zeros(value: Any) -> Any:
    """`logging` as Go prints it is full of zeros that nobody set."""
    if isinstance(value, dict):
        return {key: _without_zeros(item) for key, item in value.items()}
    return None if value in (0, "0") else value


def _runtime_class(manifest: dict[str, Any]) -> dict[str, Any]:
    nodes = (manifest.get("scheduling") or {}).get("nodeSelector") or {}
    selector = {name: text or "(empty)" for name, text in nodes.items()}
    return {
        "handler": manifest["handler"],
        "scheduling": {"nodeSelector": selector},
        "overhead": manifest.get("overhead"),
    }


def _tuned(manifest: dict[str, Any]) -> dict[str, Any]:
    """The options that hold on nodes of the pool, and who gets them.

    Left out are boot arguments and the profiles that hold nothing else (they are compared as a
    command line), summaries, what is dropped under a real-time kernel (a profile of its own there),
    and parents other than two.
    """
    spec = manifest["spec"]
    name = manifest["metadata"]["name"]
    profiles = {profile["name"]: _sections(profile["data"]) for profile in spec["profile"]}
    sections = profiles[name]
    include = sections.pop("main", {}).get("include", "")
    sections.pop("bootloader", None)
    sections["variables"] = {
        "isolated_cores": cpu_list(sections.get("variables", {}).get("isolated_cores", ""))
    }
    sections["sysctl"].pop("drop", None)
    return {
        "namespace": manifest["metadata"].get("namespace"),
        "parents": [
            parent
            for parent in ("openshift-node", "cpu-partitioning")
            if parent in re.split("[,$]", include)
        ],
        "profile": sections,
        "recommend": list(map(_recommended, spec["recommend"])),
    }


def _recommended(each: dict[str, Any]) -> dict[str, Any]:
    labels = {
        key: text or "(empty)" for key, text in (each.get("machineConfigLabels") or {}).items()
    }
    labels.pop(OWNER_LABEL, None)
    return {
        "labels": labels,
        "priority": each["priority"],
        "profile": each["profile"],
        "match": each.get("match"),
    }


def _sections(text: str) -> dict[str, dict[str, str]]:
    """tuned.conf(5) without comments. A section without options switches its plugin on."""
    sections: dict[str, dict[str, str]] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[] "), {})
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            section[key.strip()] = value.strip()
    return {name: options or {"enabled": "true"} for name, options in sections.items()}


_BODIES = {
    "MachineConfig": _machine_config,
    "KubeletConfig": _kubelet_config,
    "RuntimeClass": _runtime_class,
    "Tuned": _tuned,
}


def _plain(value: Any, key: str = "") -> Any:
    """CPU lists, amounts and durations in one form; lists, whose order says nothing in these
    formats, sorted.
    """
    if isinstance(value, dict):
        return {name: _plain(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return sorted((_plain(item) for item in value), key=repr)
    if not isinstance(value, str):
        return value
    if _CPU_KEY.search(key):
        return cpu_list(value)
    if _MEMORY_KEY.search(key):
        try:
            return to_bytes(value)
        except ValueError:
            return value
    return None if value == "0s" else value


def _pruned(value: Any) -> Any:
    """Without null and empty values, from the inside out."""
    if not isinstance(value, dict):
        return [_pruned(item) for item in value] if isinstance(value, list) else value
    kept = {name: _pruned(item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item not in _NOTHING}


def _short(value: Any) -> str:
    text = json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= 160 else text[:157] + "..."
