"""Kubernetes objects by what they mean: the form in which two of them are equal when a cluster
treats them alike.

The rules are those of `vectors/nto/README.md`, "Comparing rendered manifests": absent, null and
empty are one in an object; files are compared by their format (`contents`). A field that is not
named here is compared as it is. Nothing here uses the parsers of `cpuplan.components`, which belong
to what is judged.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance import contents
from tests.conformance.contents import SCRIPTS, Exact, cpu_list, tuned_sections

Json = dict[str, Any]
OWNER_LABEL = "performance.openshift.io/weak-owner-reference-name"
#: What says only how an object is delivered, not what it does.
_DELIVERY = "argocd.argoproj.io/"
#: Parents of a TuneD profile that hold more than boot arguments.
_PARENTS = ("openshift-node", "cpu-partitioning")
#: A variable that only boot arguments use.
_FOR_BOOT_ARGUMENTS = "not_isolated_cores_expanded"
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())
_MISSING = object()


def canonical(manifest: Json, *, real_time: bool = False) -> Json:
    """The meaning of an object, as nested dicts; `real_time`: TuneD runs under that kernel."""
    given = manifest["metadata"]
    labels, annotations = given.get("labels") or {}, given.get("annotations") or {}
    metadata = {
        **given,
        "creationTimestamp": None,
        # Only a flag of the command `render` writes them.
        "ownerReferences": None,
        "labels": _present({key: labels[key] for key in labels if key != OWNER_LABEL}),
        "annotations": {
            key: text for key, text in annotations.items() if not key.startswith(_DELIVERY)
        },
    }
    body = {**manifest, "status": None, **_BODIES[manifest["kind"]](manifest, real_time)}
    meant: Json = _pruned({**body, "metadata": metadata})
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
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for one, other in zip(expected, found, strict=True):
            yield from differences(one, other, path)
    elif expected is _MISSING:
        yield path, f"is {_short(found)}, and should not be there"
    elif found is _MISSING:
        yield path, f"is missing; it should be {_short(expected)}"
    elif not _is_as_good(expected, found):
        yield path, f"is {_short(found)}; it should be {_short(expected)}"


def _is_as_good(expected: Any, found: Any) -> bool:
    """Whether values are equal, as JSON has it. A script may be given more arguments."""
    if expected == found:
        return isinstance(expected, bool) == isinstance(found, bool)
    texts = isinstance(expected, str) and isinstance(found, str)
    return texts and expected.startswith(SCRIPTS) and found.startswith(f"{expected} ")


def line_of(path: Path, words: tuple[str, ...]) -> int:
    """The line of the last of `words` in `path`, each sought below the one before; those not found
    are passed over.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    at = -1
    for word in words:
        at = next((index for index in range(at + 1, len(lines)) if word in lines[index]), at)
    return max(at, 0) + 1


def missing_scripts(manifest: Json) -> list[str]:
    """Scripts that a MachineConfig's units start and that it does not bring, or not as executable
    files.
    """
    config = manifest["spec"]["config"]
    files = (config.get("storage") or {}).get("files") or ()
    modes = {file["path"]: file.get("mode", 0o644) for file in files}
    units = (config.get("systemd") or {}).get("units") or ()
    texts = ((entry.get("contents") or "").splitlines() for entry in units)
    lines = [line for text in texts for line in text if line.startswith("Exec")]
    started = {word for line in lines for word in re.findall(rf"{SCRIPTS}\S+", line)}
    return sorted(path for path in started if not modes.get(path, 0) & 0o100)


def _machine_config(manifest: Json, _real_time: bool) -> Json:
    """Boot arguments are left out: the operator writes them into another MachineConfig, from what
    nodes tell it.
    """
    spec = manifest["spec"]
    config = spec["config"]
    storage, systemd = config.get("storage") or {}, config.get("systemd") or {}
    ignition = {**config["ignition"], "version": config["ignition"]["version"].partition(".")[0]}
    files = [file for file in storage.get("files") or () if not file["path"].startswith(SCRIPTS)]
    meant = {
        **config,
        "ignition": ignition,
        "storage": {**storage, "files": {file["path"]: _file(file) for file in files}},
        "systemd": {
            **systemd,
            "units": {entry["name"]: _unit_entry(entry) for entry in systemd.get("units") or ()},
        },
    }
    kernel_type, fips = spec.get("kernelType") or "default", spec.get("fips") or None
    return {
        "spec": {
            **spec,
            "config": meant,
            "kernelArguments": None,
            "kernelType": kernel_type,
            "fips": fips,
        }
    }


def _file(file: Json) -> Json:
    given = file.get("contents") or {}
    text = contents.decoded(given)
    verification = given.get("verification")
    return {
        **file,
        "overwrite": None,
        "mode": oct(file.get("mode", 0o644)),
        "contents": contents.meaning_of(file["path"], text),
        "verification": verification,
    }


def _unit_entry(unit: Json) -> Json:
    dropins = unit.get("dropins") or ()
    return {
        **unit,
        "enabled": str(bool(unit.get("enabled"))),
        "mask": unit.get("mask") or None,
        "contents": contents.unit(unit.get("contents") or ""),
        "dropins": {entry["name"]: contents.unit(entry.get("contents") or "") for entry in dropins},
    }


def _kubelet_config(manifest: Json, _real_time: bool) -> Json:
    spec = manifest["spec"]
    kubelet = dict(spec.get("kubeletConfig") or {})
    kubelet["logging"] = _without_zeros(kubelet.get("logging") or {})
    # The kubelet's default; the operator leaves an empty policy empty
    # (kubelet/apis/config/v1beta1/defaults.go).
    kubelet["topologyManagerPolicy"] = kubelet.get("topologyManagerPolicy") or "none"
    selector = spec.get("machineConfigPoolSelector") or {}
    labels = _present(selector.get("matchLabels") or {})
    settings = _without_durations(_pruned(_loose(contents.plain(kubelet))))
    return {
        "spec": {
            **spec,
            "machineConfigPoolSelector": {**selector, "matchLabels": labels},
            "kubeletConfig": settings,
        }
    }


def _without_zeros(value: Any) -> Any:
    """`logging` as Go prints it is full of zeros that nobody set."""
    if isinstance(value, dict):
        return {key: _without_zeros(item) for key, item in value.items()}
    return None if value in (0, "0") else value


def _without_durations(value: Any) -> Any:
    """Without durations of 0s, which Go prints for those that nobody set."""
    if isinstance(value, dict):
        return {key: _without_durations(item) for key, item in value.items()}
    return None if value == "0s" else value


def _runtime_class(manifest: Json, _real_time: bool) -> Json:
    scheduling = manifest.get("scheduling") or {}
    selector = _present(scheduling.get("nodeSelector") or {})
    return {"scheduling": {**scheduling, "nodeSelector": selector}}


def _tuned(manifest: Json, real_time: bool) -> Json:
    """The options that hold on nodes of the pool, and who gets them.

    Left out are boot arguments and the profiles that hold nothing else (they are compared as a
    command line), summaries, and parents other than two. Under a real-time kernel, the operator's
    profile includes another one.
    """
    spec = manifest["spec"]
    name = manifest["metadata"]["name"]
    profiles = {profile["name"]: tuned_sections(profile["data"]) for profile in spec["profile"]}
    sections = profiles[name]
    include = sections.pop("main", Exact()).get("include", "")
    if real_time:
        included = (profiles[other] for other in profiles if re.search(rf"{other}\b", include))
        for other in included:
            _add(sections, other)
    sections.pop("bootloader", None)
    variables = sections.setdefault("variables", Exact())
    variables.pop(_FOR_BOOT_ARGUMENTS, None)
    variables["isolated_cores"] = cpu_list(variables.get("isolated_cores", ""))
    words = re.split("[,$]", include)
    return {
        "spec": {
            **spec,
            "parents": [parent for parent in _PARENTS if parent in words],
            "profile": sections,
            "recommend": list(map(_recommended, spec["recommend"])),
        }
    }


def _add(sections: dict[str, Exact], other: Mapping[str, Exact]) -> None:
    """Options of an included profile, which the including one may set too and then prevails."""
    for name in other.keys() - {"main"}:
        sections[name] = Exact({**other[name], **sections.get(name, {})})


def _recommended(entry: Json) -> Json:
    given = entry.get("machineConfigLabels") or {}
    labels = _present({key: given[key] for key in given if key != OWNER_LABEL})
    return {**entry, "machineConfigLabels": labels}


_BODIES: dict[str, Callable[[Json, bool], Json]] = {
    "MachineConfig": _machine_config,
    "KubeletConfig": _kubelet_config,
    "RuntimeClass": _runtime_class,
    "Tuned": _tuned,
    "Node": lambda manifest, _real_time: {"spec": manifest["spec"]},
}


def _present(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels, of which an empty one is there all the same."""
    return {name: text or "(empty)" for name, text in labels.items()}


def _loose(value: Any) -> Any:
    """The same value, whose empty values do not count."""
    if isinstance(value, dict):
        return {key: _loose(item) for key, item in value.items()}
    return list(map(_loose, value)) if isinstance(value, list) else value


def _pruned(value: Any) -> Any:
    """Without null and empty values, from the inside out."""
    if isinstance(value, list):
        return list(map(_pruned, value))
    if not isinstance(value, dict) or isinstance(value, Exact):
        return value
    kept = {name: _pruned(item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item not in _NOTHING}


def _short(value: Any) -> str:
    text = json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= 160 else text[:157] + "..."
