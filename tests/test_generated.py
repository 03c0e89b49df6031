"""What is made from the code is what is committed; `python -m tests.generate` writes it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cpuplan import __version__
from cpuplan.language.read import yaml as reader
from cpuplan.language.read.documents import KINDS, from_sources
from tests.generate import generated
from tests.projects import DOCUMENTS, REPOSITORY, run_in

GENERATED = generated()
_PARSED = [json.loads(text) for path, text in GENERATED.items() if path.startswith("schemas/")]
SCHEMAS: dict[str, Any] = {schema["title"]: schema for schema in _PARSED}


@pytest.mark.parametrize("path", sorted(GENERATED))
def test_generated_file_is_not_stale(path: str) -> None:
    assert (REPOSITORY / path).read_text() == GENERATED[path]


def test_the_sample_is_in_canonical_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_in(REPOSITORY, ["fmt", "--check"], capsys)[0] == 0


def test_the_sample_does_not_change_with_the_bytes_of_the_program(tmp_path: Path) -> None:
    for folder in ("cpuplan", "templates", "schemas", "inventories", "intents", "out"):
        shutil.copytree(
            REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for path in tmp_path.glob("cpuplan/**/*.py"):
        path.write_text(
            path.read_text().replace(f'"{__version__}"', '"9.9.9"') + "# another build\n"
        )
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-m", "cpuplan", "compile"]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "out/: nothing changed" in result.stdout + result.stderr


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_are_schemas(schema: dict[str, Any]) -> None:
    jsonschema.Draft7Validator.check_schema(schema)


def properties(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property at any depth, with the way to it."""
    if isinstance(schema, list):
        for item in schema:
            yield from properties(item, place)
    if isinstance(schema, dict):
        fields = schema.get("properties")
        for name, field in fields.items() if isinstance(fields, dict) else ():
            yield f"{place}.{name}", field
        for key, item in schema.items():
            yield from properties(item, f"{place}/{key}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind: str) -> None:
    fields = list(properties(SCHEMAS[kind], kind))
    assert fields
    assert [place for place, field in fields if not field.get("description")] == []


def documents(folder: str) -> list[tuple[str, dict[str, Any]]]:
    result = []
    for path in sorted((REPOSITORY / folder).rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] in SCHEMAS:
                result += [(path.name, document)]
    return result


@pytest.mark.parametrize("folder", ["inventories", "intents", "templates/init"])
def test_sample_fits_the_schemas(folder: str) -> None:
    samples = documents(folder)
    assert samples
    for name, document in samples:
        errors = list(jsonschema.Draft7Validator(SCHEMAS[document["kind"]]).iter_errors(document))
        assert not errors, (name, errors[0].message)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pools", {"reserved": {"cores": 1, "count": 2}}),
        ("pools", {}),
        ("kubelet", {"cpuManagerPolicy": "statc"}),
    ],
)
def test_schemas_refuse_what_the_models_refuse(field: str, value: object) -> None:
    _, document = next(item for item in documents("intents") if item[1]["kind"] == "Intent")
    document["spec"][field] = value
    assert not jsonschema.Draft7Validator(SCHEMAS["Intent"]).is_valid(document)


@pytest.mark.parametrize(
    "pool",
    ["0-1", 3, {"cores": 1, "near": "ens1f0"}, {"cores": 1, "near": {"class": "gpu"}}]
    + [{"cores": 1, "coreTypes": types} for types in ("performance", ["performance", "kind0"])]
    + [{"cores": 1, "per": "socket", "sockets": [2, 3]}],
)
def test_schemas_take_the_short_forms(pool: object) -> None:
    _, document = next(item for item in documents("intents") if item[1]["kind"] == "Intent")
    document["spec"]["pools"] = {"reserved": pool}
    assert jsonschema.Draft7Validator(SCHEMAS["Intent"]).is_valid(document)


def yaml_blocks() -> list[tuple[str, str]]:
    blocks = []
    for path in DOCUMENTS:
        for number, block in enumerate(
            re.findall(r"^```yaml\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
        ):
            blocks.append((f"{path.name}-{number}", block))
    return blocks


@pytest.mark.parametrize(
    ("name", "block"), yaml_blocks(), ids=lambda value: value.partition("\n")[0]
)
def test_yaml_of_the_documentation_is_valid(name: str, block: str) -> None:
    sources, problems = reader.parse(name, block)
    assert not problems
    _, problems = from_sources(sources)
    assert not problems


def anchors(page: Path) -> set[str]:
    """The names that GitHub and GitLab give to the headings of a page."""
    headings = re.findall(r"^#+ (.+)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, Path, str]]:
    """(page, the file that it links to, the heading there) of every link inside the repository."""
    for page in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            path, _, heading = target.partition("#")
            if "://" not in target:
                yield page, page.parent / path if path else page, heading


def test_links_of_the_documentation_lead_somewhere() -> None:
    missing = [
        f"{page.name}: {target.name}#{heading}"
        for page, target, heading in links()
        if not target.exists() or (heading and heading not in anchors(target))
    ]
    assert not missing
