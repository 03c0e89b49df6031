"""Complete the SBOM of the installed wheel, and compare it with the lock.

`python -m tests.supply.sbom FILE WHEEL`
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from tests.supply import lock


def expected() -> dict[str, str]:
    """The releases that the lock has for this Python and platform, by name."""
    return {
        pin.name: pin.version
        for pin in lock.pins("run.txt")
        if not pin.marker or Marker(pin.marker).evaluate()
    }


def problems(bom: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a CycloneDX document that is right by its schema."""
    if (bom.get("bomFormat"), bom.get("specVersion")) != ("CycloneDX", "1.6"):
        yield "it is no CycloneDX 1.6"
    root = bom.get("metadata", {}).get("component", {})
    if root.get("name") != "cpuplan":
        yield "it is not of cpuplan"
    listed = {
        str(canonicalize_name(entry["name"])): entry["version"]
        for entry in bom.get("components", ())
    }
    for name, version in sorted(expected().items()):
        if listed.get(name) != version:
            yield f"{name} is {listed.get(name, 'missing')}, and {version} in the lock"
    for name in sorted(listed.keys() - expected().keys()):
        yield f"{name} is not in the lock"
    for entry in bom.get("components", ()):
        if not str(entry.get("purl", "")).startswith("pkg:pypi/"):
            yield f"{entry['name']} has no package URL"
    direct = [entry for entry in bom.get("dependencies", ()) if entry["ref"] == root.get("bom-ref")]
    if not any(entry.get("dependsOn") for entry in direct):
        yield "what cpuplan depends on is not told"


def completed(bom: dict[str, Any], wheel: Path) -> dict[str, Any]:
    """The document with what only the wheel tells: its SHA-256 and its version.

    The version is no part of pyproject.toml.
    """
    version = wheel.name.split("-")[1]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    root = bom.get("metadata", {}).get("component", {})
    root |= {"version": version, "purl": f"pkg:pypi/cpuplan@{version}"}
    root["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return bom


def schema_problem(text: str) -> str:
    """What CycloneDX's own schema says against a document; nothing if it is right."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return str(JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) or "")


def main(path: Path, wheel: Path) -> int:
    """Complete the SBOM at `path` and say what is wrong with it."""
    bom = completed(json.loads(path.read_text()), wheel)
    text = json.dumps(bom, indent=2, sort_keys=True) + "\n"
    path.write_text(text)
    wrong = [*problems(bom), *filter(None, [schema_problem(text)])]
    print("\n".join(wrong) or f"{len(bom['components'])} components, those of the lock")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
