"""Which versions are later than ours."""

import json
from pathlib import Path

import pytest

from cpuplan import API_VERSION
from cpuplan.base import program
from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha10", "v1beta1", "v1", "v2alpha1", "v2"])
def test_later(version: str) -> None:
    assert program.is_later_version(f"cpuplan.io/{version}")


@pytest.mark.parametrize(
    "version",
    [
        API_VERSION,
        "cpuplan.io/v0",
        "cpuplan.io/v1alpha",
        "cpuplan.io/v1gamma1",
        "apps/v2",
        "v2",
        2,
        None,
        [],
    ],
)
def test_not_later(version: object) -> None:
    assert not program.is_later_version(version)


@pytest.mark.parametrize("kind", ["Intent", "Hardware", "Nodes", "Delivery", "Waivers", "Layout"])
def test_every_kind_also_unknown_ones(kind: str, tmp_path: Path, capsys: Capture) -> None:
    """One answer, and nothing about fields that this release cannot know."""
    project = make_project(tmp_path)
    (project / "intents/later.yaml").write_text(
        f"apiVersion: cpuplan.io/v1\nkind: {kind}\nmetadata: {{name: x, owner: team}}\n"
        f"layers: []\nspec: {{later: 1}}\n"
    )
    code, out, err = run_in(project, ["validate", "--format", "json"], capsys)
    assert code == 1, err
    assert [diagnostic["code"] for diagnostic in json.loads(out)["diagnostics"]] == ["CP139"]


def test_a_class_of_the_plan_before(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_environment(monkeypatch)
    project = make_project(tmp_path)
    assert run_in(project, ["compile"], capsys)[0] == 0
    path = project / "out/.cpuplan/classes/lab/main-small.json"
    path.write_text(path.read_text().replace('"version": 2', '"version": 3', 1))
    code, _, err = run_in(project, ["compile"], capsys)
    assert code in (1, 2)
    assert "error[CP139]: a class in out/ has version 3; this release of cpuplan reads 2" in err
