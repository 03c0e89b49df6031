"""Objects of a cluster: those that are here, absent, or unknown; and joined with others."""

from typing import Any

import pytest

from cpuplan.check.cluster import live_objects
from cpuplan.check.cluster.live_objects import Absent, Objects
from cpuplan.simulate.files.objects import Object


def of(kind: str, name: str, namespace: str = "", **data: Any) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    source: Any = None
    return Object(source, (), {"kind": kind, "metadata": metadata, **data}, name)


def looked_up(objects: Objects, kind: str, name: str, namespace: str = "") -> str:
    """The title of an object, or why there is none."""
    listed = objects.find(kind, name, namespace)
    if isinstance(listed, Absent):
        return f"{listed.reason}{' (unknown)' if listed.is_unknown else ''}"
    return listed.title


FEW = Objects(
    [of("Node", "a"), of("Pod", "a", "x")],
    {("Pod", "x", "b"): "it is no YAML", ("Tuned", "", ""): "forbidden"},
    ["BalloonsPolicy"],
    listed=["Secret"],
)


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "answer"),
    [
        ("Node", "a", "", "a"),
        ("Node", "b", "", "the cluster has no Node b"),
        ("Pod", "a", "x", "a"),
        ("Pod", "a", "", "the cluster has no Pod a"),
        ("Pod", "b", "x", "it is no YAML (unknown)"),
        ("Tuned", "b", "x", "forbidden (unknown)"),
        ("Secret", "b", "", "the cluster has no Secret b"),
        ("BalloonsPolicy", "b", "", "the cluster does not serve balloonspolicies"),
        ("ConfigMap", "b", "", "no ConfigMap is among the objects that were given (unknown)"),
    ],
)
def test_what_is_known_of_an_object(kind: str, name: str, namespace: str, answer: str) -> None:
    assert looked_up(FEW, kind, name, namespace) == answer


def test_all_objects_of_a_kind() -> None:
    known = ("Node", "Pod", "Secret")
    for kind in (*known, "Tuned", "BalloonsPolicy", "ConfigMap"):
        assert FEW.is_known(kind) is (kind in known)
        assert FEW.is_served(kind) is (kind != "BalloonsPolicy")
    assert [listed.name for listed in FEW.of_kind("Node")] == ["a"]
    assert list(FEW.of_kind("Secret")) == []


def test_of_several_versions_the_last_counts() -> None:
    objects = Objects([of("Node", "a"), of("Node", "a", spec={"version": 2})])
    [only] = objects.of_kind("Node")
    assert only.data["spec"] == {"version": 2}


def test_joined_all_is_kept() -> None:
    """Objects, what was not read, what is not served, and refusals of both."""
    refusals: list[Any] = ["first", "second"]
    more = Objects(
        [of("MachineConfig", "m")],
        {("KubeletConfig", "", ""): "cut short"},
        ["DeviceClass"],
        listed=["Namespace"],
        refusals=refusals[1:],
    )
    first = Objects(
        [of("Node", "a")],
        {("Tuned", "", ""): "no"},
        ["Pod"],
        listed=["Secret"],
        refusals=refusals[:1],
    )
    joined = first.joined(more)
    assert [
        looked_up(joined, kind, name) for kind, name in (("Node", "a"), ("MachineConfig", "m"))
    ] == [
        "a",
        "m",
    ]
    assert looked_up(joined, "Tuned", "t") == "no (unknown)"
    assert looked_up(joined, "KubeletConfig", "k") == "cut short (unknown)"
    assert not joined.is_served("Pod")
    assert not joined.is_served("DeviceClass")
    assert joined.is_known("Secret")
    assert joined.is_known("Namespace")
    assert list(joined.refusals) == refusals


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        ("Node", None, "it is null"),
        ("Node", {}, "it has no name"),
        ("Node", {"metadata": None}, "it has no name"),
        ("Node", {"metadata": {"name": "a"}}, ""),
        ("Node", [], "it is a list, and no mapping"),
        ("Secret", {"metadata": {"name": "a"}, "data": 7}, ""),
    ],
)
def test_what_no_api_server_says(kind: str, data: Any, problem: str) -> None:
    said = live_objects.problem_in(kind, data)
    assert said == problem or (problem.startswith("it is a list") and said.startswith("it is"))


def test_what_commands_call_a_kind() -> None:
    assert live_objects.plural_of("RuntimeClass") == "runtimeclasses"
    assert live_objects.plural_of("Widget") == "objects of kind Widget"
    assert live_objects.KINDS["RuntimeClass"].resource == "runtimeclasses.node.k8s.io"
    assert live_objects.KINDS["Node"].resource == "nodes"
