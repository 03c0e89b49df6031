"""What is read of an API, page by page, and what its refusals mean."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from cpuplan.check.cluster import live
from cpuplan.check.cluster.live import Clock, Compilation, Seen, look, wait
from cpuplan.check.cluster.live_objects import Absent
from cpuplan.check.cluster.reading import (
    MAX_PAGES,
    AnswerError,
    Path,
    Reader,
    UnreachableError,
    Wanted,
)
from cpuplan.plan.expected.evidence import Verdict
from tests.api_http import Api
from tests.live import RENDERED_NAME, Cluster
from tests.machines.plans import no_position, plan, regular

CLUSTER = Cluster(
    plan(
        regular(sockets=2, cores=4, threads=2),
        reserved="0,8",
        shared="1,9",
        version="4.20",
        target={"cpuPartitioning": True},
    )
)
COMPILATION = Compilation("lab", tuple(CLUSTER.expected), CLUSTER.compiled)
NODES = "/api/v1/nodes"
CONFIGS = "/apis/machineconfiguration.openshift.io"


class Direct:
    """A connection without a wire."""

    server = "https://api.lab.example"

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, path: Path, name: str) -> Mapping[str, Any]:
        return self._ask(path.text(name), {})

    def page(self, path: Path, query: Mapping[str, Any]) -> Mapping[str, Any]:
        assert query["limit"] == 500
        return self._ask(path.text(), {"continue": [query.get("_continue", "0")]})

    def _ask(self, path: str, query: Mapping[str, list[str]]) -> Mapping[str, Any]:
        status, body = self._api.answer("GET", path, query)
        if status != 200:
            raise AnswerError(status, body if isinstance(body, str) else json.dumps(body))
        answer: Mapping[str, Any] = body
        return answer


def read(api: Api) -> Seen:
    return look(Reader(Direct(api), lambda _: None), COMPILATION, no_position)


def findings(seen: Seen) -> list[str]:
    return [answer.finding.message for answer in seen.all() if answer.finding]


def reasons(seen: Seen) -> set[str]:
    return {answer.reason for answer in seen.all() if answer.verdict is Verdict.UNVERIFIABLE}


def test_a_cluster_that_took_everything() -> None:
    api = Api(CLUSTER.objects())
    seen = read(api)
    assert findings(seen) == []
    assert set(seen.nodes) == {"worker-0", "worker-1"}
    assert sum(answer.verdict is Verdict.HELD for answer in seen.nodes["worker-0"]) > 30
    assert all(answer.verdict is Verdict.HELD for answer in seen.objects)


def test_lists_are_read_by_pages() -> None:
    api = Api(CLUSTER.objects(), page=1)
    assert findings(read(api)) == []
    assert api.asked.count(("GET", NODES)) == 2


def test_a_list_without_end_is_not_read_for_ever() -> None:
    class Endless(Direct):
        def page(self, path: Path, query: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"metadata": {"continue": "1"}, "items": []}

    objects = Reader(Endless(Api([])), lambda _: None).read([Wanted("Node", "v1")])
    absent = objects.find("Node", "worker-0")
    assert isinstance(absent, Absent)
    assert f"there are more than {500 * MAX_PAGES:,}" in absent.reason
    assert absent.is_unknown


@pytest.mark.parametrize(
    ("start", "status", "reason"),
    [
        (NODES, 403, "the user may not list nodes"),
        (NODES, 500, "nodes cannot be read: refused with 500"),
        (f"{CONFIGS}/v1/machineconfigs/", 403, "the user may not read machineconfigs"),
        (
            "/apis/node.k8s.io",
            503,
            "runtimeclasses cannot be read: refused with 503",
        ),
    ],
)
def test_what_is_refused_is_not_verifiable(start: str, status: int, reason: str) -> None:
    api = Api(CLUSTER.objects())
    api.refusals[start] = status, 99
    seen = read(api)
    assert findings(seen) == []
    assert reason in reasons(seen)


def test_a_rendered_configuration_that_is_not_there() -> None:
    """A pool wants it: its facts are not left out."""
    listed = [
        manifest for manifest in CLUSTER.objects() if manifest["metadata"]["name"] != RENDERED_NAME
    ]
    told = f"MachineConfig {RENDERED_NAME}: the cluster has no MachineConfig {RENDERED_NAME}"
    assert set(findings(read(Api(listed)))) == {told}


def test_a_right_to_read_some_names_only() -> None:
    """What is refused for one object says nothing of others of its kind."""
    names = ("first", "second", "third")
    made = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    api = Api([{**made, "metadata": {"name": name}} for name in names[1:]])
    api.refusals["/apis/node.k8s.io/v1/runtimeclasses/first"] = 403, 99
    wanted = [Wanted("RuntimeClass", "v1", name) for name in names]
    objects = Reader(Direct(api), lambda _: None).read(wanted)
    assert [refusal.code for refusal in objects.refusals] == ["CP8130"]
    assert [isinstance(objects.find("RuntimeClass", name), Absent) for name in names] == [
        True,
        False,
        False,
    ]
    absent = objects.find("RuntimeClass", "first")
    assert isinstance(absent, Absent)
    assert absent.is_unknown


def test_a_user_without_rights_at_all() -> None:
    api = Api(CLUSTER.objects())
    api.refusals["/"] = 401, 99
    with pytest.raises(UnreachableError, match="it refuses the credentials"):
        read(api)


def test_a_list_that_expires_is_begun_anew() -> None:
    api = Api(CLUSTER.objects(), page=1)
    api.refusals[NODES] = 410, 2
    assert findings(read(api)) == []
    api.refusals[NODES] = 410, 3
    assert "nodes cannot be read: refused with 410" in reasons(read(api))


def test_a_server_that_is_busy_for_a_moment() -> None:
    api = Api(CLUSTER.objects())
    api.refusals[NODES] = 429, 2
    assert findings(read(api)) == []


def test_a_kind_that_nobody_installed() -> None:
    api = Api(CLUSTER.objects())
    api.unserved = ("topology.node.k8s.io", "node.k8s.io")
    seen = read(api)
    assert findings(seen) == [
        "RuntimeClass performance-ran is not there: the cluster does not serve runtimeclasses"
    ]
    assert "the cluster does not serve noderesourcetopologies" in reasons(seen)


def test_an_object_and_a_node_that_are_gone() -> None:
    listed = [
        manifest
        for manifest in CLUSTER.objects()
        if manifest["kind"] != "RuntimeClass" and manifest["metadata"]["name"] != "worker-1"
    ]
    assert findings(read(Api(listed))) == [
        "Node worker-1 is not there: the cluster has no Node worker-1",
        (
            "RuntimeClass performance-ran is not there: the cluster has no RuntimeClass"
            " performance-ran"
        ),
    ]


class Time:
    """A clock that runs by sleeping."""

    def __init__(self) -> None:
        self.at = 0.0

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_waiting_until_the_rollout_has_arrived() -> None:
    api, time, said = Api(CLUSTER.objects()), Time(), list[str]()
    pool = next(manifest for manifest in api.objects if manifest["kind"] == "MachineConfigPool")
    updated = pool["status"]["conditions"].pop()
    reader = Reader(Direct(api), lambda _: None)

    def round_() -> Seen:
        if time.at >= 30:
            pool["status"]["conditions"] = [updated]
        return look(reader, COMPILATION, no_position)

    clock = Clock(lambda: time.at, time.sleep, 15.0)
    seen = wait(round_, 3600, clock, said.append)
    assert (findings(seen), time.at) == ([], 30.0)
    assert said == [
        "waiting: MachineConfigPool worker-cnf: its nodes are being updated, 2 of 2 are",
        "waiting: 2 of 2 nodes differ",
    ]


def test_waiting_ends_when_time_is_out() -> None:
    api, time = Api(CLUSTER.objects()), Time()
    api.objects.pop(0)
    reader = Reader(Direct(api), lambda _: None)
    clock = Clock(lambda: time.at, time.sleep, 15.0)
    seen = wait(lambda: look(reader, COMPILATION, no_position), 40, clock, lambda _: None)
    assert (len(findings(seen)), time.at) == (1, 40.0)


def test_waiting_outlasts_an_api_server_that_restarts() -> None:
    time, said = Time(), list[str]()

    def round_() -> Seen:
        if time.at < 30:
            raise UnreachableError("connection refused")
        return Seen({}, [])

    clock = Clock(lambda: time.at, time.sleep, 15.0)
    assert wait(round_, 60, clock, said.append) == Seen({}, [])
    assert said == ["waiting: the cluster cannot be read: connection refused"]
    time.at = 0.0
    with pytest.raises(UnreachableError):
        wait(round_, 0, clock, said.append)


@pytest.mark.parametrize(
    ("kind", "is_for_host", "is_asked_for"),
    [("RuntimeClass", False, True), ("RuntimeClass", True, False), ("Widget", False, False)],
)
def test_compiled_objects_are_asked_for_where_the_cluster_has_them(
    kind: str, is_for_host: bool, is_asked_for: bool
) -> None:
    """Not objects of the hosting cluster, nor kinds that nothing is known of."""
    data = {"apiVersion": "node.k8s.io/v1", "kind": kind}
    planned = SimpleNamespace(
        is_for_host=is_for_host, kind=kind, data=data, name="a", namespace="b"
    )
    compilation: Any = SimpleNamespace(states=(), objects=(planned,))
    wanted = [Wanted("Node", "v1", nodes=frozenset())]
    further = [Wanted(kind, "v1", "a", "b")]
    assert list(live._first(compilation)) == wanted + further * is_asked_for
