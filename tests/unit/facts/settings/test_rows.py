"""Each setting has one row, and its key stands there and nearly nowhere else."""

import re
from collections import Counter
from pathlib import Path

import pytest

import cpuplan
from cpuplan.facts.settings import table
from cpuplan.facts.settings.row import Row
from tests import named_cases

_PACKAGE = Path(cpuplan.__file__).parent
#: The originals of ports have these keys, and so have they.
_PORTS = ("dra", "koordinator", "kubelet", "linux", "mco", "nri", "nrt", "runtime", "upstream")
#: The row; the model's field of the same name; a text for people.
_MOST = 4
#: Keys that mean other things too, and what.
_OF_OTHERS = {
    "CPUS": "CPUs, in capitals",
    "apiVersion": "every object of Kubernetes has one",
    "metadata.name": "every object of Kubernetes has one",
    "nodeSelector": "pods have one",
    "agent.nodeResourceTopology": "a field of a Cluster document",
    "reservedCPUs": "a field of Koordinator's reservation",
}


def _telling(key: str) -> bool:
    """Whether a text is no word of people: `nohz_full`, `CPUAffinity`, and not `idle`."""
    return bool(re.search(r"[a-z][A-Z]|[_/-]|\.[a-z]|[A-Z]{2}", key))


def _names(row: Row) -> set[str]:
    """The texts by which others could know a row: its key, and the ends of it."""
    return {name for name in (row.key, row.head, row.last) if "{" not in name and _telling(name)}


def _files() -> dict[Path, str]:
    paths = (path for path in _PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc")
    own = (path for path in paths if path.relative_to(_PACKAGE).parts[0] not in _PORTS)
    return {path: path.read_text(errors="ignore") for path in own}


FILES = _files()
NAMES = sorted({name for row in table.ROWS for name in _names(row)} - {"nodeResourceTopology"})


@pytest.mark.parametrize("name", sorted(set(NAMES) - _OF_OTHERS.keys()))
def test_a_key_stands_in_few_files(name: str) -> None:
    """`grep -rlw KEY cpuplan`, without ports."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    places = [str(path.relative_to(_PACKAGE)) for path, text in FILES.items() if word.search(text)]
    assert len(places) <= _MOST, places


def test_exceptions_are_keys() -> None:
    assert set(NAMES) | {row.key for row in table.ROWS} >= _OF_OTHERS.keys()


def test_no_two_rows_have_one_key() -> None:
    counted = Counter((row.component, row.key) for row in table.ROWS)
    assert [key for key, number in counted.items() if number > 1] == []


def test_a_row_comes_before_those_of_more_settings() -> None:
    """A row of any key is the last of its component."""
    for row in table.ROWS:
        if "{" not in row.key:
            assert table.row_of(row.component, row.key) is row


@pytest.mark.parametrize("name", named_cases.CASES)
def test_each_setting_has_a_row(name: str) -> None:
    for node in named_cases.compiled(name).plan.nodes:
        for setting in node.settings:
            row = table.row_of(setting.component, setting.key)
            assert row is not None, setting
            assert node.settings.find(row, **row.names_in(setting.key)) is not None


def test_every_default_has_a_setting() -> None:
    for default in table.DEFAULTS:
        assert table.shown(default), default.name
