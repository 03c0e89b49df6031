"""Lists of CPUs that Go reads and cpuplan does not: which they are."""

import pytest

from cpuplan.profiles import model


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("0-3,5", True),
        ("9000", True),
        ("3-1", False),
        ("3-3", True),
        (str(2**63 - 1), True),
        (str(2**63), False),
        (f"0-{2**63 - 1}", True),
        (f"0-{2**63}", False),
        ("", False),
        ("a", False),
        ("1,", False),
    ],
)
def test_numbers_of_64_bits(text: str, is_list: bool) -> None:
    assert model._is_list_in_go(text) is is_list
