"""Which intent has which nodes: each node one, each intent some."""

from typing import Any

import pytest
import yaml

from cpuplan.diagnostics import Diagnostic
from cpuplan.fleet import groups
from cpuplan.language.read.documents import Documents, from_sources
from cpuplan.language.read.yaml import parse

NODES = """\
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  hardware: small
  nodes:
  - {name: "w-[0-3]", labels: {role: worker}}
  - {name: m-0, labels: {role: master}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: small}
spec: {regular: {coresPerSocket: 8}}
"""


def intent(name: str, **selector: Any) -> str:
    """The document of an intent."""
    spec = {
        "selector": selector,
        "targets": [{"platform": "kubernetes", "version": "1.33"}],
        "pools": {"reserved": {"cores": 1}},
    }
    head = {"apiVersion": "cpuplan.io/v1alpha1", "kind": "Intent", "metadata": {"name": name}}
    return yaml.safe_dump({**head, "spec": spec})


def read(*texts: str) -> Documents:
    sources = []
    for number, text in enumerate(texts):
        sources += parse(f"{number}.yaml", text)[0]
    return from_sources(sources)[0]


def claimed(*texts: str) -> tuple[dict[str, tuple[str, ...]], list[Diagnostic]]:
    """The nodes of each intent, and what is wrong."""
    diagnostics: list[Diagnostic] = []
    documents = read(*texts)
    built = groups.build_claims(documents, groups.build_groups(documents, diagnostics), diagnostics)
    nodes: dict[str, tuple[str, ...]] = {}
    for claim in built:
        nodes[claim.intent.name] = (*nodes.get(claim.intent.name, ()), *claim.names)
    return nodes, diagnostics


def test_the_first_intent_by_name_keeps_a_node_that_two_select() -> None:
    nodes, diagnostics = claimed(
        NODES, intent("all", clusters=["lab"]), intent("workers", matchLabels={"role": "worker"})
    )
    assert nodes == {"all": ("w-0", "w-1", "w-2", "w-3", "m-0")}
    [twice] = diagnostics
    assert twice.code == "CP220"
    for words in ("w-0 (and 3 more)", "all", "workers", "lab"):
        assert words in twice.message


def test_a_node_that_two_select_is_named() -> None:
    _, [twice] = claimed(
        NODES, intent("all", clusters=["lab"]), intent("master", matchLabels={"role": "master"})
    )
    assert twice.code == "CP220"
    assert "m-0" in twice.message
    assert "more" not in twice.message


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ({"matchLabels": {"role": "worker"}}, "node m-0 "),
        ({"nodes": ["m-0", "w-2"]}, "3 nodes (w-0 to w-3)"),
    ],
)
def test_nodes_that_nobody_selects(selector: dict[str, Any], said: str) -> None:
    _, [free] = claimed(NODES, intent("a", **selector))
    assert free.code == "CP221"
    assert said in f"{free.message} "


HARDWARE = NODES.partition("---\n")[2]


@pytest.mark.parametrize(
    ("inventory", "codes"),
    [
        pytest.param(NODES, ["CP225"], id="no node has the label"),
        pytest.param(HARDWARE, ["CP225"], id="there are no nodes"),
        # It may be the document of the nodes that are meant.
        pytest.param(NODES.replace("cluster: lab", "cluster: []"), [], id="a broken document"),
        pytest.param(NODES.replace("w-[0-3]", "w-[3-0]"), ["CP228"], id="names not read"),
    ],
)
def test_an_intent_that_selects_nothing(inventory: str, codes: list[str]) -> None:
    _, diagnostics = claimed(inventory, intent("a", matchLabels={"role": "storage"}))
    assert [finding.code for finding in diagnostics if finding.code != "CP221"] == codes


def test_a_selector_of_everything_says_how_much_that_is() -> None:
    _, [everything] = claimed(NODES, intent("a"))
    assert everything.code == "CP247"
    assert "5 nodes" in everything.message
    assert "1 cluster" in everything.message


@pytest.mark.parametrize(
    ("selector", "nodes"),
    [
        ({"clusters": ["other"]}, ()),
        ({"clusters": ["lab", "other"], "nodes": ["w-1"]}, ("w-1",)),
        ({"matchLabels": {"role": "worker", "site": "a"}}, ()),
        ({"nodes": ["w-[1-2]", "m*"]}, ("w-1", "w-2", "m-0")),
        ({"matchLabels": {"role": "worker"}, "nodes": ["m-0"]}, ()),
    ],
)
def test_everything_in_a_selector_must_fit(
    selector: dict[str, Any], nodes: tuple[str, ...]
) -> None:
    claims, _ = claimed(NODES, intent("a", **selector))
    assert claims.get("a", ()) == nodes


def test_names_that_cannot_be_read_are_told_once() -> None:
    """Not once for each group of nodes."""
    nodes, diagnostics = claimed(NODES, intent("a", nodes=["w-[3-0]"]))
    assert nodes == {}
    assert [problem.code for problem in diagnostics if problem.code == "CP228"] == ["CP228"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [(["w-0"], "node w-0 of"), (["w-[0-2]"], "node w-0 (and 2 more) of")],
)
def test_nodes_that_two_select_are_counted(names: list[str], shown: str) -> None:
    _, diagnostics = claimed(NODES, intent("a"), intent("b", nodes=names))
    [problem] = [problem for problem in diagnostics if problem.code == "CP220"]
    assert shown in problem.message


def test_a_name_of_any_length_is_clipped() -> None:
    name = "w" * 900
    nodes = NODES.replace('"w-[0-3]"', name)
    findings = claimed(nodes, intent("a", nodes=[f"{name}-[3-1]"]))[1]
    assert [finding.code for finding in findings[:2]] == ["CP228", "CP228"]
    assert all(len(finding.message) < 500 for finding in findings)
