"""Plans of changes of the sample, as their readers see them: every byte."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests import plan_cases
from tests.plan_cases import CASES
from tests.projects import REPOSITORY

SCHEMA = json.loads((REPOSITORY / "schemas/plan.schema.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_text_and_markdown(name: str, tmp_path: Path) -> None:
    for path, text in plan_cases.texts(name, tmp_path / name):
        assert text == path.read_text(), f"stale: python -m tests.generate writes {path.name}"


def test_no_text_is_left_over() -> None:
    assert {path.stem for path in plan_cases.FOLDER.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_json_fits_its_schema(name: str, tmp_path: Path) -> None:
    data = _json(name, tmp_path)
    jsonschema.Draft7Validator(SCHEMA).validate(data)
    told = {node for change in data["changes"] for node in change["nodes"]}
    assert (name == "nothing") == (not data["hasChanges"]) == (not told)


def test_json_says_what_the_text_says(tmp_path: Path) -> None:
    data = _json("boot-arguments", tmp_path)
    (change,) = data["changes"]
    assert (change["cluster"], change["impact"], len(change["nodes"])) == ("edge", "reboot", 12)
    assert change["moves"] == [{"cpus": "4,36", "before": ["isolated"], "after": ["shared"]}]
    settings = {(setting["component"], setting["key"]): setting for setting in change["settings"]}
    added, gone = settings["kernel", "mitigations"], settings["kernel", "audit"]
    assert (added["before"], added["after"]) == ([], ["off"])
    assert (gone["before"], gone["after"]) == (["0"], [])
    (rounds,) = data["rounds"]
    assert (rounds["atOnce"], rounds["rounds"], rounds["minutes"]) == (3, 4, 80)


def _json(name: str, folder: Path) -> Any:
    case = CASES[name]
    return json.loads(plan_cases.outcome(case, plan_cases.project(case, folder / "p"), "json"))
