"""What says the same in other words, and what does not."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.cluster import equality

CRIO = "/etc/crio/crio.conf.d/99-x.conf"


@pytest.mark.parametrize(
    ("actual", "wanted", "is_alike"),
    [
        (1, 1, True),
        ("1", 1, True),
        ("1\n", 1, True),
        ("2k", 2000, True),
        ("1Gi", "1024Mi", True),
        ("60s", "1m0s", True),
        ("60s", 60, False),
        ("a", "b", False),
        (True, True, True),
        (1, True, False),
        (True, 1, False),
        (False, None, False),
        (None, False, False),
        (None, "", True),
        ([], None, True),
        ({}, [], True),
        (None, 0, False),
        ("0-3", CpuSet(range(4)), True),
        ("0,1-3", CpuSet(range(4)), True),
        (CpuSet((1,)), "1", True),
        ("x", CpuSet((1,)), False),
        (1, CpuSet((1,)), False),
        ("", CpuSet(), True),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"b": 2}, {"a": 1}, False),
        (None, {"a": None, "b": []}, True),
        (None, {"a": 1}, False),
        ([1, 2], [1, 2], True),
        ([2, 1], [1, 2], False),
        ([1], [1, 2], False),
        ("1", [1], False),
    ],
)
def test_values(actual: Any, wanted: Any, is_alike: bool) -> None:
    assert equality.is_alike(actual, wanted) is is_alike


def test_each_field_that_differs_is_said() -> None:
    actual = {"a": [{"b": 1}, {"b": 2}], "c": 3}
    wanted = {"a": [{"b": 1}, {"b": 5}], "d": 4}
    assert list(equality.differences(actual, wanted)) == [
        (("a", 1, "b"), 2, 5),
        (("d",), None, 4),
    ]
    assert list(equality.differences({"a": [1]}, {"a": [1, 2]})) == [(("a",), [1], [1, 2])]


@pytest.mark.parametrize(
    ("path", "text", "other", "is_same"),
    [
        ("/etc/a", "x\n", "x\n", True),
        ("/etc/a", "# y\n\n  x = 1\n", "x=1\n", True),
        ("/etc/a", "; y\nx=1\n", "x=1\n", True),
        ("/etc/a", "x=1\n", "x=2\n", False),
        ("/etc/a", "x=1\ny=2\n", "y=2\nx=1\n", False),
        ("/etc/a", '{"a": 1, "b": 2}', '{"b": 2,\n "a": 1}', True),
        ("/etc/a", '{"a": 1', '{"a":  1', False),
        ("/etc/a", '{"a": 1', '{"a": 1', True),
        (CRIO, "[a]\nb = [1,\n2]\n", "[a]\nb = [1, 2] # c\n", True),
        ("/etc/a", "[a]\nb = [1,\n2]\n", "[a]\nb = [1, 2] # c\n", False),
        (CRIO, "[a", "[a ", False),
    ],
)
def test_files(path: str, text: str, other: str, is_same: bool) -> None:
    assert equality.says_the_same(path, text, other) is is_same


@pytest.mark.parametrize(
    ("actual", "wanted", "lines"),
    [
        ("a\nb\n", "a\nc\n", ("b", "c")),
        ("# x\na\n", "b\n", ("a", "b")),
        ("a\nb\n", "a\n", ("b", "no further line")),
        ("a\n", "a\nb\n", ("no further line", "b")),
        ("", "a = 1\n", ("no further line", "a=1")),
    ],
)
def test_the_first_lines_that_differ(actual: str, wanted: str, lines: tuple[str, str]) -> None:
    assert equality.first_difference(actual, wanted) == lines


def test_programs_are_those_of_the_operator() -> None:
    assert equality.is_program("/usr/local/bin/x.sh")
    assert not equality.is_program("/usr/bin/x")
