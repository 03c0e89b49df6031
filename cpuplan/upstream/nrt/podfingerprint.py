"""The fingerprint of the pods on a node (podfingerprint v1).

Exporters publish it, and the scheduler's cache compares it with the pods that it knows of. Pods of
one name and namespace are one to it: it cannot see that a pod was replaced.

Upstream: k8stopologyawareschedwg/podfingerprint podfingerprint.go
  @ 929f98bef311b9dd64a1765b45196cfedbdf7209
"""

from collections.abc import Iterable

_PREFIX, _VERSION = "pfp0", "v001"
_MASK = (1 << 64) - 1
#: The five primes of xxHash64 (the algorithm's description, XXH64, "Constants").
_PRIME1 = 0x9E3779B185EBCA87
_PRIME2 = 0xC2B2AE3D27D4EB4F
_PRIME3 = 0x165667B19E3779F9
_PRIME4 = 0x85EBCA77C2B2AE63
_PRIME5 = 0x27D4EB2F165667C5


def pod_fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The value of the attribute for (namespace, name) of each pod, in whatever order."""
    hashes = sorted(
        xxhash64(name.encode(), xxhash64(namespace.encode())) for namespace, name in pods
    )
    digest = xxhash64(b"".join(value.to_bytes(8, "little") for value in hashes))
    return f"{_PREFIX}{_VERSION}{digest:016x}"


def xxhash64(data: bytes, seed: int = 0) -> int:
    """XXH64 of `data`."""
    if len(data) >= 32:
        value, rest = _stripes(data, seed), data[len(data) // 32 * 32 :]
    else:
        value, rest = seed + _PRIME5, data
    value += len(data)
    while len(rest) >= 8:
        value ^= _round(0, int.from_bytes(rest[:8], "little"))
        value, rest = _rotate(value, 27) * _PRIME1 + _PRIME4, rest[8:]
    if len(rest) >= 4:
        value = value & _MASK ^ int.from_bytes(rest[:4], "little") * _PRIME1 & _MASK
        value, rest = _rotate(value, 23) * _PRIME2 + _PRIME3, rest[4:]
    for byte in rest:
        value = _rotate(value & _MASK ^ byte * _PRIME5 & _MASK, 11) * _PRIME1
    return _avalanche(value & _MASK)


def _stripes(data: bytes, seed: int) -> int:
    """What four lanes make of the whole stripes of 32 bytes."""
    lanes = [seed + _PRIME1 + _PRIME2, seed + _PRIME2, seed, seed - _PRIME1]
    for start in range(0, len(data) // 32 * 32, 8):
        lane = start // 8 % 4
        lanes[lane] = _round(lanes[lane], int.from_bytes(data[start : start + 8], "little"))
    turns = zip(lanes, (1, 7, 12, 18), strict=True)
    value = sum(_rotate(lane, turn) for lane, turn in turns)
    for lane in lanes:
        value = (value & _MASK ^ _round(0, lane)) * _PRIME1 + _PRIME4
    return value


def _round(lane: int, word: int) -> int:
    return _rotate(lane + word * _PRIME2, 31) * _PRIME1 & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 64 - bits) & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME2 & _MASK
    value = (value ^ value >> 29) * _PRIME3 & _MASK
    return value ^ value >> 32
