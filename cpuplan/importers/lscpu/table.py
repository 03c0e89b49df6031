"""The tables of lscpu(1): `-p`, `-e` and `-J -e`, one row for each CPU.

Column names differ in case only between versions. A cell says `-` or nothing where the kernel does
not tell. Caches are columns of their own in `-p` (`L1d,L1i,L2,L3`) and one column `L1d:L1i:L2:L3`
elsewhere.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import MAX_CPU

#: A cache as columns name it, with its level and kind; what is not a letter of this is unified.
_CACHE = re.compile(r"l([1-9])([di]?)")
_CACHE_TYPES = {"d": "Data", "i": "Instruction", "": "Unified"}
#: Ids of packages are offsets into a firmware table on Arm: they have up to ten digits.
_NUMBER = re.compile(r"[0-9]{1,10}")
_UNKNOWN = frozenset({"", "-", "-1"})
_ONLINE = {
    "y": True,
    "yes": True,
    "true": True,
    "1": True,
    "n": False,
    "no": False,
    "false": False,
    "0": False,
}
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


def from_json(rows: object) -> Table:
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


def from_parsable(text: str) -> Table:
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


def from_extended(text: str) -> Table:
    """The output of `lscpu -e`, with blanks between columns and in models. Raises RowError."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = lines[0].lower().split() if lines else []
    if "cpu" not in header:
        raise RowError(
            "line 1",
            lines[0].strip() if lines else "",
            "there is no header such as `CPU NODE SOCKET CORE`",
        )
    named = header.index("modelname") if "modelname" in header else len(header)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
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
    if online not in _UNKNOWN and online not in _ONLINE:
        raise RowError(place, text, f"{online[:20]!r} is neither yes nor no")
    caches, complete = _caches(place, text, cells)
    model = " ".join(cells.get("modelname", "").split())
    row = Row(
        cpu=cpu,
        online=_ONLINE.get(online),
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
