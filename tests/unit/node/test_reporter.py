"""What the cluster is told, and when."""

from typing import Any

import pytest

from cpuplan.node import reporter
from cpuplan.node.reporter import Api, ApiError, Reporter
from cpuplan.node.view import Checked, Plan, State, View
from cpuplan.render.answers.prometheus import Counts

PLAN = Plan("edge", "du", "1f2e")


def view(
    held: int = 0, differs: int = 0, unverifiable: int = 0, *findings: str, unshown: int = 0
) -> View:
    board = State(60)
    facts = {"held": held, "differs": differs, "unverifiable": unverifiable}
    facts["unshown"] = unshown
    board.put(Checked(PLAN, Counts(facts, {}, held + differs > 0), findings), 0.1)
    return board.view()


def unread(code: str) -> View:
    """A root that is empty, or cannot be read: a finding, and nothing that was looked at."""
    board = State(60)
    counts = Counts({"differs": 1, "unverifiable": 2}, {(code, "error"): 1}, is_verified=False)
    board.put(Checked(PLAN, counts, (f"{code} x",)), 0.1)
    return board.view()


FAILED = State(60).view()._replace(problem="CP877: x is no expected state")


@pytest.mark.parametrize(
    ("known", "status", "reason", "message"),
    [
        (view(3), "True", "PlanHolds", "3 facts of the plan hold"),
        (
            view(3, 0, 1),
            "True",
            "HoldsWhereVerifiable",
            "3 facts of the plan hold; 1 fact cannot be verified here",
        ),
        (
            view(3, 1, 2, "CP811 booted without x"),
            "False",
            "PlanDiffers",
            "1 fact of the plan differs: CP811 booted without x; 2 facts cannot be verified here",
        ),
        (
            view(3, unshown=8),
            "True",
            "PlanHolds",
            "3 facts of the plan hold; 8 facts cannot be seen by an agent",
        ),
        (view(0, 0, 2), "Unknown", "NothingVerified", "2 facts cannot be verified here"),
        (
            unread("CP801"),
            "Unknown",
            "NothingVerified",
            "CP801 x; 2 facts cannot be verified here",
        ),
        (
            unread("CP802"),
            "False",
            "PlanDiffers",
            "1 fact of the plan differs: CP802 x; 2 facts cannot be verified here",
        ),
        (view(), "Unknown", "NothingVerified", "the plan has no facts to verify"),
        (FAILED, "Unknown", "NotChecked", "CP877: x is no expected state"),
    ],
)
def test_verdicts(known: View, status: str, reason: str, message: str) -> None:
    assert reporter.verdict_of(known) == (status, reason, message)


def test_a_message_is_as_long_as_the_api_server_takes_it() -> None:
    said = reporter.verdict_of(view(0, 1, 0, "x" * 2000)).message
    assert len(said) == 1024
    assert said.endswith("...")


class FakeApi(Api):
    """Keeps what it is told, and fails on request."""

    def __init__(self, status: dict[str, Any] | None = None) -> None:
        self.told: list[dict[str, Any]] = []
        self.known = status or {}
        self.fails = False

    def _call(self, method: str, path: str, body: Any = None, kind: str = "") -> dict[str, Any]:
        if self.fails:
            raise ApiError("503")
        if method == "GET":
            return {"status": self.known}
        self.told.append(body)
        return {}

    def conditions(self) -> list[tuple[str, str, str]]:
        made = [request["status"]["conditions"][0] for request in self.told if "status" in request]
        return [
            (condition["status"], condition["lastTransitionTime"], condition["reason"])
            for condition in made
        ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("cpuplan.node.reporter.time.monotonic", lambda: now[0])
    monkeypatch.setattr("cpuplan.node.reporter.time.time", lambda: now[0])
    return now


def time_at(seconds: float) -> str:
    return reporter.time_text(seconds)


def test_a_condition_is_told_when_it_changes_and_now_and_then(clock: list[float]) -> None:
    api = FakeApi()
    teller = Reporter(api, "n", print, condition=True, events=False)
    for seconds, known in ((0, view(3)), (60, view(3)), (60, view(2, 1, 0, "x")), (300, view(3))):
        clock[0] += seconds
        teller.tell(known)
    clock[0] += 299
    teller.tell(view(3))
    clock[0] += 1
    teller.tell(view(3))
    assert api.conditions() == [
        ("True", time_at(1000), "PlanHolds"),
        ("False", time_at(1120), "PlanDiffers"),
        ("True", time_at(1420), "PlanHolds"),
        ("True", time_at(1420), "PlanHolds"),
    ]


def test_a_new_agent_keeps_the_time_of_the_last_change(clock: list[float]) -> None:
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2020"},
        {"type": "CPUPlanHolds", "status": "True", "lastTransitionTime": "2021"},
    ]
    for known, since in ((view(3), "2021"), (view(3, 1), time_at(1000))):
        api = FakeApi({"conditions": conditions})
        Reporter(api, "n", print, condition=True, events=False).tell(known)
        assert api.conditions()[0][1] == since


def test_an_agent_that_stops_leaves_no_claim_behind(clock: list[float]) -> None:
    api = FakeApi()
    teller = Reporter(api, "n", print, condition=True, events=False)
    teller.stop()
    assert not api.told
    teller.tell(view(3))
    teller.stop()
    assert api.conditions()[-1] == ("Unknown", time_at(1000), "AgentStopped")


def test_events_where_the_status_changes(clock: list[float]) -> None:
    api = FakeApi()
    teller = Reporter(api, "n", print, condition=False, events=True)
    for known in (view(3), view(2, 1, 0, "a"), view(2, 1, 0, "b"), FAILED, view(3)):
        teller.tell(known)
    made = [(event["type"], event["reason"], event["involvedObject"]["name"]) for event in api.told]
    assert made == [
        ("Warning", "PlanDiffers", "n"),
        ("Warning", "NotChecked", "n"),
        ("Normal", "PlanHolds", "n"),
    ]
    assert {event["metadata"]["namespace"] for event in api.told} == {"default"}


def test_what_could_not_be_told_is_told_next_time(clock: list[float]) -> None:
    api, said = FakeApi(), list[str]()
    teller = Reporter(api, "n", said.append, condition=True, events=True)
    api.fails = True
    teller.tell(view(2, 1, 0, "a"))
    api.fails = False
    teller.tell(view(2, 1, 0, "a"))
    assert said == ["the API server was not told: 503"]
    assert [request.get("kind", "patch") for request in api.told] == ["Event", "patch"]
