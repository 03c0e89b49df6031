"""The fingerprint of pods and its hash, with the test values that xxHash publishes."""

import pytest

from cpuplan.upstream.nrt.podfingerprint import pod_fingerprint, xxhash64

SEED = 2654435761


def _sanity_buffer(length: int) -> bytes:
    """The bytes of xxHash's own self test (cli/xsum_sanity_check.c)."""
    generator, data = SEED, bytearray()
    for _ in range(length):
        data.append(generator >> 56)
        generator = generator * 11400714785074694797 % (1 << 64)
    return bytes(data)


@pytest.mark.parametrize(
    ("length", "seed", "digest"),
    [
        (0, 0, 0xEF46DB3751D8E999),
        (0, SEED, 0xAC75FDA2929B17EF),
        (1, 0, 0xE934A84ADB052768),
        (1, SEED, 0x5014607643A9B4C3),
        (4, 0, 0x9136A0DCA57457EE),
        (14, 0, 0x8282DCC4994E35C8),
        (14, SEED, 0xC3BD6BF63DEB6DF0),
        (222, 0, 0xB641AE8CB691C174),
        (222, SEED, 0x20CB8AB7AE10C14A),
    ],
)
def test_xxhash64(length: int, seed: int, digest: int) -> None:
    assert xxhash64(_sanity_buffer(length), seed) == digest


def test_order_does_not_count() -> None:
    pods = [("default", "a"), ("prod", "b")]
    assert pod_fingerprint(pods) == pod_fingerprint(pods[::-1])


def test_bug_a_replaced_pod_is_not_noticed() -> None:
    """Only names count: a pod of a StatefulSet that was replaced leaves the value as it was."""
    assert pod_fingerprint([("default", "a")]) == "pfp0v00173ac1f6debaedf3d"
