"""When two values of a boot argument are one to the kernel."""

import pytest

from cpuplan.components.cmdline import keyed, same
from cpuplan.plan.setting import Value


@pytest.mark.parametrize(
    ("key", "actual", "wanted", "expected"),
    [
        ("default_hugepagesz", "2M", "2048k", True),
        ("default_hugepagesz", "1G", "1024M", True),
        ("default_hugepagesz", "2M", "1G", False),
        ("hugepagesz=1G", True, 1, False),
        ("hugepagesz=1G", 1, 1, True),
        ("nosoftlockup", True, True, True),
        ("skew_tick", "1", "0", False),
    ],
)
def test_same(key: str, actual: Value, wanted: Value, expected: bool) -> None:
    assert same(key, actual, wanted) is expected


def test_a_size_without_a_number_is_not_one_page() -> None:
    number = keyed("quiet hugepagesz=1G")["hugepagesz=1G"]
    assert not same("hugepagesz=1G", number, 1)
