"""The loop: it goes on whatever happens, and wakes where there is a reason."""

import threading

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.node import loop
from cpuplan.node.loop import Agent
from cpuplan.node.view import Checked, Plan, State, View
from cpuplan.render.answers.prometheus import Counts

PLAN = Plan("edge", "du", "1f2e")
GOOD = Checked(PLAN, Counts({"held": 3, "differs": 0}, {}, is_verified=True), ())
BAD = Checked(PLAN, Counts({"held": 2, "differs": 1}, {}, is_verified=True), ("CP811 x",))


class Source:
    """Gives one result after the other, and ends the loop after the last."""

    def __init__(self, *results: Checked | Exception) -> None:
        self.results = list(results)
        self.changes = 0
        self.checks = 0

    def plan(self) -> Plan | None:
        return PLAN

    def has_changed(self) -> bool:
        self.changes -= 1
        return self.changes == 0

    def check(self) -> Checked:
        self.checks += 1
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def checked(*results: Checked | Exception) -> tuple[list[View], list[str]]:
    views: list[View] = []
    log: list[str] = []
    source = Source(*results)
    agent = Agent(source, State(60), [views.append], log.append)
    for _ in results:
        agent.once()
    return views, log


def test_a_failure_is_told_and_the_loop_goes_on() -> None:
    error = CpuplanError([diagnose("CP801", path="x")])
    views, log = checked(GOOD, error, OSError("disk"), GOOD)
    assert [bool(view.checked) for view in views] == [True, False, False, True]
    assert [view.problem for view in views] == [
        "",
        "CP801: x cannot be read",
        "OSError: disk",
        "",
    ]
    assert (views[-1].done, views[-1].failed) == (2, 2)
    assert log[1:3] == ["not checked: CP801: x cannot be read", "not checked: OSError: disk"]


def test_only_news_are_logged() -> None:
    _, log = checked(GOOD, GOOD, BAD, BAD, GOOD)
    assert log == ["checked: 3 held", "checked: 2 held, 1 differs; CP811 x", "checked: 3 held"]


def run(agent: Agent) -> threading.Thread:
    thread = threading.Thread(target=agent.run)
    thread.start()
    return thread


def test_it_ends_while_it_waits() -> None:
    seen = threading.Event()
    agent = Agent(Source(GOOD), State(3600), [lambda _: seen.set()], lambda _: None)
    thread = run(agent)
    assert seen.wait(60)
    agent.end()
    thread.join(60)
    assert not thread.is_alive()


def test_it_checks_at_once_when_asked() -> None:
    views: list[View] = []
    source = Source(GOOD, BAD)

    def tell(view: View) -> None:
        views.append(view)
        if source.results:
            agent.ask()
        else:
            agent.end()

    agent = Agent(source, State(3600), [tell], lambda _: None)
    thread = run(agent)
    thread.join(60)
    assert not thread.is_alive()
    assert [view.checked for view in views] == [GOOD, BAD]


def test_another_expected_state_is_checked_at_once() -> None:
    views: list[View] = []
    source = Source(GOOD, BAD)
    source.changes = 3
    board = State(3600)

    def tell(view: View) -> None:
        views.append(view)
        if not source.results:
            agent.end()

    agent = Agent(source, board, [tell], lambda _: None)
    before, loop._LOOK = loop._LOOK, 0.01
    try:
        run(agent).join(60)
    finally:
        loop._LOOK = before
    assert [view.checked for view in views] == [GOOD, BAD]
