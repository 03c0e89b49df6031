"""Sets of CPUs, printed and read in the forms of Linux and Kubernetes."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from cpuplan.base.patterns import expression

#: The highest CPU number of systemd, the strictest reader of CPU lists (252, CPU_AFFINITY).
MAX_CPU = 8191

# Not \d, which matches the digits of all scripts, and no more digits than a CPU number has.
_NUMBER = "([0-9]{1,18})"
_ITEM = expression(f"{_NUMBER}(?:-{_NUMBER})?")
_SIGNED = expression(r"\+?[0-9]+(-\+?[0-9]+)?")
_KERNEL_ITEM = expression(f"{_NUMBER}(?:-{_NUMBER}(?::{_NUMBER}/{_NUMBER})?)?")


class CpuSetError(ValueError):
    """An invalid CPU list; `item` is the part that is wrong, `problem` the reason."""

    def __init__(self, item: str, problem: str) -> None:
        super().__init__(f"{item!r} {problem}")
        self.item = item
        self.problem = problem


class CpuSet:
    """An immutable set of CPU numbers, kept as the bits of one integer."""

    __slots__ = ("bits",)
    bits: int

    def __init__(self, cpus: Iterable[int] = ()) -> None:
        bits = 0
        for cpu in cpus:
            bits |= 1 << cpu
        object.__setattr__(self, "bits", bits)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a CpuSet does not change")

    def __reduce__(self) -> "tuple[Callable[..., CpuSet], tuple[object]]":
        return of_bits, (self.bits,)

    @classmethod
    def from_bits(cls, bits: int) -> "CpuSet":
        """The set whose members are the one bits of `bits`."""
        cpus = cls.__new__(cls)
        object.__setattr__(cpus, "bits", bits)
        return cpus

    @classmethod
    def parse(cls, text: str) -> "CpuSet":
        """Read the list form that the kernel, systemd, the kubelet and CRI-O accept: `0-3,8`.

        Raises CpuSetError for anything else, including a CPU that is listed twice: that is always
        a mistake.
        """
        if not text:
            return EMPTY
        bits = 0
        for item in text.split(","):
            match = _ITEM.fullmatch(item)
            if not match:
                raise CpuSetError(item, _syntax_problem(item))
            first = int(match[1])
            last = int(match[2]) if match[2] else first
            chunk = _range_bits(item, first, last)
            if bits & chunk:
                raise CpuSetError(item, f"names CPU {cls.from_bits(bits & chunk)} a second time")
            bits |= chunk
        return cls.from_bits(bits)

    @classmethod
    def parse_kubelet(cls, text: str) -> "CpuSet":
        """Read a list as the kubelet (k8s.io/utils/cpuset, Parse): any order, repeats, leading 0s.

        Raises CpuSetError for anything else.
        """
        bits = 0
        for item in text.split(",") if text else ():
            # Go's Atoi accepts a plus sign. A minus sign always separates the ends of a range.
            match = _ITEM.fullmatch(item.replace("+", "") if _SIGNED.fullmatch(item) else item)
            if not match:
                raise CpuSetError(item, _syntax_problem(item))
            bits |= _range_bits(item, int(match[1]), int(match[2] or match[1]))
        return cls.from_bits(bits)

    @classmethod
    def parse_kernel(cls, text: str) -> "CpuSet":
        """Read a kernel list (bitmap_parselist): blanks, `(null)`, repeated CPUs, `0-64:2/4`."""
        bits = 0
        for item in text.replace("\n", ",").replace(" ", ",").replace("\0", "").split(","):
            if not item or item == "(null)":
                continue
            match = _KERNEL_ITEM.fullmatch(item)
            if not match:
                raise CpuSetError(item, "is not a CPU number or range")
            first = int(match[1])
            last = int(match[2]) if match[2] else first
            chunk = _range_bits(item, first, last)
            if match[4]:
                used, group = int(match[3]), int(match[4])
                if not 0 < used <= group:
                    raise CpuSetError(item, "uses more CPUs than its group has")
                chunk &= _stride_bits(first, last, used, group)
            bits |= chunk
        return cls.from_bits(bits)

    @classmethod
    def parse_mask(cls, text: str) -> "CpuSet":
        """Read a kernel mask: hexadecimal words of 32 bits, highest first, `00000000,000000ff`."""
        digits = text.strip().replace("\0", "")
        if not re.fullmatch(r"[0-9a-fA-F]+(,[0-9a-fA-F]{8})*", digits):
            raise CpuSetError(digits, "is not a mask of hexadecimal words")
        bits = int(digits.replace(",", ""), 16)
        if bits.bit_length() > MAX_CPU + 1:
            raise CpuSetError(
                digits, f"goes beyond CPU {MAX_CPU}, the highest number that systemd accepts"
            )
        return cls.from_bits(bits)

    def mask(self, cpus: int = 0) -> str:
        """The kernel's mask form, wide enough for CPUs 0 to `cpus` - 1."""
        words = max(1, -(-max(self.bits.bit_length(), cpus) // 32))
        return ",".join(
            f"{self.bits >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(words))
        )

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The runs of neighbouring CPUs as (first, last), ascending."""
        bits, base = self.bits, 0
        while bits:
            gap = (bits & -bits).bit_length() - 1
            bits >>= gap
            run = (~bits & (bits + 1)).bit_length() - 1
            yield base + gap, base + gap + run - 1
            bits >>= run
            base += gap + run

    def short_mask(self) -> str:
        """The mask without leading zeros, as irqbalance reads it: `c`, `4,00000000`."""
        return self.mask().lstrip("0,") or "0"

    def kernel_list(self) -> str:
        """The shortest kernel list: strided ranges (`0-110:1/2`) for three or more equal steps."""
        return ",".join(_strided(list(self.ranges())))

    def expanded(self) -> str:
        """Every CPU separately, `0,1,2`: the form of systemd.cpu_affinity= and OFFLINE_CPUS."""
        return ",".join(map(str, self))

    @property
    def first(self) -> int:
        """The lowest CPU; ValueError for the empty set."""
        if not self.bits:
            raise ValueError("the empty set has no first CPU")
        return (self.bits & -self.bits).bit_length() - 1

    @property
    def last(self) -> int:
        """The highest CPU; -1 for the empty set."""
        return self.bits.bit_length() - 1

    def isdisjoint(self, other: "CpuSet") -> bool:
        return not self.bits & other.bits

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return bool(self.bits)

    def __contains__(self, cpu: object) -> bool:
        return isinstance(cpu, int) and cpu >= 0 and bool(self.bits >> cpu & 1)

    def __or__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self.bits | other.bits)

    def __and__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self.bits & other.bits)

    def __sub__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self.bits & ~other.bits)

    def __le__(self, other: "CpuSet") -> bool:
        return not self.bits & ~other.bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuSet) and self.bits == other.bits

    def __hash__(self) -> int:
        # Python's hash of 2**n is that of 2**(n + 61): of 8,192 cores, each 134 would share one.
        return hash((self.bits, self.bits.bit_length()))

    def __str__(self) -> str:
        return _text(self.bits)

    def __repr__(self) -> str:
        return f"CpuSet.parse({str(self)!r})"


class WrittenCpuSet(CpuSet):
    """A set that prints the list by which somebody wrote it.

    Programs copy such lists into files of nodes, where another text of the same set is a change.
    """

    __slots__ = ("text",)
    text: str

    def __reduce__(self) -> "tuple[Callable[..., CpuSet], tuple[object]]":
        return as_written, (self.text,)

    def __str__(self) -> str:
        return self.text


def as_written(text: str) -> CpuSet:
    """Read a list as `CpuSet.parse` does; the set prints it as it is. Raises CpuSetError."""
    cpus = CpuSet.parse(text)
    if str(cpus) == text:
        return cpus
    written = WrittenCpuSet.from_bits(cpus.bits)
    object.__setattr__(written, "text", text)
    return written


@lru_cache(maxsize=1 << 12)
def _text(bits: int) -> str:
    """A list; the same sets are printed in many files and messages."""
    ranges = CpuSet.from_bits(bits).ranges()
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in ranges)


def of_bits(bits: int) -> CpuSet:
    """The same as `CpuSet.from_bits`, by a name of the module."""
    return CpuSet.from_bits(bits)


EMPTY = CpuSet()


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """All CPUs of all the sets."""
    bits = 0
    for cpus in sets:
        bits |= cpus.bits
    return CpuSet.from_bits(bits)


def _range_bits(item: str, first: int, last: int) -> int:
    if last < first:
        raise CpuSetError(item, "runs backwards")
    if last > MAX_CPU:
        raise CpuSetError(
            item, f"goes beyond CPU {MAX_CPU}, the highest number that systemd accepts"
        )
    return (1 << last + 1) - (1 << first)


def _stride_bits(first: int, last: int, used: int, group: int) -> int:
    bits = 0
    for start in range(first, last + 1, group):
        bits |= (1 << min(start + used, last + 1)) - (1 << start)
    return bits


def cpus_text(cpus: CpuSet) -> str:
    """`CPU 3`, `CPUs 0-3`, `no CPU`: a set in a sentence."""
    return f"CPU{'s' if len(cpus) > 1 else ''} {cpus}" if cpus else "no CPU"


def _syntax_problem(item: str) -> str:
    if not item:
        return "is empty: there is one comma too many"
    if item != item.strip() or " " in item:
        return "has a space, which the kubelet refuses"
    if ":" in item:
        return "is a stride, which only the kernel reads: list the CPUs"
    if item.startswith("^"):
        return "excludes CPUs, which only taskset reads: list the CPUs to use"
    return "is not a CPU number or range"


def _strided(ranges: list[tuple[int, int]]) -> Iterator[str]:
    """Join three or more runs of one length at one distance into `first-last:used/group`."""
    index = 0
    while index < len(ranges):
        first, last = ranges[index]
        used, end = last - first + 1, index + 1
        if end < len(ranges):
            group = ranges[end][0] - first
            step = group
            while end < len(ranges) and ranges[end] == (first + step, last + step):
                step += group
                end += 1
        if end - index >= 3:
            yield f"{first}-{ranges[end - 1][1]}:{used}/{group}"
            index = end
        else:
            yield f"{first}-{last}" if last > first else f"{first}"
            index += 1
