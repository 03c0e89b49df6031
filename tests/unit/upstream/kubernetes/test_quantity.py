"""Kubernetes quantities as the kubelet reads and prints them."""

import pytest

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError


@pytest.mark.parametrize(
    ("text", "printed", "milli"),
    [
        ("2", "2", 2000),
        ("2000m", "2", 2000),
        ("2.000", "2", 2000),
        ("1.5Gi", "1536Mi", 1536 * 1024**2 * 1000),
        ("1e9", "1e9", 10**12),
        ("1e1", "10", 10_000),
        ("1000001u", "1000001u", 1001),
        ("1.0000000001", "1000000001n", 1001),
        ("2Ki", "2Ki", 2048_000),
        ("1Ki", "1Ki", 1024_000),
        ("0.5Ki", "512", 512_000),
        ("0", "0", 0),
        ("128M", "128M", 128 * 10**9),
    ],
)
def test_quantities(text: str, printed: str, milli: int) -> None:
    parsed = quantity.parse(text)
    assert (str(parsed), parsed.milli) == (printed, milli)


@pytest.mark.parametrize("text", ["", "m", "1.5.2", "1 Gi", "two", "1Zi"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(KubeletError):
        quantity.parse(text)
