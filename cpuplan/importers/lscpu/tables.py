"""What lscpu(1) prints: tables of CPUs, summaries of a machine, and the caches of both.

Column names differ in case only between versions. A cell says `-` or nothing where the kernel does
not tell. Caches are columns of their own in `-p` (`L1d,L1i,L2,L3`) and one column `L1d:L1i:L2:L3`
elsewhere.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import MAX_CPU, CpuSet, CpuSetError
from cpuplan.importers.base import CacheFacts, cache_order
from cpuplan.importers.lscpu import MACHINE

#: A cache as columns name it, with its level and kind; what is not a letter of this is unified.
_CACHE = re.compile(r"l([1-9])([di]?)")
_CACHE_TYPES = {"d": "Data", "i": "Instruction", "": "Unified"}
#: Ids of packages are offsets into a firmware table on Arm: they have up to ten digits.
_NUMBER = re.compile(r"[0-9]{1,10}")
_UNKNOWN = frozenset({"", "-", "-1"})
#: The column ONLINE, also as lscpu writes it in the languages that util-linux is translated to: of
#: `-p` one letter, else the word.
_YES = re.compile(
    r"y|yes|true|1|[josdtдт]|ja|oui|s[iíì]|sim|да|da|так|tak|[aá]no|jah|bai|kyllä|igen|ya|evet|có"
    r"|jā|taip|はい|예|네|是"
)
_NO = re.compile(
    r"n|no|false|0|н|nein|non|não|нет|ні|не|ne|nie|ne[ij]|nee|e[iz]|nem|tidak|hay\u0131r|nu|không"
    r"|nē|いいえ|아니[요오]|否"
)
_SHOWN = 60
CacheKind = tuple[int, str]


class RowError(Exception):
    """A row that cannot be believed: where it is, what it says, and what is wrong with that."""

    def __init__(self, place: str, text: str, problem: str) -> None:
        super().__init__(f"{place}: {text}: {problem}")
        self.place = place
        self.text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        self.problem = problem


class Row(NamedTuple):
    """One CPU, with the number of its cache of each kind in `caches`; None is unknown."""

    cpu: int
    online: bool | None
    core: int | None
    socket: int | None
    book: int | None
    drawer: int | None
    cluster: int | None
    node: int | None
    model: str | None
    caches: dict[CacheKind, int]


class Table(NamedTuple):
    """The rows in order, the lower-case column names, and the CPUs with an incomplete cache list.

    lscpu leaves a cache out of the list of a CPU that lacks it, and not just blank, so that nobody
    can say which of the others the rest are: such a CPU has no `caches` here.
    """

    columns: frozenset[str]
    rows: tuple[Row, ...]
    incomplete: tuple[int, ...]


def table_from_json(rows: object) -> Table:
    """The value of `cpus` in the output of `lscpu -J -e`. Raises RowError."""
    if not isinstance(rows, list):
        raise RowError("cpus", str(rows), "it is not a list of CPUs")
    cells_of_rows = []
    for index, row in enumerate(rows):
        place = f"cpus[{index}]"
        if not isinstance(row, dict):
            raise RowError(place, str(row), "it is not an object with the columns of a CPU")
        cells_of_rows.append(
            (place, str(row), {name.lower(): _text(place, value) for name, value in row.items()})
        )
    columns = cells_of_rows[0][2].keys() if cells_of_rows else ()
    for place, text, cells in cells_of_rows:
        if cells.keys() != columns:
            raise RowError(place, text, "it has other columns than the first CPU")
    return _table(columns, cells_of_rows)


def _text(place: str, value: object) -> str:
    """A cell as text: old versions print text only, new ones numbers and truth values too."""
    if isinstance(value, list | dict):
        raise RowError(place, str(value), "it is neither a number nor text")
    return "" if value is None else str(value).strip()


def table_from_parsable(text: str) -> Table:
    """The output of `lscpu -p`, whose last comment names the columns. Raises RowError."""
    header: list[str] = []
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            header = [name.strip().lower() for name in line[1:].split(",")]
        elif line.strip():
            lines.append(
                (f"line {number}", line.strip(), [cell.strip() for cell in line.split(",")])
            )
    if "cpu" not in header:
        raise RowError(
            "line 1",
            text.partition("\n")[0].strip(),
            "there is no header such as `# CPU,Core,Socket,Node`",
        )
    return _table(
        header, [(place, line, _cells(place, line, header, cells)) for place, line, cells in lines]
    )


def _cells(place: str, line: str, header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Cells by column, of a row that may lack caches at its end.

    The blank column before the caches is lost in the dict.
    """
    caches = [name for name in header if _CACHE.fullmatch(name)]
    if caches and header[-len(caches) :] == caches:
        first = len(header) - len(caches)
        if first <= len(cells) <= len(header):
            return {
                **dict(zip(header[:first], cells, strict=False)),
                ":".join(caches): ":".join(cells[first:]),
            }
    if len(cells) != len(header):
        raise RowError(
            place, line, f"it has {len(cells)} values, but there are {len(header)} columns"
        )
    return dict(zip(header, cells, strict=True))


def table_from_extended(text: str) -> Table:
    """The output of `lscpu -e`, with blanks between columns and in models. Raises RowError."""
    numbered = enumerate(text.splitlines(), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    header = lines[0][1].lower().split() if lines else []
    if "cpu" not in header:
        raise RowError(
            "line 1",
            lines[0][1].strip() if lines else "",
            "there is no header such as `CPU NODE SOCKET CORE`",
        )
    named = header.index("modelname") if "modelname" in header else len(header)
    rows = []
    for number, line in lines[1:]:
        cells = line.split()
        end = len(cells) - (len(header) - named - 1)
        if named < len(header) and end > named:
            cells[named:end] = [" ".join(cells[named:end])]
        place = f"line {number}"
        if len(cells) != len(header):
            raise RowError(
                place,
                line.strip(),
                f"it has {len(cells)} values, but there are {len(header)} columns",
            )
        rows.append((place, line.strip(), dict(zip(header, cells, strict=True))))
    return _table(header, rows)


def _table(columns: Iterable[str], rows: Iterable[tuple[str, str, dict[str, str]]]) -> Table:
    """The table of rows (place, text, cells), without empty ones: lscpu 2.38 has them on RISC-V."""
    by_cpu: dict[int, Row] = {}
    incomplete = []
    for place, text, cells in rows:
        if not any(cells.values()) or set("".join(cells.values())) <= {":"}:
            continue
        row, complete = _row(place, text, cells)
        if row.cpu in by_cpu:
            raise RowError(place, text, f"it is the second row of CPU {row.cpu}")
        by_cpu[row.cpu] = row
        if not complete:
            incomplete.append(row.cpu)
    return Table(frozenset(columns), tuple(by_cpu.values()), tuple(incomplete))


def _row(place: str, text: str, cells: dict[str, str]) -> tuple[Row, bool]:
    """The row, and whether its list of caches has as many as the header."""

    def number(name: str) -> int | None:
        value = cells.get(name, "")
        if value in _UNKNOWN:
            return None
        if not _NUMBER.fullmatch(value):
            raise RowError(place, text, f"{value[:20]!r} is not a {name} number")
        return int(value)

    cpu = number("cpu")
    if cpu is None:
        raise RowError(place, text, "it does not name its CPU")
    if cpu > MAX_CPU:
        raise RowError(
            place, text, f"CPU {cpu} goes beyond {MAX_CPU}, the highest number that systemd accepts"
        )
    online = cells.get("online", "").lower()
    is_online = _YES.fullmatch(online) is not None
    if online not in _UNKNOWN and not is_online and not _NO.fullmatch(online):
        raise RowError(place, text, f"{online[:20]!r} is neither yes nor no")
    caches, complete = _caches(place, text, cells)
    model = " ".join(cells.get("modelname", "").split())
    row = Row(
        cpu=cpu,
        online=None if online in _UNKNOWN else is_online,
        core=number("core"),
        socket=number("socket"),
        book=number("book"),
        drawer=number("drawer"),
        cluster=number("cluster"),
        node=number("node"),
        model=None if model in _UNKNOWN else model,
        caches=caches,
    )
    return row, complete


def _caches(place: str, text: str, cells: dict[str, str]) -> tuple[dict[CacheKind, int], bool]:
    caches: dict[CacheKind, int] = {}
    for name, value in cells.items():
        kinds = [_CACHE.fullmatch(part) for part in name.split(":")]
        if not all(kinds) or value in _UNKNOWN:
            continue
        numbers = value.split(":")
        if len(numbers) < len(kinds):
            return {}, False
        for kind, number in zip(kinds, numbers, strict=False):
            if number not in _UNKNOWN and kind:
                if not _NUMBER.fullmatch(number) or len(numbers) > len(kinds):
                    raise RowError(place, text, f"{value[:20]!r} are not numbers of {name}")
                caches[int(kind[1]), _CACHE_TYPES[kind[2]]] = int(number)
    return caches, True


_NODE = re.compile(r"NUMA node([0-9]{1,9}) CPU\(s\)")
#: `L3 cache` flat, `L3` nested.
_CACHE_KEY = re.compile(r"L([1-9])([di]?)(?: cache)?")
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


def summary_from_json(fields: object) -> Summary:
    """The value of `lscpu` in the output of `lscpu -J`. Raises RowError."""
    return _summary(_fields(fields, 0))


def summary_from_text(text: str) -> Summary:
    """The output of `lscpu`, nested or not. Raises RowError."""
    # Chinese has a colon of its own
    lines = (line.replace("\uff1a", ":", 1).partition(":") for line in text.splitlines())
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
    _refuse_translated(values)
    masks = any(label.endswith("CPU(s) mask") for label in values)  # of -x, in all fields
    nodes = {
        int(match[1]): _set(label, value, mask=masks)
        for label, value in values.items()
        if (match := _NODE.fullmatch(label))
    }
    caches = {
        (int(match[1]), _TYPES[match[2]]): _cache(value)
        for label, value in values.items()
        if (match := _CACHE_KEY.fullmatch(label))
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


def _refuse_translated(values: dict[str, str]) -> None:
    """Raises RowError for labels in another language; some translations leave a few in English."""
    first = next(iter(values), "")
    strange = [label for label in values if not label.isascii()]
    if re.fullmatch(MACHINE, values.get(first, "")) and first != "Architecture":
        strange.append(first)
    if strange:
        raise RowError("lscpu", strange[0], "it is no label that lscpu has in English")


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


_THREADS = (1, 2, 4, 8)
_MIN_LEVEL = 2  # documents have no first-level caches: they are one core's


def caches_of(
    table: Table,
    rows: Sequence[Row],
    siblings: Sequence[CpuSet],
    summary: Summary | None,
    *,
    tells_ids: bool,
) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU; none where some CPUs' are open.

    A list of CPUs of a cache says that no other CPU shares it.

    lscpu prints the kernel's id of a cache, and numbers that count from 0 if there is none. On x86
    there is one since Linux 4.11 (`tells_ids`); elsewhere only numbers that do not count are ids
    for sure.
    """
    online = CpuSet(row.cpu for row in rows)
    if CpuSet(table.incomplete) & online:
        return ()
    shared = _shared(rows)
    counted = all(list(numbers) == list(range(len(numbers))) for numbers in shared.values())
    tells_ids = tells_ids or not counted
    models = {row.model for row in rows}
    widths = {len(core) for core in siblings}
    alike = len(models) == 1 and len(widths) == 1
    facts = []
    for kind in sorted(shared):
        groups = {number: CpuSet(cpus) for number, cpus in shared[kind].items()}
        size = _size(kind, groups.values(), online, summary) if alike and summary else None
        if kind[0] >= _MIN_LEVEL:
            for number, cpus in groups.items():
                facts.append(CacheFacts(*kind, size, number if tells_ids else None, cpus))
    return tuple(sorted(facts, key=cache_order))


def _shared(rows: Iterable[Row]) -> dict[CacheKind, dict[int, list[int]]]:
    """CPUs by number of each kind of cache, numbers in the order of their CPUs."""
    shared: dict[CacheKind, dict[int, list[int]]] = {}
    for row in rows:
        for kind, number in row.caches.items():
            shared.setdefault(kind, {}).setdefault(number, []).append(row.cpu)
    return shared


def _size(
    kind: CacheKind, groups: Iterable[CpuSet], online: CpuSet, summary: Summary
) -> int | None:
    """The size of each cache of a kind if all have as many CPUs; those of unlike CPUs differ."""
    counts = [len(cpus) for cpus in groups]
    if (
        kind not in summary.caches
        or len(summary.kinds) > 1
        or len(set(counts)) > 1
        or sum(counts) != len(online)
    ):
        return None
    return cache_size(summary.caches[kind], len(counts))


def _close_caches(row: Row) -> set[tuple[CacheKind, int]]:
    """The first- and second-level caches of a CPU."""
    return {(kind, number) for kind, number in row.caches.items() if kind[0] <= _MIN_LEVEL}


def doubtful_cores(
    rows: Sequence[Row], siblings: Iterable[CpuSet], summary: Summary | None, *, repeats: bool
) -> dict[str, list[CpuSet]]:
    """Cores that may be several, by what shows it, or by what is missing to show the contrary.

    `repeats`: numbers of cores start again somewhere on such a machine, for each kind of CPU or in
    each book.
    """
    doubts: dict[str, list[CpuSet]] = {}
    by_cpu = {row.cpu: row for row in rows}
    most = _most_threads(summary)
    for cpus in siblings:
        core = [by_cpu[cpu] for cpu in cpus]
        problem = _doubt(core, most, repeats=repeats) if len(cpus) > 1 else ""
        if problem:
            doubts.setdefault(problem, []).append(cpus)
    return doubts


def _doubt(core: Sequence[Row], most: int | None, *, repeats: bool) -> str:
    """Why the CPUs of a core may be several cores; empty if nothing speaks against them.

    Threads of a core share its caches; AMD's compute units, whose CPUs have data caches of their
    own, share the others.
    """
    caches = [_close_caches(row) for row in core]
    if all(caches) and not set.intersection(*caches):
        return "they have no first- or second-level cache in common"
    if len(core) not in _THREADS:
        return "no core has as many threads"
    if most is not None and len(core) > most:
        return f"by the summary, a core has at most {most} threads"
    is_shown = all(caches) or all(row.model for row in core) or most is not None
    if repeats and not is_shown:
        return "the table has neither their caches nor their models"
    return ""


def _most_threads(summary: Summary | None) -> int | None:
    """The threads of the widest core, where a summary counts them."""
    counts = [kind.threads_per_core for kind in summary.kinds] if summary else []
    return max((count for count in counts if count is not None), default=None)
