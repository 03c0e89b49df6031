"""Hostile texts wherever documents take prose, through every command, into every output."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from cpuplan.render.answers import prometheus
from cpuplan.render.diagnostics import FORMATS
from cpuplan.render.plan.markdown import cell, code, plain
from tests.injection.judges import RAW, differences, kinds_of_picture, parsed
from tests.injection.payloads import BENIGN, PAYLOADS, SAMPLE
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
KUBERNETES = (
    '{platform: kubernetes, version: "1.36", hostingCluster: management, hostingNamespace: site, '
    "delivery: [tree, ansible, butane, cloudInit, clusterApi, ignition, nodeWright]}"
)
TARGETS = {
    "kubernetes": KUBERNETES,
    "openshift": '{platform: openshift, version: "4.20", pool: worker-x}',
    "rke2": '{platform: rke2, version: "1.33"}',
    "k3s": '{platform: k3s, version: "1.33"}',
    "talos": '{platform: talos, version: "1.14"}',
    "bottlerocket": '{platform: bottlerocket, version: "1.35"}',
}
#: Free text that reaches a file of every node.
KUBELET = "kubelet: {configuration: {providerID: TEXT}}"
NO_KUBELET_FIELDS = ("openshift", "bottlerocket")
#: Compared with nothing, all nodes are new.
PLAN = ["plan", "--against-folder", "empty"]
HARDWARE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: small}
spec:
  vendor: TEXT
  model: TEXT
  regular: {sockets: 1, coresPerSocket: 8, threadsPerCore: 2, memoryPerNumaNode: 32Gi}
  devices:
  - {address: "0000:17:00.0", class: network, vendor: TEXT, device: TEXT, driver: TEXT, name: TEXT}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec: {cluster: lab, hardware: small, nodes: [{name: "worker-[0-1]", labels: {role: worker}}]}
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: main}
spec:
  selector: {clusters: [lab]}
  targets: [TARGET]
  pools: {reserved: {cores: 1}, isolated: rest}
  rules: [{disable: cpu0-reserved, because: TEXT}]
  defaults: [{enable: dirty-pages, because: TEXT}]
  KUBELET
---
apiVersion: cpuplan.io/v1alpha1
kind: Waivers
metadata: {name: waived}
spec:
  waivers:
  - {code: CP289, files: "*", reason: TEXT, expires: "2199-01-01"}
  - {code: CP289, at: Intent/main, reason: TEXT, expires: "2199-01-01"}
"""
#: Each value is a mistake, so that messages have the text.
WRONG = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: TEXT, labels: {TEXT: TEXT}, annotations: {a: TEXT}}
spec:
  TEXT: x
  selector: {clusters: [TEXT], nodes: [TEXT], matchLabels: {role: TEXT}}
  targets: [{platform: TEXT, version: TEXT, nodeSelector: {a: TEXT}}]
  pools: {reserved: TEXT, isolated: {near: TEXT, partitions: {TEXT: rest}}}
  rules: [{disable: TEXT, because: TEXT}]
  kernel: {extraArguments: [TEXT]}
  net: {devices: [{interfaceName: TEXT, vendorID: TEXT}]}
  kubelet: {evictionHard: {TEXT: TEXT}, systemReserved: {cpu: TEXT}}
  verify: {image: TEXT, labels: {a: TEXT}, prometheus: {runbooks: TEXT}}
  rollout: {waves: [{name: TEXT}], windows: [{schedule: TEXT, duration: TEXT, timeZone: TEXT}]}
---
apiVersion: cpuplan.io/v1alpha1
kind: Delivery
metadata: {name: d}
spec: {repository: TEXT, revision: TEXT, path: TEXT, project: TEXT}
---
apiVersion: cpuplan.io/v1alpha1
kind: Waivers
metadata: {name: w}
spec: {waivers: [{code: TEXT, at: TEXT, reason: TEXT, expires: TEXT}]}
"""


def put(folder: Path, target: str, payload: str) -> None:
    text = json.dumps(payload)
    for path, document in (("inventories/a.yaml", HARDWARE), ("intents/a.yaml", INTENT)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        filled = document.replace("KUBELET", "" if target in NO_KUBELET_FIELDS else KUBELET)
        filled = filled.replace("TARGET", TARGETS[target]).replace("TEXT", text)
        (folder / path).write_text(filled)


def compiled(folder: Path, target: str, payload: str, capture: Capture) -> dict[str, str] | None:
    """The files of a project with the text and what commands print; None where it is refused."""
    shutil.rmtree(folder, ignore_errors=True)
    put(folder, target, payload)
    code, out, err = run_in(folder, ["compile", "--no-cache"], capture)
    assert code in (0, 1), err
    inert_log(out + err)
    if code:
        assert re.search(r"intents/a.yaml:\d+|inventories/a.yaml:\d+|worker-", err), err
        return None
    (folder / "empty").mkdir()
    files = {}
    for path in sorted((folder / "out").rglob("*")):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_text()
    for name, arguments in {
        "show.svg": ["show", "worker-0", "--svg", "show.svg"],
        "explain.txt": ["explain", "worker-0", "isolated"],
        "plan.json": [*PLAN, "--format", "json"],
        "plan.md": [*PLAN, "--format", "markdown"],
        "plan.txt": PLAN,
        "hardware.txt": ["show", "Hardware/small"],
    }.items():
        code, out, err = run_in(folder, arguments, capture)
        assert code in (0, 3), err
        inert_log(out + err)
        files[name] = (folder / name).read_text() if name.endswith("svg") else out
    return files


def inert_log(text: str) -> None:
    """A text on a terminal or in a log of CI."""
    assert not RAW.search(text), repr(RAW.search(text))
    assert not re.search(r"##(vso|teamcity)?\[", text)
    assert not re.search(r"^\s*::[A-Za-z]", text, re.MULTILINE)


def judge(files: dict[str, str], harmless: dict[str, str], payload: str) -> None:
    assert files.keys() == harmless.keys()
    for path, text in files.items():
        assert not RAW.search(text.replace("\t", "")), path
        if path.endswith(".svg"):
            assert kinds_of_picture(text, payload) <= kinds_of_picture(harmless[path], BENIGN)
        elif text != harmless[path] and not path.endswith(".txt"):
            differing = differences(parsed(path, text), parsed(path, harmless[path]), payload)
            assert not differing, (path, payload, differing[:3])
        if path.endswith(".sh"):
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def through(tmp_path: Path, target: str, payloads: Iterable[str], capture: Capture) -> int:
    """How many of the texts were taken, and were inert in every file."""
    harmless = compiled(tmp_path / "project", target, BENIGN, capture)
    assert harmless is not None
    taken = 0
    for payload in payloads:
        files = compiled(tmp_path / "project", target, payload, capture)
        if files is not None:
            judge(files, harmless, payload)
            taken += 1
    return taken


@pytest.mark.parametrize("target", ["kubernetes", "openshift"])
def test_compiled_files(target: str, tmp_path: Path, capsys: Capture) -> None:
    assert through(tmp_path, target, SAMPLE[:4], capsys)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(TARGETS)), ids=list(TARGETS).__getitem__)
def test_compiled_files_of_all(index: int, tmp_path: Path, capsys: Capture) -> None:
    """Each platform has its share of the texts."""
    share = PAYLOADS[index :: len(TARGETS)]
    assert through(tmp_path, list(TARGETS)[index], share, capsys) > len(share) / 2


def reported(folder: Path, payload: str, capture: Capture) -> None:
    """Every message about a document that is wrong everywhere, in every format."""
    (folder / "intents").mkdir(parents=True, exist_ok=True)
    (folder / "inventories").mkdir(exist_ok=True)
    (folder / "intents/a.yaml").write_text(WRONG.replace("TEXT", json.dumps(payload)))
    (folder / "inventories/a.yaml").write_text(HARDWARE.replace("TEXT", "x"))
    count = 0
    for name in FORMATS:
        code, out, err = run_in(folder, ["validate", "--format", name], capture)
        assert code == 1, (payload, err)
        inert_log(err)
        assert not RAW.search(out), name
        assert not re.search(r"##(vso|teamcity)?\[", out), name
        if name == "github":
            commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
            assert commands == out.splitlines(), payload
            assert all(re.match("::(error|warning|notice) ", line) for line in commands)
            count = len(commands)
        elif name in ("json", "sarif", "gitlab"):
            json.loads(out)
        elif name == "junit":
            tags = set(re.findall(r"<(/?[a-z-]+)", out))
            allowed = {"testsuites", "testsuite", "testcase", "failure", "system-out"}
            assert tags <= allowed | {f"/{tag}" for tag in allowed}
            parsed("a.xml", out)
    assert count


def test_reports(tmp_path: Path, capsys: Capture) -> None:
    for payload in SAMPLE[:5]:
        reported(tmp_path, payload, capsys)


@pytest.mark.slow
def test_reports_of_all(tmp_path: Path, capsys: Capture) -> None:
    for payload in PAYLOADS:
        reported(tmp_path, payload, capsys)


def _tokens(text: str) -> list[Any]:
    tokens = []
    for block in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        tokens += [block, *(block.children or [])]
    return tokens


#: What a comment of a merge request must not do for others.
LINKING = {
    "link_open",
    "image",
    "html_inline",
    "html_block",
}


def links(text: str) -> set[str]:
    """What in a Markdown text leads elsewhere, or is markup of its own, but for our own folds."""
    own = re.sub(r"</?(details|summary|code|b|br|sub)>", "", text)
    return {token.type for token in _tokens(own)} & LINKING


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown(payload: str) -> None:
    """Text of others in a comment of a merge request is text or code, and links to nothing."""
    table = f"| A | B |\n| --- | --- |\n| {cell(payload)} | {plain(payload)} |\n"
    for text in (f"- {plain(payload)}\n", f"x {code(payload)} y\n", table):
        tokens = _tokens(text)
        kinds = {token.type for token in tokens}
        assert not kinds & {
            *LINKING,
            "heading_open",
            "strong_open",
            "fence",
            "s_open",
        }
        visible = "".join(token.content for token in tokens if token.type == "text")
        assert not re.search(r"@[A-Za-z0-9]|://|www\.|[#!][0-9]", visible), (payload, visible)
    assert sum(token.type == "td_open" for token in _tokens(table)) == 2


@pytest.mark.parametrize("text", ["zqx7", "GH-", "`", "_", "a@b ", "#", "\x1b"])
def test_a_long_text_ends(text: str) -> None:
    """The work grows with the length: 16,000 letters took 11 s, these would take hours."""
    for shown in (plain(text * 200_000), code(text * 200_000), cell(text * 200_000)):
        assert len(shown) >= len(text) * 200_000


@pytest.mark.parametrize("payload", PAYLOADS)
def test_metrics(payload: str) -> None:
    """The text format of Prometheus: one sample, whose label is the text."""
    text = prometheus.text([prometheus.gauge("cpuplan_x", "Help.", [({"node": payload}, 1)])])
    samples = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert len(samples) == 1
    matched = re.fullmatch(r'cpuplan_x\{node="((?:[^"\\\n]|\\[\\"n])*)"\} 1', samples[0])
    assert matched
    back = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), matched[1])
    assert back == payload
