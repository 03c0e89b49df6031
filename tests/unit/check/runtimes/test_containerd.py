"""containerd's files of a node against the settings of its plan."""

from pathlib import Path

import pytest

from cpuplan.check.runtimes.containerd import configuration
from cpuplan.components import containerd
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan


@pytest.mark.parametrize(
    ("imports", "is_there", "expected"),
    [
        (True, True, []),
        (False, True, ["CP843"]),
        # What is not there cannot be imported.
        (True, False, ["CP845"]),
    ],
)
def test_drop_in(tmp_path: Path, imports: bool, is_there: bool, expected: list[str]) -> None:
    target = {"runtime": "containerd", "containerd": "2.2", "mechanism": "balloons"}
    node = plan(platform="kubernetes", version="1.36", target=target)
    root = make_root(node, tmp_path)
    if not imports:
        (root / "etc/containerd/config.toml").write_text("version = 2\n")
    if not is_there:
        (root / containerd.DROP_IN.lstrip("/")).unlink()
    answers = configuration(checked.subject(root, node))
    findings = dict.fromkeys(answer.finding for answer in answers if answer.finding)
    assert [finding.code for finding in findings] == expected
