"""Nodes in several MachineConfigPools, by the labels of the inventory."""

from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.fleet.targets import _effect
from tests.projects import REJECTED, make_project


@pytest.mark.parametrize(
    ("own", "selecting", "effect"),
    [
        ("worker", {"worker"}, ""),
        ("fast", {"worker", "fast"}, ""),
        ("fast", {"worker"}, ""),
        ("master", {"master", "worker"}, ""),
        ("worker", {"worker", "infra"}, ", and infra decides"),
        ("fast", {"worker", "fast", "infra"}, ", and gets no updates"),
        ("fast", {"master", "fast"}, ", and master decides"),
        ("worker", {"master", "worker"}, ", and master decides"),
    ],
)
def test_which_pool_decides(own: str, selecting: set[str], effect: str) -> None:
    """master before custom before worker (pkg/helpers/helpers.go)."""
    assert _effect(own, selecting) == effect


IN_INFRA = 'matchLabels: {node-role.kubernetes.io/infra: ""}'


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        (IN_INFRA, ["CP239"]),
        (
            "matchExpressions: [{key: %s, operator: Exists}]",
            ["CP239"],
        ),
        (
            'matchExpressions: [{key: %s, operator: In, values: ["", a]}]',
            ["CP239"],
        ),
        (
            "matchExpressions: [{key: %s, operator: In, values: [a]}]",
            [],
        ),
        pytest.param("{}", [], id="a selector without labels selects nothing"),
    ],
)
def test_pools_of_others_select_by_labels(tmp_path: Path, selector: str, codes: list[str]) -> None:
    project = make_project(tmp_path, REJECTED / "CP239-two-custom-pools")
    [file] = [path for path in project.rglob("*.yaml") if IN_INFRA in path.read_text()]
    text = selector.replace("%s", "node-role.kubernetes.io/infra")
    file.write_text(file.read_text().replace(IN_INFRA, text))
    assert [finding.code for finding in pipeline.load(project).diagnostics] == codes
