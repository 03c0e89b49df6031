"""Hostile prose in a project for each thing that documents can say: where it arrives, and as what.

Prose of documents is a value of a kubelet's configuration or of an expected state. No script, unit,
TuneD profile, playbook, health check (Lua) or expression (CEL) has any of it.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan import pipeline
from cpuplan.diagnostics import errors
from tests import combinations, named_cases
from tests.injection.judges import RAW, differences, parsed
from tests.injection.payloads import BENIGN, CANARY, PAYLOADS

#: The keys whose values may have a text of others. Whoever adds one says what reads it.
VALUES = {
    "providerID",  # the kubelet, which reports it
    "CPU model",  # the check, which compares it
    "value",  # the same, and the record of a class
}
#: These platforms refuse fields of the kubelet's configuration that others may have.
OWN_KUBELET = ("openshift", "bottlerocket")
WAIVER = {"code": "CP289", "files": "*", "expires": "2199-01-01"}
ROWS = [{subject: word} for subject, words in combinations.subjects().items() for word in words]
NAMES = [*named_cases.CASES, *(f"{subject}: {row[subject]}" for row in ROWS for subject in row)]


def project(folder: Path, name: str) -> None:
    """The project of a case, or of one word of `combinations.yaml`."""
    shutil.rmtree(folder, ignore_errors=True)
    if name in named_cases.CASES:
        own = shutil.ignore_patterns("expected", "expected.txt")
        shutil.copytree(named_cases.FOLDER / name, folder, ignore=own)
    else:
        combinations.write(folder, ROWS[NAMES.index(name) - len(named_cases.CASES)])


def fill(folder: Path, payload: str, *, switches: bool) -> None:
    """Put a text wherever the documents of a project take prose."""
    for path in sorted(folder.rglob("*.yaml")):
        documents = [document for document in yaml.safe_load_all(path.read_text()) if document]
        for document in documents:
            _fill(document["kind"], document["spec"], payload, switches=switches)
        if path.parent.name == "intents":
            spec = {"waivers": [{**WAIVER, "reason": payload}]}
            head = {"apiVersion": "cpuplan.io/v1alpha1", "kind": "Waivers"}
            documents.append({**head, "metadata": {"name": path.stem}, "spec": spec})
        path.write_text(yaml.safe_dump_all(documents))


def _fill(kind: str, spec: dict[str, Any], payload: str, *, switches: bool) -> None:
    if kind == "Hardware":
        texts = dict.fromkeys(("vendor", "device", "driver", "name"), payload)
        card = {"address": "00ff:1f:00.0", "class": "network", **texts}
        spec["model"] = payload
        spec["devices"] = [*spec.get("devices", []), card]
    elif kind == "Intent":
        for switch in (*spec.get("rules", []), *spec.get("defaults", [])):
            switch["because"] = payload
        if switches and not spec.get("defaults"):
            spec["defaults"] = [{"enable": "dirty-pages", "because": payload}]
        if not {target["platform"] for target in spec["targets"]} & {*OWN_KUBELET}:
            kubelet = spec.setdefault("kubelet", {})
            kubelet["configuration"] = {**kubelet.get("configuration", {}), "providerID": payload}


def is_valid(folder: Path, name: str) -> bool:
    """Whether a project is one without a text; a word of a platform's own is none by itself."""
    project(folder, name)
    return not errors(pipeline.judge(pipeline.load(folder))[1])


def compiled(folder: Path, name: str, payload: str) -> dict[str, str] | None:
    """The files of a project with the text; None if it is refused."""
    for switches in (True, False):
        project(folder, name)
        fill(folder, payload, switches=switches)
        made = pipeline.compile_project(pipeline.load(folder))
        if not errors(made.diagnostics):
            return {path: data.decode() for path, data in made.files.items()}
    return None


def arrivals(value: Any, text: str, key: str = "") -> Iterator[str]:
    """The keys whose values have the text, also in the YAML or JSON in a text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            assert CANARY not in str(name)
            yield from arrivals(inner, text, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from arrivals(inner, text, key)
    elif isinstance(value, str) and CANARY in value:
        data = None if value == text else _inner(value)
        if isinstance(data, dict | list):
            yield from arrivals(data, text, key)
        else:
            yield key


def _inner(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.load(text, yaml.CSafeLoader) if "\n" in text else None
    except yaml.YAMLError:
        return None


def judge(name: str, payload: str, files: dict[str, str], harmless: dict[str, str]) -> int:
    """How many files have the text, each only as a value."""
    assert files.keys() == harmless.keys()
    count = 0
    for path, text in files.items():
        assert not RAW.search(text.replace("\t", "")), (name, path, payload)
        plain = harmless[path]
        if path.endswith(".conf") and "kubelet.conf.d" in path:
            structures = [parsed("a.yaml", source) for source in (text, plain)]
        else:
            structures = [parsed(path, source) for source in (text, plain)]
        differing = differences(structures[0], structures[1], payload)
        assert not differing, (name, path, payload, differing[:3])
        keys = set(arrivals(structures[1], BENIGN))
        assert keys <= VALUES, (name, path, keys - VALUES)
        assert set(arrivals(structures[0], payload)) <= VALUES, (name, path, payload)
        count += bool(keys)
    return count


def through(folder: Path, name: str, payloads: tuple[str, ...]) -> None:
    harmless = compiled(folder, name, BENIGN)
    if harmless is None:
        assert not is_valid(folder, name), name
        return
    for payload in payloads:
        files = compiled(folder, name, payload)
        if files is not None:
            assert judge(name, payload, files, harmless), name


#: What reads these would do what they say, if they arrived where it looks.
RUN = (
    "{{ lookup('pipe', 'touch zqx7') }}",
    "$(touch zqx7)",
    "%n zqx7",
    "]==] os.execute('zqx7') --[==[",
    "' + zqx7 + '",
)


@pytest.mark.parametrize("name", ["deliveries", "koordinator", "dra", "rollout"])
def test_a_feature(name: str, tmp_path: Path) -> None:
    through(tmp_path / "project", name, RUN[:2])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_feature(name: str, tmp_path: Path) -> None:
    """All texts, spread over the projects, and in each those that most readers would run."""
    number = NAMES.index(name)
    through(tmp_path / "project", name, (RUN[number % len(RUN)], PAYLOADS[number % len(PAYLOADS)]))
