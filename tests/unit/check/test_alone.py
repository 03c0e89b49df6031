"""The check needs the expected state and the node: no models, no solver, no intents."""

import subprocess
import sys
from pathlib import Path

import pytest

from cpuplan.plan.expected.state import UnreadableStateError, read
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan, regular
from tests.projects import REPOSITORY

STATES = sorted(REPOSITORY.glob("out/clusters/*/expected/state/*.json"))
HEAVY = ("pydantic", "ortools", "jsonschema", "ruamel", "jinja2")
PROGRAM = f"""
import sys
from pathlib import Path
from cpuplan.check.host import check
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import nowhere
from cpuplan.plan.expected.folder import load
answers = check(Root(Path(sys.argv[1])), load(Path(sys.argv[2])), "", nowhere)
assert answers
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""


@pytest.mark.parametrize("state", STATES, ids=lambda path: path.stem)
def test_nothing_heavy_is_loaded(state: Path, tmp_path: Path) -> None:
    node = plan(regular(cores=4, threads=2), offlined="7")
    root = make_root(node, tmp_path)
    command = [sys.executable, "-c", PROGRAM, str(root), str(state)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == ""


@pytest.mark.parametrize("state", STATES, ids=lambda path: path.stem)
def test_a_state_reads_as_it_was_written(state: Path) -> None:
    text = state.read_text()
    expected = read(text)
    assert expected.nodes
    assert expected.digest in text


def test_a_state_that_was_edited_is_refused() -> None:
    text = STATES[0].read_text()
    with pytest.raises(UnreadableStateError, match="edited"):
        read(text.replace('"executable": false', '"executable": true', 1))


def test_every_setting_has_an_answer(tmp_path: Path) -> None:
    node = plan(regular(cores=4, threads=2), offlined="7")
    answers = checked.answers(make_root(node, tmp_path), node)
    facts = {answer.fact for answer in answers}
    assert {f"{setting.component} {setting.key}" for setting in node.settings} <= facts
