"""Ask an advisory service for known holes in the locked releases (`python -m tests.supply.audit`).

It is part of `.ci/run`. Exit code 1: a release has a known hole, or was withdrawn (yanked) from its
registry. Where no service answers, it says what was not audited, never that all is well; with
CPUPLAN_AUDIT=required that is an error (2).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.supply import lock

#: Of pip-audit, in the order in which they are asked.
SERVICES = ("pypi", "osv")
_YANKED = "is a yanked version"


class Result(NamedTuple):
    """What a service said: holes, the releases that it knows, and why it does not know others."""

    holes: tuple[str, ...]
    audited: frozenset[str]
    not_audited: dict[str, str]


def read(report: str) -> Result:
    """The result in pip-audit's JSON."""
    holes, audited, skipped = [], set(), {}
    dependencies: list[dict[str, Any]] = json.loads(report)["dependencies"]
    for dependency in dependencies:
        if reason := dependency.get("skip_reason"):
            skipped[dependency["name"]] = str(reason)
            continue
        audited.add(dependency["name"])
        for hole in dependency["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no release"
            holes.append(
                f"{dependency['name']} {dependency['version']}: {hole['id']}, fixed in {fixed}"
            )
    return Result(tuple(holes), frozenset(audited), skipped)


def ask(service: str, file: Path) -> Result | None:
    """What `service` says of the releases in `file`; None where it cannot be asked."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "-r",
        str(file),
        "--require-hashes",
        "--disable-pip",
        "-f",
        "json",
    ]
    command += ["--progress-spinner", "off", "--timeout", "15", "-s", service]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return read(done.stdout)
    except (ValueError, KeyError):
        return None


def withdrawn(file: Path) -> list[str]:
    """Releases that their registry has withdrawn: pip warns of each."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
    ]
    done = subprocess.run(
        [*command, "--require-hashes", "-r", str(file)], capture_output=True, text=True, check=True
    )
    return [line.strip() for line in done.stderr.splitlines() if _YANKED in line]


def together(results: Iterable[Result | None], names: Iterable[str]) -> Result:
    """All that the services said of the releases `names`; what one of them knows is audited."""
    told = [result for result in results if result is not None]
    audited = frozenset().union(*(result.audited for result in told))
    reasons = {name: reason for result in told for name, reason in result.not_audited.items()}
    left = {
        name: reasons.get(name, "no advisory service answered")
        for name in names
        if name not in audited
    }
    return Result(
        tuple(dict.fromkeys(hole for result in told for hole in result.holes)), audited, left
    )


def sentences(result: Result) -> Iterator[str]:
    """What is said in the end."""
    yield from result.holes
    if result.audited:
        yield f"audited: {len(result.audited)} releases, {len(result.holes)} known holes"
    if result.not_audited:
        reason = next(iter(result.not_audited.values()))
        yield (
            f"not audited: {len(result.not_audited)} releases "
            f"({', '.join(sorted(result.not_audited))}): {reason}"
        )


def main() -> int:
    """Audit cpuplan's own dependencies."""
    file = lock.FOLDER / "run.txt"
    names = sorted({pin.name for pin in lock.pins("run.txt")})
    results: list[Result | None] = []
    for service in SERVICES:
        results.append(ask(service, file))
        if not together(results, names).not_audited:
            break
    result = together(results, names)
    yanked = withdrawn(file)
    print("\n".join([*sentences(result), *yanked]))
    if result.holes or yanked:
        return 1
    return 2 if result.not_audited and os.environ.get("CPUPLAN_AUDIT") == "required" else 0


if __name__ == "__main__":
    sys.exit(main())
