"""Hostile texts of pods, nodes, must-gathers, repositories and earlier output, in every command."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan.render.diagnostics import FORMATS
from tests.git_projects import ENVIRONMENT, KUBERNETES, add_class, git
from tests.injection.judges import RAW, parsed
from tests.injection.payloads import PAYLOADS, SAMPLE
from tests.injection.test_outputs import inert_log, links
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
#: Refusals included; never 70, a mistake of ours.
CODES = {0, 1, 2, 3, 7}
COMMAND = [sys.executable, "-m", "cpuplan"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled project in a repository, with a branch that changes a class."""
    folder = tmp_path_factory.mktemp("compiled") / "project"
    add_class(folder, "core", "lab", KUBERNETES)
    git(folder.parent, "init", "-q", str(folder))
    for branch in ("main", "other"):
        if branch == "other":
            git(folder, "checkout", "-qb", branch)
            add_class(folder, "edge", "lab2", KUBERNETES)
        subprocess.run(
            [*COMMAND, "compile"], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True
        )
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", branch)
    git(folder, "checkout", "-q", "main")
    return folder


@pytest.fixture
def project(compiled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled, tmp_path / "project", symlinks=True))


def inert(folder: Path, arguments: list[str], capture: Capture) -> tuple[int, str]:
    """Run a command; what it prints does nothing to those who read it."""
    code, out, err = run_in(folder, arguments, capture)
    assert code in CODES, (arguments, err[-2000:])
    assert "Traceback" not in err
    inert_log(err)
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "text"
    if form == "github":
        assert all(re.match("::(error|warning|notice) ", line) for line in out.splitlines())
    elif out and form in ("json", "sarif", "gitlab"):
        json.loads(out)
    elif form == "junit" and out:
        parsed("a.xml", out)
    elif form == "markdown":
        assert not links(out), (arguments, links(out))
    else:
        inert_log(out)
    assert not RAW.search(out), (arguments, repr(RAW.search(out)))
    return code, out


def pods(payload: str) -> Iterator[str]:
    """Manifests with the text in one place after another."""
    places: list[tuple[str | int, ...]] = [
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "labels", "app"),
        ("metadata", "labels", payload),
        ("metadata", "annotations", "a"),
        ("metadata", "annotations", payload),
        ("metadata", "uid"),
        ("metadata", payload),
        ("kind",),
        ("apiVersion",),
        (payload,),
        ("spec", "nodeName"),
        ("spec", "priorityClassName"),
        ("spec", "runtimeClassName"),
        ("spec", "schedulerName"),
        ("spec", "restartPolicy"),
        ("spec", "overhead", "cpu"),
        ("spec", "containers", 0, "name"),
        ("spec", "containers", 0, "image"),
        ("spec", "containers", 0, "resources", "requests", "cpu"),
        ("spec", "containers", 0, "resources", "limits", payload),
        ("spec", "containers", 0, "resources", "claims", 0, "name"),
        ("spec", "resourceClaims", 0, "name"),
        ("spec", "resourceClaims", 0, "resourceClaimTemplateName"),
    ]
    for place in places:
        size = {"cpu": "2", "memory": "1Gi"}
        resources = {"requests": dict(size), "limits": dict(size), "claims": [{"name": "c"}]}
        pod: Any = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "b", "labels": {}, "annotations": {}},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": resources}],
                "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}],
                "overhead": {},
            },
        }
        if "claims" not in place and "resourceClaims" not in place:
            del resources["claims"], pod["spec"]["resourceClaims"]
        target = pod
        for step in place[:-1]:
            target = target[step]
        target[place[-1]] = payload
        yield json.dumps(pod)


MODES = [
    [],
    ["--each"],
    ["--any-order"],
    ["--policy", "dynamic"],
    ["--scheduler", "koordinator"],
    ["--scheduler", "both"],
    ["--scheduler", "topology-aware"],
    ["--with", "all"],
    ["--with", "all", "--adapt"],
]


def simulated(project: Path, payload: str, number: int, capture: Capture) -> None:
    for place, text in enumerate(pods(payload), number):
        (project / "pods.yaml").write_text(text)
        node = ["core-0"] if place % 2 else []
        arguments = ["simulate", *node, "pods.yaml", *MODES[place % len(MODES)]]
        if place % 3 == 0:
            arguments += ["--format", "json"]
        inert(project, arguments, capture)
        if place % 5 == 1:
            inert(project, [*arguments, "--svg", "a.svg"], capture)
            if (project / "a.svg").exists():
                picture = (project / "a.svg").read_text()
                assert not RAW.search(picture)
                parsed("a.svg", picture)
                assert not re.search("<(script|foreign|!DOCTYPE)", picture)


def test_simulate(project: Path, capsys: Capture) -> None:
    for number, payload in enumerate(SAMPLE[:3]):
        simulated(project, payload, number, capsys)


@pytest.mark.slow
def test_simulate_all(project: Path, capsys: Capture) -> None:
    for number, payload in enumerate(PAYLOADS[::15]):
        simulated(project, payload, number, capsys)


def arguments_of(project: Path, payload: str, capture: Capture) -> None:
    """Words of the command line, which a pipeline may take from a branch or a ticket."""
    (project / "pods.yaml").write_text(next(pods("a")))
    for arguments in (
        ["simulate", "core-0", "pods.yaml", "--end", payload],
        ["simulate", "core-0", "pods.yaml", "--resource", f"{payload}=1"],
        ["simulate", payload],
        ["show", payload],
        ["explain", payload],
        ["explain", "core-0", payload],
        ["plan", "--against", payload],
        ["merge-check", payload],
        ["publish", "--branch", payload],
        ["publish", "--push", payload],
        ["check", payload, "--root", "."],
        ["compile", "--cluster", payload],
        ["import", "--stdout", "--cluster", payload, "pods.yaml"],
    ):
        if "\0" not in payload:
            inert(project, arguments, capture)


def test_arguments(project: Path, capsys: Capture) -> None:
    for payload in SAMPLE[:5]:
        arguments_of(project, payload, capsys)


@pytest.mark.slow
def test_arguments_all(project: Path, capsys: Capture) -> None:
    for payload in PAYLOADS[::10]:
        arguments_of(project, payload, capsys)


def repository(project: Path, payload: str, capture: Capture) -> None:
    """A branch, its author, its message, and a remote that are called something hostile."""
    if "\0" in payload:
        return
    git(project, "checkout", "-q", "--force", "other")
    (project / "intents/note.txt").write_text(payload)
    git(project, "add", "-A")
    name = f"user.name={payload[:500]}"
    git(project, "-c", name, "commit", "-qm", f"x {payload}", "--no-verify", check=False)
    named = git(project, "branch", "--", payload, check=False).returncode == 0
    # The same commit has two names where Git takes the hostile one, which then says all.
    ref = payload if named else "other"
    git(project, "remote", "add", "hostile", f"/nowhere/{payload}", check=False)
    git(project, "checkout", "-q", "--force", "main")
    for form in FORMATS:
        inert(project, ["merge-check", ref, "--format", form], capture)
    for form in ("text", "json", "markdown"):
        inert(project, ["plan", "--against", ref, "--format", form], capture)
    if named:
        git(project, "checkout", "-q", "--force", payload, "--", check=False)
    code, _ = inert(project, ["publish", "--branch", "live", "--push", "hostile"], capture)
    assert code, "nothing is there to push to"
    inert(project, ["provenance"], capture)
    message = git(project, "log", "-1", "--format=%B", "live", check=False).stdout
    assert not RAW.search(message)
    git(project, "checkout", "-q", "--force", "main", "--")
    git(project, "remote", "remove", "hostile", check=False)
    if named:
        git(project, "branch", "-D", "--", payload, check=False)


@pytest.mark.slow
def test_repositories(project: Path, capsys: Capture) -> None:
    for payload in ("$(touch${IFS}zqx7)", "[zqx7](https://evil.example/x)", "\u202ezqx7\u202c"):
        repository(project, payload, capsys)


@pytest.mark.slow
def test_repositories_all(project: Path, capsys: Capture) -> None:
    for payload in PAYLOADS[::30]:
        repository(project, payload, capsys)


def _changed(path: Path, payload: str, number: int) -> str:
    """Another text for a file: one value of what has a structure, or words of anything."""
    text = path.read_text()
    if path.suffix == ".json" and number % 3 == 0:
        changed = list(variants(json.loads(text), payload))
        return json.dumps(changed[number * 7 % len(changed)])
    if path.suffix == ".yaml" and number % 3 == 1:
        documents = list(yaml.safe_load_all(text))
        changed = list(variants(documents, payload))
        return yaml.safe_dump_all(changed[number * 7 % len(changed)] if changed else documents)
    if number % 3 == 2 and (number % 2 or ".cpuplan" not in path.parts):
        words = sorted(set(re.findall(r"[A-Za-z][A-Za-z-]{4,}", text)))
        return text.replace(words[number % len(words)], payload, 3) if words else payload
    return text


def earlier(project: Path, payload: str, number: int, capture: Capture) -> None:
    """An `out/` in which a text of each file is another: what `plan` says of it."""
    old = project / "old"
    shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(project / "out", old)
    for path in sorted(path for path in old.rglob("*") if path.is_file()):
        path.write_text(_changed(path, payload, number))
    if not re.search(r"[\0/]", payload) and len(payload) < 200:
        (old / payload).write_text(payload)
    for form in ("text", "json", "markdown"):
        inert(project, ["plan", "--against-folder", "old", "--format", form], capture)
    shutil.rmtree(project / "out")
    old.rename(project / "out")
    for arguments in (["plan"], ["plan", "--format", "markdown"], ["verify-output"], ["publish"]):
        inert(project, arguments, capture)
    git(project, "checkout", "-q", "--", "out")
    git(project, "clean", "-fdq", "out")


def test_earlier_output(project: Path, capsys: Capture) -> None:
    for number, payload in enumerate(SAMPLE[:4]):
        earlier(project, payload, number, capsys)


@pytest.mark.slow
def test_earlier_output_all(project: Path, capsys: Capture) -> None:
    for number, payload in enumerate(PAYLOADS[::12]):
        earlier(project, payload, number, capsys)


TOPOLOGY = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {"name": "core-0", "annotations": {"a": "b"}, "labels": {"a": "b"}},
    "attributes": [{"name": "topologyManagerPolicy", "value": "none"}],
    "topologyPolicies": ["None"],
    "zones": [
        {
            "name": "node-0",
            "type": "Node",
            "costs": [{"name": "node-0", "value": 10}],
            "attributes": [{"name": "a", "value": "b"}],
            "resources": [{"name": "cpu", "capacity": "8", "allocatable": "8", "available": "8"}],
        }
    ],
}
LSCPU = {"lscpu": [{"field": "Model name:", "data": "x"}, {"field": "CPU(s):", "data": "8"}]}


def variants(value: Any, payload: str) -> Iterator[Any]:
    """The value with each of its texts replaced, one at a time."""
    if isinstance(value, str):
        yield payload
    elif isinstance(value, list):
        for number, item in enumerate(value):
            for other in variants(item, payload):
                yield [*value[:number], other, *value[number + 1 :]]
    elif isinstance(value, dict):
        for key, item in value.items():
            for other in variants(item, payload):
                yield {**value, key: other}


def imported(project: Path, payload: str, capture: Capture) -> None:
    """Objects, output of tools, and folders whose names are hostile."""
    folder = project / "given"
    shutil.rmtree(folder, ignore_errors=True)
    named = folder / (payload if not re.search(r"[\0/]", payload) and len(payload) < 200 else "x")
    named.mkdir(parents=True)
    (named / "etc").mkdir()
    (named / "etc/hostname").write_text(payload)
    (named / "must-gather.log").write_text(payload)
    (named / "version").write_text(payload)
    inert(project, ["import", "--stdout", str(named)], capture)
    for form in ("text", "json", "github", "prometheus"):
        inert(project, ["check", "--root", str(named), "--format", form], capture)
    for number, changed in enumerate([*variants(TOPOLOGY, payload), *variants(LSCPU, payload)]):
        path = named / f"{'a' if number % 2 else 'b'}.json"
        path.write_text(json.dumps(changed))
        code, out = inert(project, ["import", "--stdout", str(path)], capture)
        if not code:
            list(yaml.safe_load_all(out))
        inert(project, ["check", "core-0", "--objects", str(path)], capture)


def test_imports(project: Path, capsys: Capture) -> None:
    for payload in SAMPLE[:3]:
        imported(project, payload, capsys)


@pytest.mark.slow
def test_imports_all(project: Path, capsys: Capture) -> None:
    for payload in PAYLOADS[::15]:
        imported(project, payload, capsys)
