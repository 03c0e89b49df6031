"""What a finding shows of a file: values as people write them, and the line that names a key."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.check import subject as compare
from cpuplan.check.subject import shown
from tests import checked
from tests.machines.plans import plan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("True", "True"),
        (("a", False), "a, false"),
        ({"memory.available": "5%", "x": 1}, "memory.available: 5%, x: 1"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300 + "..."),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("key", "place"),
    [
        pytest.param("maxPods", "2:1", id="the key"),
        pytest.param("evictionHard.memory.available", "4:3", id="without the mapping around it"),
        pytest.param("crio.runtime.infra_ctr_cpuset", "5:1", id="the last part"),
        pytest.param("MAXPODS", "2:1", id="in any case"),
        pytest.param("absent", "1:1", id="the file"),
    ],
)
def test_the_line_of_a_key(tmp_path: Path, key: str, place: str) -> None:
    text = "a: 1\nmaxPods: 2\nevictionHard:\n  memory.available: 5%\ninfra_ctr_cpuset: 2\n"
    (tmp_path / "file").write_text(text)
    subject = checked.subject(tmp_path, plan())
    assert str(compare.line_of(subject, "file", key)) == f"{tmp_path}/file:{place}"


@pytest.mark.parametrize(
    ("error", "place", "words"),
    [
        ("bad value (at line 2, column 16)", "2:16", "bad value"),
        ("Expecting value: line 1 column 2 (char 1)", "1:2", "Expecting value"),
        ("found ']' (line 3, column 4)", "3:4", "found ..."),
        ("it is a broken link", "1:1", "it is a broken link"),
    ],
)
def test_where_a_parser_stopped(tmp_path: Path, error: str, place: str, words: str) -> None:
    """What it quotes may be a secret."""
    subject = checked.subject(tmp_path, plan())
    position, text = compare.unreadable(subject, "file", ValueError(error))
    assert (str(position), text) == (f"{tmp_path}/file:{place}", words)
