"""pyproject.toml and constraints/ agree, and the gate's tools say what they did not do."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.projects import REPOSITORY
from tests.supply import audit, lock, sbom

REFRESH = "run `python -m tests.supply.lock` (CONTRIBUTING.md)"


@pytest.mark.parametrize("name", lock.FILES)
def test_the_lock_is_of_what_pyproject_says(name: str) -> None:
    assert lock.recorded(name) == lock.wanted(name), REFRESH
    locked: dict[str, list[str]] = {}
    for pin in lock.pins(name):
        locked.setdefault(pin.name, []).append(pin.version)
        assert pin.hashes, f"{pin.name} has no hash"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in pin.hashes)
    for requirement in map(Requirement, lock.wanted(name)):
        versions = locked.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not locked: {REFRESH}"
        assert all(requirement.specifier.contains(version) for version in versions), (
            f"{requirement}: {REFRESH}"
        )


def test_development_has_what_a_user_has() -> None:
    run, development = (set(lock.pins(name)) for name in ("run.txt", "dev.txt"))
    assert {pin._replace(hashes=()) for pin in run} <= {
        pin._replace(hashes=()) for pin in development
    }


def test_everything_below_is_locked() -> None:
    """The dependencies of dependencies, as they are installed here."""
    names = {pin.name for pin in lock.pins("run.txt")}
    assert below(lock.wanted("run.txt")) <= names, REFRESH


def below(requirements: Iterable[str]) -> set[str]:
    """The names of requirements and of all that they require."""
    left, seen = [Requirement(text) for text in requirements], set[str]()
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        try:
            left += map(Requirement, requires(requirement.name) or ())
        except PackageNotFoundError:
            continue
    return seen


def test_base_images_are_named_by_their_digest() -> None:
    """No tag in the file, and one that is given stops the build at once."""
    text = (REPOSITORY / "Containerfile").read_text()
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    (check,) = re.findall(r"^RUN (case (?:.*\\\n)*.*)", text, re.MULTILINE)
    codes = {
        base: subprocess.run(
            ["sh", "-c", check], env={"BASE": base}, check=False, capture_output=True
        ).returncode
        for base in ("", "python:3.11-slim", "python@sha256:ab", f"python@sha256:{'a' * 64}")
    }
    assert list(codes.values()) == [1, 1, 1, 0]


def test_the_image_imports_nothing_of_the_folder_that_it_runs_in(tmp_path: Path) -> None:
    text = (REPOSITORY / "Containerfile").read_text()
    (words,) = re.findall(r"^ENTRYPOINT (\[.*\])", text, re.MULTILINE)
    (variables,) = re.findall(r"^ENV PYTHONPATH=\S+ (.*)", text, re.MULTILINE)
    for name in ("click.py", "cpuplan.py", "yaml.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit(99)\n")
    program, *options = json.loads(words)
    assert program == "python3"
    command = [sys.executable, *options, "--version"]
    given = dict(variable.split("=") for variable in variables.split())
    environments: list[dict[str, str]] = [given, {}]  # each of both is enough
    commands = [[word for word in command if word != "-P"], command]
    for words_, environment in zip(commands, environments, strict=True):
        done = subprocess.run(
            words_,
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_image_has_what_its_commands_load() -> None:
    """Also the client of `check cluster`, which the Job of `verify.waitFor` runs in it."""
    text = (REPOSITORY / "Containerfile").read_text()
    (packages,) = re.findall(r'^ENV PACKAGES="([^"]*)"', text, re.MULTILINE)
    names = packages.replace("\\", "").split()
    assert below(["click", "pyyaml", "kubernetes"]) <= set(names)
    (program,) = re.findall(r"^RUN awk '([^']*)' dev.txt", text, re.MULTILINE)
    run = subprocess.run(
        ["awk", program.replace("\\\n", ""), REPOSITORY / "constraints/dev.txt"],
        env={"PATH": os.environ["PATH"], "PACKAGES": " ".join(names)},
        capture_output=True,
        text=True,
        check=True,
    )
    taken = re.findall(r"^([a-z0-9-]+)==", run.stdout, re.MULTILINE)
    assert sorted(taken) == sorted(names)
    assert run.stdout.count("--hash=sha256:") >= len(names)


def test_ranges_have_an_end() -> None:
    for requirement in map(Requirement, lock.project()["project"]["dependencies"]):
        signs = {bound.operator for bound in requirement.specifier}
        assert {">=", "<"} <= signs, (
            f"{requirement} has no {'lower' if '<' in signs else 'upper'} bound"
        )


@pytest.mark.parametrize("name", lock.FILES)
def test_no_registry_is_named(name: str) -> None:
    text = (lock.FOLDER / name).read_text()
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def report(*dependencies: dict[str, Any]) -> str:
    return json.dumps({"dependencies": list(dependencies), "fixes": []})


HOLE = {"id": "PYSEC-2025-1", "fix_versions": ["3.1.6"], "aliases": [], "description": ""}
GOOD = {"name": "click", "version": "8.2", "vulns": []}
BAD = {"name": "jinja2", "version": "3.1.5", "vulns": [HOLE]}
UNKNOWN = {"name": "ortools", "skip_reason": "Dependency not found and could not be audited"}


def test_an_audit_that_was_none_is_said() -> None:
    for result in (
        audit.together([None, None], ["click", "jinja2"]),
        audit.together([], ["click", "jinja2"]),
    ):
        assert list(audit.sentences(result)) == [
            "not audited: 2 releases (click, jinja2): no advisory service answered",
        ]


def test_an_audit_in_part() -> None:
    first, second = audit.read(report(GOOD, UNKNOWN)), audit.read(report(UNKNOWN))
    assert list(audit.sentences(audit.together([first, second], ["click", "ortools"]))) == [
        "audited: 1 releases, 0 known holes",
        "not audited: 1 releases (ortools): Dependency not found and could not be audited",
    ]


@pytest.mark.parametrize(
    ("told", "withdrawn", "required", "code"),
    [
        ([GOOD, UNKNOWN], [], "", 0),
        ([GOOD, UNKNOWN], [], "required", 2),
        ([BAD], [], "", 1),
        ([BAD, UNKNOWN], [], "required", 1),
        ([GOOD], ["click 8.2 is a yanked version"], "", 1),
    ],
)
def test_what_an_audit_ends_with(
    told: list[dict[str, Any]],
    withdrawn: list[str],
    required: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CPUPLAN_AUDIT", required)
    monkeypatch.setattr(
        audit, "ask", lambda service, _: audit.read(report(*told)) if service == "osv" else None
    )
    monkeypatch.setattr(audit, "withdrawn", lambda _: withdrawn)
    assert audit.main() == code
    printed = capsys.readouterr().out
    assert "not audited: " in printed
    if BAD in told:
        assert "jinja2 3.1.5: PYSEC-2025-1, fixed in 3.1.6" in printed


def bom(**changes: str) -> dict[str, Any]:
    """A right SBOM, but for the versions of `changes`."""
    versions = {**sbom.expected(), **changes}
    components = [
        {"name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}", "bom-ref": name}
        for name, version in versions.items()
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "metadata": {"component": {"name": "cpuplan", "bom-ref": "root"}},
        "components": components,
        "dependencies": [
            {"ref": "root", "dependsOn": [component["bom-ref"] for component in components]}
        ],
    }


def test_an_sbom_of_the_lock() -> None:
    assert list(sbom.problems(bom())) == []
    assert list(sbom.problems(bom(click="1.0"))) == [
        f"click is 1.0, and {sbom.expected()['click']} in the lock"
    ]
    assert list(sbom.problems(bom(pip="23.0"))) == ["pip is not in the lock"]
    wrong = bom()
    wrong["components"] = [
        component for component in wrong["components"] if component["name"] != "ortools"
    ]
    wrong["dependencies"] = []
    assert list(sbom.problems(wrong)) == [
        f"ortools is missing, and {sbom.expected()['ortools']} in the lock",
        "what cpuplan depends on is not told",
    ]


def test_the_gate_uses_them() -> None:
    gate = "".join(job.read_text() for job in Path(REPOSITORY, ".ci/jobs").iterdir())
    assert gate.count("--require-hashes -r constraints/") == len(lock.FILES)
    assert "tests.supply.audit" in gate
    assert "tests.supply.sbom" in gate
    assert "SOURCE_DATE_EPOCH" in gate
