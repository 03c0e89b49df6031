"""A misspelt or misplaced key is one error: nothing that follows from it is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan import pipeline
from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.diagnostics.source import Field
from tests.projects import REJECTED, REPOSITORY, make_project

#: Mappings whose keys are not cpuplan's.
FREE = {
    "labels",
    "matchLabels",
    "nodeSelector",
    "partitions",
    "apart",
    "together",
    "evictionHard",
    "kubeReserved",
}
FREE |= {
    "cpuManagerPolicyOptions",
    "topologyManagerPolicyOptions",
    "machineConfigPoolSelector",
    "configuration",
}
FREE |= {"systemReserved"}


def found(root: Path) -> list[Diagnostic]:
    """All that loading and solving say."""
    project = pipeline.load(root)
    return [*project.diagnostics, *pipeline.solve(project)[1]]


def keys(data: Any, way: Field = ()) -> Iterator[Field]:
    """The way to every key that a document's models know."""
    if isinstance(data, dict) and not FREE & set(way[-1:]):
        for key, value in data.items():
            yield (*way, key)
            yield from keys(value, (*way, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from keys(value, (*way, index))


def misspelt(key: str, at: int) -> str:
    """A letter is there twice, or is lost, or changes its place."""
    spellings = [f"{key[:2]}{key[1:]}", key + key[-1]]
    spellings += [key[:2] + key[3:], key[0] + key[2] + key[1] + key[3:]] if len(key) > 4 else []
    return next(spelling for spelling in (spellings * 2)[at % len(spellings) :] if spelling != key)


def write(path: Path, text: str, document: int, way: Field, key: str) -> None:
    """The file with another key."""
    documents = list(yaml.safe_load_all(text))
    mapping = documents[document]
    for part in way[:-1]:
        mapping = mapping[part]
    items = list(mapping.items())
    mapping.clear()
    mapping.update({key if name == way[-1] else name: value for name, value in items})
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False))


@pytest.mark.parametrize("case", ["hft", "telco-du", "performance-profile"])
def test_a_misspelt_key_is_one_error(case: str, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", REPOSITORY / "tests" / "cases" / case)
    for path in sorted(root.rglob("*.yaml")):
        if path.parent.name not in ("inventories", "intents"):
            continue
        text = path.read_text()
        for number, document in enumerate(yaml.safe_load_all(text)):
            for at, way in enumerate(keys(document)):
                wrong = misspelt(str(way[-1]), at)
                write(path, text, number, way, wrong)
                told = [
                    (diagnostic.code, wrong in diagnostic.message) for diagnostic in found(root)
                ]
                assert told == [("CP201", True)], (
                    path.name,
                    way,
                    wrong,
                    [diagnostic.message for diagnostic in found(root)],
                )
        path.write_text(text)


def told(text: str, tmp_path: Path) -> list[tuple[str, str]]:
    root = make_project(tmp_path / "project")
    (root / "intents" / "main.yaml").write_text(text)
    return [(error.code, error.remedy) for error in errors(found(root))]


INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: main}
spec:
  selector: {}
  targets: [{platform: kubernetes, version: "1.33", runtime: crio}]
"""


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("  pools: {reserverd: {cores: 1}}", [("CP201", "did you mean 'reserved'?")]),
        ("  reserved: {cores: 1}", [("CP201", "write it under spec.pools")]),
        (
            "  pools: {isolated: rest}\n  reserved: {cores: 1}",
            [("CP201", "write it under spec.pools")],
        ),
        ("pools: {reserved: {cores: 1}}", [("CP201", "write it under spec")]),
        (
            "  pools: {reserverd: {cores: 1}}\n  kubelt: {}",
            [("CP201", "did you mean 'reserved'?"), ("CP201", "did you mean 'kubelet'?")],
        ),
        # What is missing all the same is told.
        ("  pools: {isolated: rest}", [("CP202", "add it")]),
        (
            "  pool: {}\n  pools: {isolated: rest}",
            [("CP202", "add it"), ("CP201", "did you mean 'pools'?")],
        ),
    ],
)
def test_what_follows_is_not_told(
    added: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert told(INTENT + added + "\n", tmp_path) == expected


@pytest.mark.parametrize(
    "key",
    ["apiVersion", "kind", "metadata", "name", "spec", "reserved", "isolated", "nodeSelector"],
)
def test_a_misspelt_key_of_a_profile_is_one_error(key: str, tmp_path: Path) -> None:
    text = (
        (REJECTED / "CP260-no-isolated-cpus" / "profile.yaml")
        .read_text()
        .replace('isolated: ""', "isolated: 2-7")
    )
    assert f"{key}:" in text
    first, _, rest = text.partition(f"{key}:")
    assert len(told(f"{first}{misspelt(key, 0)}:{rest}", tmp_path)) == 1
