"""Numbers of thousands of digits, which Python refuses to read: a kubelet has an answer to each."""

import pytest

from cpuplan.upstream.kubelet.cpumanager import state
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.durations import parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.strconv import atoi

LONG = 5000


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("9" * LONG, quantity.parse("9E").nano),
        ("0" * LONG + "7", 7 * 10**9),
        ("0." + "0" * LONG + "1", 1),
        ("1." + "0" * LONG, 10**9),
    ],
)
def test_quantities(text: str, nano: int) -> None:
    assert quantity.parse(text).nano >= nano


@pytest.mark.parametrize("text", ["1e" + "9" * LONG, "9" * LONG + "x"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(KubeletError):
        quantity.parse(text)


def test_durations() -> None:
    assert parse_duration("0" * LONG + "1s") == 10**9
    assert parse_duration("1." + "9" * LONG + "s") == 1_999_999_999
    with pytest.raises(KubeletError, match="time: invalid duration"):
        parse_duration("9" * LONG + "s")


def test_whole_numbers() -> None:
    assert atoi("0" * LONG + "12") == 12
    assert atoi("-9223372036854775808") == -(1 << 63)
    with pytest.raises(KubeletError, match="value out of range"):
        atoi("9" * LONG)


@pytest.mark.parametrize(
    "text",
    [
        "9" * LONG,
        f'{{"checksum": {"9" * LONG}}}',
        '{"checksum": NaN}',
        '{"defaultCpuSet": "' + "9" * LONG + '"}',
    ],
)
def test_state_files(text: str) -> None:
    with pytest.raises(KubeletError):
        state.load(text, "static", Gates())
