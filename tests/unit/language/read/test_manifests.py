"""Manifests in files of their own, in the intents that name them."""

from pathlib import Path

import pytest

from cpuplan.language.read import manifests, yaml

POD = "kind: Pod\nspec:\n  containers:\n  - {name: a, env: [{name: MODE, value: 0644}]}\n"
SERVICE = "kind: Service\nmetadata: {name: a}\n"


def inserted(manifest: str, **files: str) -> tuple[object, list[tuple[str, int]]]:
    """What an intent has as its manifest, and the findings with their lines."""
    intent = f"kind: Intent\nspec:\n  workloads:\n  - name: a\n    manifest: {manifest}\n"
    sources, _ = yaml.parse("intents/main.yaml", intent)
    texts = {f"pods/{name}.yaml": text.encode() for name, text in files.items()}
    problems = list(manifests.insert(sources, texts))
    placed = [
        (problem.code, problem.position.line if problem.position else 0) for problem in problems
    ]
    data = sources[0].data
    assert isinstance(data, dict)
    return data["spec"]["workloads"][0]["manifest"], placed  # type: ignore[index, call-overload]


def test_a_file_is_put_in() -> None:
    """Beside objects without pods, and with numbers that YAML readers take differently."""
    manifest, problems = inserted("pods/a.yaml", a=f"{SERVICE}---\n{POD}")
    assert isinstance(manifest, dict)
    assert manifest["kind"] == "Pod"
    assert not problems


def test_a_manifest_in_the_intent_stays() -> None:
    assert inserted("{kind: Pod}") == ({"kind": "Pod"}, [])


@pytest.mark.parametrize(
    ("name", "files", "code"),
    [
        ("pods/b.yaml", {"a": POD}, "CP321"),
        ("../a.yaml", {"a": POD}, "CP321"),
        ("pods/a.yaml", {"a": f"{POD}---\n{POD}"}, "CP321"),
        ("pods/a.yaml", {"a": SERVICE}, "CP321"),
        ("pods/a.yaml", {"a": "kind: [Pod"}, "CP101"),
    ],
)
def test_what_is_no_manifest(name: str, files: dict[str, str], code: str) -> None:
    manifest, problems = inserted(name, **files)
    assert manifest == name
    assert [problem for problem, _ in problems] == [code]
    if code == "CP321":
        assert problems == [(code, 5)]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.yaml", "kind: Pod\nmetadata: {name: {{ .Release.Name }}}\n", "CP1569"),
        ("a.yaml", "kind: Pod\n{{- if .x }}\na: [\n", "CP1569"),
        ("a.yaml", "a: [\n", "CP101"),
        ("kustomization.yaml", "resources: [a.yaml]\nreplicas: [{name: a, count: 3}]\n", "CP1570"),
        ("kustomization.yml", "resources: [a.yaml]\npatches: [{path: b}]\n", "CP1570"),
        ("kustomization.yaml", "resources: [a.yaml]\npatches: []\nconfigurations: [x]\n", ""),
        ("kustomization.yaml", "a: [\n", "CP101"),
    ],
)
def test_what_is_no_manifest_yet(tmp_path: Path, name: str, text: str, code: str) -> None:
    (tmp_path / name).write_text(text)
    sources, problems = manifests.read_files([tmp_path], str)
    assert not sources
    assert [problem.code for problem in problems][:1] == [code] * bool(code)
