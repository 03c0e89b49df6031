"""Every MachineConfig and delivery that is emitted, judged by Ignition's own validator.

The machine config operator links it. A warning counts as a refusal: it tells of a key that Ignition
does not know, or of a unit that nobody would start.
"""

import gzip
import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from tests import emitted, named_cases
from tests.projects import needs_shared

PROGRAM = "ignition-validate"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which(PROGRAM), reason=f"{PROGRAM} (Debian: ignition) is not installed"
    ),
]


def judge(config: dict[str, Any]) -> str:
    """What Ignition says of a config: nothing of one that is right."""
    text = json.dumps(config)
    run = subprocess.run([PROGRAM, "-"], input=text, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    return said or f"exit code {run.returncode}" * bool(run.returncode)


def judge_all(objects: Iterable[tuple[str, dict[str, Any]]]) -> tuple[int, dict[str, str]]:
    """How many different configs there are, and what is said of those that are wrong."""
    different: dict[str, str] = {}
    for where, data in objects:
        different.setdefault(json.dumps(data["spec"]["config"]), where)
    said = {where: judge(json.loads(text)) for text, where in different.items()}
    return len(different), {where: text for where, text in said.items() if text}


def test_the_sample() -> None:
    count, wrong = judge_all(emitted.sample())
    assert not wrong
    assert count


def test_cases_on_every_release() -> None:
    plans = emitted.openshift_plans()
    count, wrong = judge_all(
        (where, data) for where, plan in plans for data in emitted.machine_configs(plan)
    )
    assert not wrong
    assert count >= 100


def delivered(end: str) -> bytes:
    """The file of a delivery of the case that has all of them."""
    files = named_cases.compiled("deliveries").files
    (data,) = (data for path, data in files.items() if path.endswith(end))
    return data


def test_deliveries() -> None:
    config = json.loads(delivered(".ign"))
    assert not judge(config)
    assert config["kernelArguments"]["shouldExist"]


@pytest.mark.skipif(not shutil.which("butane"), reason="butane is not installed")
def test_butane_makes_the_same() -> None:
    command = ["butane", "--strict"]
    done = subprocess.run(command, input=delivered(".butane.yaml"), capture_output=True, check=True)
    made, ours = json.loads(done.stdout), json.loads(delivered(".ign"))
    assert contents(made) == contents(ours)
    assert {**made, "storage": None} == {**ours, "storage": None}


def contents(config: dict[str, Any]) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each file, which Butane may compress."""
    return {
        file["path"]: (file["mode"], content(file["contents"]))
        for file in config["storage"]["files"]
    }


def content(contents: dict[str, str]) -> bytes:
    head, _, text = contents["source"].partition(",")
    data = b64decode(text) if head.endswith("base64") else unquote_to_bytes(text)
    return gzip.decompress(data) if contents.get("compression") else data


@needs_shared
def test_recorded_profiles() -> None:
    count, wrong = judge_all(emitted.recorded_machine_configs())
    assert not wrong
    assert count >= 30


WRONG = [
    ({"storage": {"files": [{"path": "etc/relative"}]}}, "path not absolute"),
    ({"storage": {"files": [{"path": "/a", "mode": "0644"}]}}, "cannot unmarshal string"),
    ({"storage": {"files": [{"path": "/a", "modes": 420}]}}, "Unused key modes"),
    ({"storage": {"files": [{"path": "/a"}, {"path": "/a"}]}}, "duplicate entry"),
    (
        {"storage": {"files": [{"path": "/a", "contents": {"source": "data:,a b"}}]}},
        "invalid data character",
    ),
    (
        {"systemd": {"units": [{"name": "a.unit", "contents": "[Unit]\n"}]}},
        "invalid systemd unit extension",
    ),
    (
        {"systemd": {"units": [{"name": "a.service", "contents": "[Unit"}]}},
        "unable to find end of section",
    ),
    (
        {"systemd": {"units": [{"name": "a.service", "enabled": True, "contents": "[Unit]\n"}]}},
        "no install section",
    ),
]


@pytest.mark.parametrize(("config", "said"), WRONG)
def test_a_wrong_config_is_refused(config: dict[str, Any], said: str) -> None:
    assert said in judge({"ignition": {"version": "3.2.0"}, **config})
