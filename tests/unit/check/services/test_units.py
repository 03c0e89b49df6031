"""Compiled units: which they are, and which of them other files start."""

from dataclasses import replace
from functools import cache

import pytest

from cpuplan.check.services import units
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.plan.expected.state import Expected, NodeFile
from tests import checked
from tests.machines.plans import plan


@cache
def planned() -> Expected:
    return checked.expected(plan(platform="kubernetes", version="1.34"))


def compiled(**files: str) -> Expected:
    """The state of nodes that have these files and no others."""
    return replace(planned(), files={path: NodeFile(text) for path, text in files.items()})


@pytest.mark.parametrize(
    ("path", "text", "started"),
    [
        (f"{UNIT_FOLDER}/a.service", "[Unit]\nWants=b.service c.timer\n", {"b.service", "c.timer"}),
        (f"{UNIT_FOLDER}/a.service", "[Unit]\nRequires=b.service\n", {"b.service"}),
        (f"{UNIT_FOLDER}/a.service", "[Unit]\nAfter=b.service\n", set()),
        (f"{UNIT_FOLDER}/x.service.d/9.conf", "[Unit]\nUpholds=b.service\n", {"b.service"}),
        ("/etc/other.conf", "[Unit]\nWants=b.service\n", set()),
        (
            "/etc/udev/rules.d/9.rules",
            'ENV{SYSTEMD_WANTS}+="b@%k.service"\nENV{SYSTEMD_WANTS}+="c.service"\n',
            {"b@%k.service", "c.service"},
        ),
    ],
)
def test_units_that_files_start(path: str, text: str, started: set[str]) -> None:
    assert units.started_by_files(compiled(**{path: text})) == started


def test_units_are_files_of_their_folder() -> None:
    files = {
        f"{UNIT_FOLDER}/b.service": "[Service]\nRemainAfterExit=yes\n",
        f"{UNIT_FOLDER}/a@.service": "[Install]\nWantedBy=x.target\n",
        f"{UNIT_FOLDER}/c.timer": "[Install]\nAlso=b.service\n[Unit]\nWantedBy=x.target\n",
        f"{UNIT_FOLDER}/a.service.d/9.conf": "",
        f"{UNIT_FOLDER}/readme.txt": "",
        "/usr/lib/systemd/system/d.service": "",
    }
    made = units.compiled_units(compiled(**files))
    assert [unit.name for unit in made] == ["a@.service", "b.service", "c.timer"]
    assert [unit.is_template for unit in made] == [True, False, False]
    assert [unit.is_installed for unit in made] == [True, False, False]
    assert made[1].path == f"{UNIT_FOLDER}/b.service".lstrip("/")
