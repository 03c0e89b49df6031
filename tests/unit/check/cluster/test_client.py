"""The client of a live API: kubeconfigs, credentials, and a server over HTTP."""

import json
import sys
from pathlib import Path

import pytest

from cpuplan.check.cluster.live_objects import KINDS
from cpuplan.check.cluster.reading import AnswerError, UnreachableError
from cpuplan.check.cluster.reading import Path as Where
from tests.api_http import TOKEN, Api, kubeconfig, serving
from tests.projects import REJECTED, make_project, run_in

pytest.importorskip("kubernetes", reason="the extra cluster is not installed")

from cpuplan.check.cluster.client import Client

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-0"}}
CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "fast"},
    "handler": "fast",
}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "slo", "namespace": "koordinator-system"},
    "data": {"a": "1"},
}
TUNED = {
    "apiVersion": "tuned.openshift.io/v1",
    "kind": "Tuned",
    "metadata": {"name": "fast", "namespace": "openshift-cluster-node-tuning-operator"},
}
OBJECTS = [NODE, {**NODE, "metadata": {"name": "worker-1"}}, CLASS, CONFIG_MAP, TUNED]


def where(kind: str, version: str = "v1", namespace: str = "") -> Where:
    return Where(KINDS[kind], version, namespace)


def test_objects_of_all_kinds(tmp_path: Path) -> None:
    api = Api(OBJECTS, page=1)
    with serving(api) as server:
        client = Client(kubeconfig(tmp_path / "config", server), None)
        first = client.page(where("Node"), {"limit": 500})
        assert [node["metadata"]["name"] for node in first["items"]] == ["worker-0"]
        query = {"limit": 500, "_continue": first["metadata"]["continue"]}
        second = client.page(where("Node"), query)
        assert [node["metadata"]["name"] for node in second["items"]] == ["worker-1"]
        assert client.get(where("RuntimeClass"), "fast")["handler"] == "fast"
        config = client.get(where("ConfigMap", namespace="koordinator-system"), "slo")
        assert config["data"] == {"a": "1"}
        namespace = TUNED["metadata"]["namespace"]  # type: ignore[index]
        assert client.get(where("Tuned", namespace=namespace), "fast")["kind"] == "Tuned"
    assert {method for method, _ in api.asked} == {"GET"}


@pytest.mark.parametrize("status", [403, 404, 410, 500])
def test_refusals_keep_their_status_and_words(tmp_path: Path, status: int) -> None:
    api = Api(OBJECTS)
    api.refusals["/"] = status, 9
    with serving(api) as server:
        client = Client(kubeconfig(tmp_path / "config", server), None)
        with pytest.raises(AnswerError) as refused:
            client.page(where("Node"), {"limit": 500})
        assert (refused.value.status, refused.value.message) == (status, f"refused with {status}")


def test_an_object_or_a_kind_that_is_not_there(tmp_path: Path) -> None:
    api = Api(OBJECTS)
    api.unserved = ("topology.node.k8s.io",)
    with serving(api) as server:
        client = Client(kubeconfig(tmp_path / "config", server), None)
        for kind, is_of_object in (("RuntimeClass", True), ("NodeResourceTopology", False)):
            with pytest.raises(AnswerError) as refused:
                client.get(where(kind), "slow")
            assert refused.value.is_of_object is is_of_object


def test_a_program_gives_the_token(tmp_path: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN},
    }
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print({json.dumps(credential)!r})"],
        "interactiveMode": "Never",
    }
    with serving(Api(OBJECTS)) as server:
        client = Client(kubeconfig(tmp_path / "config", server, {"exec": program}), None)
        assert client.get(where("RuntimeClass"), "fast")["handler"] == "fast"
        program["args"] = ["-c", "import sys; sys.exit('log in first')"]
        client = Client(kubeconfig(tmp_path / "config", server, {"exec": program}), None)
        with pytest.raises(UnreachableError, match=r"no credentials: .*log in first"):
            client.get(where("RuntimeClass"), "fast")


def test_a_token_in_a_file_and_a_wrong_one(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with serving(Api(OBJECTS)) as server:
        user = {"tokenFile": str(tmp_path / "token")}
        client = Client(kubeconfig(tmp_path / "config", server, user), None)
        assert client.get(where("RuntimeClass"), "fast")["handler"] == "fast"
        client = Client(kubeconfig(tmp_path / "config", server, {"token": "shut"}), None)
        with pytest.raises(AnswerError) as refused:
            client.get(where("RuntimeClass"), "fast")
        assert refused.value.status == 401


def test_a_proxy_stands_between(tmp_path: Path) -> None:
    api = Api(OBJECTS)
    with serving(api) as server:
        file = kubeconfig(tmp_path / "config", "http://api.lab.invalid")
        text = file.read_text().replace("server:", f"proxy-url: {server}\n    server:")
        file.write_text(text)
        client = Client(file, None)
        client.get(where("RuntimeClass"), "fast")
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "the kubeconfig cannot be used"),
        ("kind: Config\n", "the kubeconfig cannot be used"),
    ],
)
def test_a_kubeconfig_that_is_none(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(UnreachableError, match=problem):
        Client(tmp_path / "config", None)


def test_nobody_answers(tmp_path: Path) -> None:
    with serving(Api([])) as server:
        file = kubeconfig(tmp_path / "config", server)
    client = Client(file, None)
    with pytest.raises(UnreachableError, match="refused"):
        client.page(where("Node"), {"limit": 500})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "CP888-other-handler")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    files = sorted((folder / "out/clusters/lab/expected/objects").glob("*.json"))
    listed = [json.loads(file.read_text())["object"] for file in files]
    amounts = {"cpu": "16"}, {"cpu": "12"}
    for name in ("worker-0", "worker-1"):
        status = {"capacity": amounts[0], "allocatable": amounts[1]}
        listed.append({**NODE, "metadata": {"name": name}, "status": status})
    api = Api(listed)
    api.unserved = ("topology.node.k8s.io",)
    with serving(api) as server:
        file = kubeconfig(tmp_path / "config", server)
        arguments = ["check", "cluster", "--kubeconfig", str(file)]
        code, _, said = run_in(folder, arguments, capsys)
        assert code == 1
        assert "2 of 2 nodes (all): allocatable of cpu of Node NODE is 12" in said
        assert "RuntimeClass performance-main" not in said
        assert said.splitlines()[-1].startswith("0 of 2 nodes hold what was compiled (")
        for stored in api.objects:
            if stored["kind"] == "Node":
                stored["status"]["allocatable"] = {"cpu": "10"}
        code, _, said = run_in(folder, arguments, capsys)
        assert (code, said.startswith("2 of 2 nodes hold what was compiled (")) == (0, True)
