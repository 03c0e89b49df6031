"""The summary of lscpu(1), text or `-J`, flat or nested: counts, and the CPUs of NUMA nodes."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.importers.lscpu.table import CacheKind, RowError

_NODE = re.compile(r"NUMA node([0-9]{1,9}) CPU\(s\)")
#: `L3 cache` flat, `L3` nested.
_CACHE = re.compile(r"L([1-9])([di]?)(?: cache)?")
_TYPES = {"d": "Data", "i": "Instruction", "": "Unified"}
#: `11.5 MiB (8 instances)`, `12058624 (8 instances)` with -B, `16384K` up to util-linux 2.33.
_SIZE = re.compile(
    r"([0-9]{1,15})(?:\.([0-9]))? ?([KMGT]?)(?:i?B)?(?: \(([0-9]{1,6}) instances?\))?"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_COUNT = re.compile(r"[0-9]{1,6}")
#: util-linux 2.43 writes every second CPU as `0-110:2`; the kernel reads this as `0-110:1/2`.
_STEP = re.compile(r":([0-9]+)(?=,|\Z)")
_MASK = re.compile(r"(?:0x)?([0-9a-fA-F]{1,4096})")
_SPAN = 64 * 1024
_MAX_DEPTH = 16


class Kind(NamedTuple):
    """The CPUs of one kind; None is unknown. `sockets` counts over all books and drawers."""

    model: str | None
    model_number: str
    threads_per_core: int | None
    cores_per_socket: int | None
    sockets: int | None


class CacheTotal(NamedTuple):
    """All caches of a kind: total size in bytes (None if it is rounded), and their number.

    `instances` is None in the output of old versions, which give the size of one.
    """

    size: int | None
    instances: int | None


class Summary(NamedTuple):
    """A summary. `kinds` has an entry for each CPU kind, `numa_nodes` also those without CPUs."""

    architecture: str | None
    vendor: str | None
    online: CpuSet
    offline: CpuSet
    kinds: tuple[Kind, ...]
    numa_nodes: dict[int, CpuSet]
    tells_numa: bool
    caches: dict[CacheKind, CacheTotal]


def from_json(fields: object) -> Summary:
    """The value of `lscpu` in the output of `lscpu -J`. Raises RowError."""
    return _summary(_fields(fields, 0))


def from_text(text: str) -> Summary:
    """The output of `lscpu`, nested or not. Raises RowError."""
    lines = (line.partition(":") for line in text.splitlines())
    return _summary((label.strip(), value.strip()) for label, colon, value in lines if colon)


def _fields(fields: object, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(fields, list) or depth > _MAX_DEPTH:
        raise RowError("lscpu", str(fields)[:100], "it is not a list of fields")
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str):
            raise RowError("lscpu", str(field)[:100], "it is not an object with `field` and `data`")
        value = field.get("data")
        yield field["field"].strip().removesuffix(":"), "" if value is None else str(value).strip()
        if "children" in field:
            yield from _fields(field["children"], depth + 1)


def _summary(fields: Iterable[tuple[str, str]]) -> Summary:
    """Later fields of one name belong to another CPU kind; of all others the first one counts."""
    values: dict[str, str] = {}
    blocks: list[dict[str, str]] = [{}]
    for label, value in fields:
        if label == "Model name" and label in blocks[-1]:
            blocks.append({})
        blocks[-1].setdefault(label, value)
        values.setdefault(label, value)
    masks = any(label.endswith("CPU(s) mask") for label in values)  # of -x, in all fields
    nodes = {
        int(match[1]): _set(label, value, mask=masks)
        for label, value in values.items()
        if (match := _NODE.fullmatch(label))
    }
    caches = {
        (int(match[1]), _TYPES[match[2]]): _cache(value)
        for label, value in values.items()
        if (match := _CACHE.fullmatch(label))
    }
    vendor = values.get("Vendor ID")
    return Summary(
        architecture=values.get("Architecture") or None,
        vendor=vendor if vendor not in ("", "-") else None,
        online=_listed(values, "On-line", mask=masks),
        offline=_listed(values, "Off-line", mask=masks),
        kinds=tuple(_kind(block, values) for block in blocks),
        numa_nodes=dict(sorted(nodes.items())),
        tells_numa="NUMA node(s)" in values or bool(nodes),
        caches={kind: total for kind, total in caches.items() if total is not None},
    )


def _listed(values: dict[str, str], state: str, *, mask: bool) -> CpuSet:
    label = f"{state} CPU(s) {'mask' if mask else 'list'}"
    return _set(label, values.get(label, ""), mask=mask)


def _set(label: str, text: str, *, mask: bool) -> CpuSet:
    """A list, or the mask that -x prints instead."""
    try:
        if mask and (match := _MASK.fullmatch(text)):
            text = str(CpuSet.parse_mask(match[1]))
        # which refuses CPUs beyond the highest
        return CpuSet.parse_kernel(_STEP.sub(r":1/\1", text))
    except CpuSetError as error:
        raise RowError(label, text, f"{error.item!r} {error.problem}") from None


def _kind(block: dict[str, str], values: dict[str, str]) -> Kind:
    """On s390, sockets are counted by book and books by drawer."""
    sockets = _count(block.get("Socket(s)"))
    if sockets is None and (per_book := _count(block.get("Socket(s) per book"))):
        books = _count(values.get("Book(s)"))
        if books is None:
            books = (_count(values.get("Book(s) per drawer")) or 1) * (
                _count(values.get("Drawer(s)")) or 1
            )
        sockets = per_book * books
    name = " ".join(block.get("Model name", "").split())
    return Kind(
        model=name if name not in ("", "-") else None,
        model_number=block.get("Model", ""),
        threads_per_core=_count(block.get("Thread(s) per core")),
        cores_per_socket=_count(block.get("Core(s) per socket")),
        sockets=sockets,
    )


def _count(text: str | None) -> int | None:
    """A count; lscpu says 0 or `-` if the kernel does not report it."""
    return (int(text) or None) if text and _COUNT.fullmatch(text) else None


def _cache(text: str) -> CacheTotal | None:
    """The size and number of caches; None without a size.

    One decimal is kept of sizes: `2.3 MiB` may be 2.25, so it is not a size to rely on.
    """
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    tenths = int(match[1]) * 10 + int(match[2] or 0)
    size, rest = divmod(tenths * 1024 ** _POWERS[match[3]], 10)
    return CacheTotal(None if rest or size % 1024 else size, int(match[4]) if match[4] else None)


def cache_size(total: CacheTotal, count: int) -> int | None:
    """Bytes of one of `count` equal caches; None if that is not a multiple of 64 KiB."""
    if total.size is None or total.instances not in (count, None):
        return None
    size = total.size if total.instances is None else total.size // count
    exact = total.instances is None or size * count == total.size
    return size if exact and size and size % _SPAN == 0 else None
