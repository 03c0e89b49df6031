"""Quantities of memory."""

import pytest

from cpuplan.base.text import quantity_bytes, quantity_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1k", 1000),
        ("1Ki", 1024),
        ("500Mi", 500 << 20),
        ("3G", 3 * 10**9),
        ("1.5Gi", 3 << 29),
        ("0.3k", 300),
        ("2Ti", 2 << 40),
        ("1Ei", 1 << 60),
        ("1E", 10**18),
        ("1E3", 1000),
        ("1.5e+9", 1_500_000_000),
        ("15e-1", 2),
        ("1500m", 2),
    ],
)
def test_to_bytes(text: str, size: int) -> None:
    assert quantity_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "Mi", "1.Gi", "1e", "1e100", "1 Gi", "-1", "1GiB", "1g", "1Gi\n"]
)
def test_to_bytes_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid quantity"):
        quantity_bytes(text)


@pytest.mark.parametrize("text", ["0", "1", "1000", "1Ki", "1023Ki", "97607836Ki", "16Gi", "1Ti"])
def test_to_text_says_it_back(text: str) -> None:
    assert quantity_text(quantity_bytes(text)) == text
