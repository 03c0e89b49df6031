"""`cpuplan agent` as a process: it serves, reads again, and ends when it is told to."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cpuplan.node.view import Checked, Plan
from cpuplan.render.answers.prometheus import Counts
from tests.hosts import make_root
from tests.machines.plans import plan, regular
from tests.projects import REJECTED, make_project, run_in

PATIENCE = 60


class Agent:
    """An agent that runs."""

    def __init__(self, folder: Path, *words: str) -> None:
        program = "from cpuplan.__main__ import main; main()"
        options = ["--node", "worker-0", "--root", str(folder / "node"), *words]
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "-C", str(folder), "agent", *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stderr
        said = self.process.stderr.readline()
        port = re.search(r"listening on port (\d+)", said)
        assert port, said
        self.port = int(port[1])

    def ask(self, path: str) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as way:
            way.request("GET", path)
            answer = way.getresponse()
            return answer.status, answer.read().decode()

    def wait_for(self, path: str, pattern: str) -> str:
        """The page once it has the pattern."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = self.ask(path)[1]
            if re.search(pattern, text):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{path} has no {pattern}: {text}")


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    made = tmp_path / "project"
    make_project(made, REJECTED / "base")
    assert run_in(made, ["compile"], capsys)[0] == 0
    make_root(plan(regular(cores=4, threads=2)), made / "node")
    return made


@pytest.fixture
def agent(folder: Path) -> Iterator[Agent]:
    made = Agent(folder, "--listen", "127.0.0.1:0", "--interval", "1h")
    yield made
    made.process.kill()
    made.process.communicate()


@pytest.mark.slow
def test_an_agent(agent: Agent, folder: Path) -> None:
    text = agent.wait_for("/metrics", 'cpuplan_facts.*verdict="held"')
    assert agent.ask("/readyz") == (200, "ok\n")
    assert agent.ask("/healthz") == (200, "ok\n")
    assert 'cpuplan_checks_total{result="done"} 1\n' in text
    # Asked to, it checks at once.
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for("/metrics", 'cpuplan_checks_total{result="done"} 2\n')
    # A state that cannot be read: nothing is told of the node any more, and why is said.
    [state] = folder.glob("out/clusters/*/expected/state/*.json")
    state.write_text("{}")
    text = agent.wait_for("/metrics", 'cpuplan_checks_total{result="failed"} 1\n')
    assert "cpuplan_facts{" not in text
    status, reason = agent.ask("/readyz")
    assert (status, reason.startswith("CP877: ")) == (503, True)
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(PATIENCE) == 0
    assert agent.process.stderr
    log = agent.process.stderr.read()
    assert "not checked: CP877" in log


def test_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["agent", "--node", "worker-0", "--root", str(folder / "node"), "--once"]
    code, told, _ = run_in(folder, words, capsys)
    assert code == 1  # the machine is not the one of the inventory
    assert "cpuplan_check_current{" in told
    file = folder / "cpuplan.prom"
    code, told, _ = run_in(folder, [*words, "--textfile", str(file)], capsys)
    assert (code, told) == (1, "")
    assert "cpuplan_findings{" in file.read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--interval", "0s"], "'0s' is no time such as 60s, 5m or 1h"),
        (["--interval", "60"], "'60' is no time"),
        (["--listen", "9876"], "'9876' is no address such as :9876"),
        (["--listen", ":70000"], "':70000' is no address"),
        (["--events"], "--condition and --events need --node, or NODE_NAME"),
    ],
)
def test_wrong_words(
    words: list[str],
    problem: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    code, _, said = run_in(folder, ["agent", "--once", *words], capsys)
    assert code == 2
    assert problem in " ".join(said.split())


@pytest.mark.parametrize(
    ("facts", "code"),
    [({"held": 1}, 0), ({"held": 1, "differs": 1}, 1), ({"unverifiable": 9}, 7), ({}, 7)],
)
def test_what_was_not_looked_at_does_not_hold(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    facts: dict[str, int],
    code: int,
) -> None:
    counts = Counts(facts, {}, is_verified="held" in facts)
    checked = Checked(Plan("lab", "main-small", "1f2e"), counts, ())
    monkeypatch.setattr("cpuplan.node.loop.Node.check", lambda _: checked)
    words = ["agent", "--node", "worker-0", "--root", str(folder / "node"), "--once"]
    assert run_in(folder, words, capsys)[0] == code
