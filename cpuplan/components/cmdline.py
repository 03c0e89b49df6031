"""The syntax of kernel command lines: words, quotes, lists (kernel: lib/cmdline.c, kernel/params.c)."""

from collections.abc import Iterable, Iterator

from cpuplan.components.setting import Value
from cpuplan.cpuset import CpuSet, CpuSetError

#: Arguments whose value is a CPU list or mask.
CPU_LISTS = frozenset(
    {"rcu_nocbs", "nohz_full", "irqaffinity", "isolcpus", "systemd.cpu_affinity", "tuned.non_isolcpus"}
)
#: Arguments that take turns: a size, and then what holds for pages of that size.
_HUGE_SIZE, _HUGE_COUNT = "hugepagesz", "hugepages"
_ISOLCPUS_FLAGS = ("domain", "managed_irq", "nohz")


def split(text: str) -> Iterator[tuple[str, str | None]]:
    """Names and values in the kernel's own reading (next_arg): quotes keep blanks, `--` ends the kernel's part.

    The value of an argument without `=` is None.
    """
    word, quoted = "", False
    for character in text + " ":
        if character.isspace() and not quoted:
            if word == "--":
                return
            if word:
                yield _pair(word)
            word = ""
            continue
        quoted ^= character == '"'
        word += character
    if word:
        yield _pair(word.removesuffix(" "))


def _pair(word: str) -> tuple[str, str | None]:
    if word.startswith('"'):
        word = word[1:].removesuffix('"')
    equals = word.find("=", 1)
    if equals < 0:
        return word, None
    value = word[equals + 1 :]
    if value.startswith('"'):
        value = value[1:].removesuffix('"')
    return word[:equals], value


def quote(word: str) -> str:
    """A word as it stands in a command line: quotes around a value with blanks."""
    if not any(character.isspace() for character in word):
        return word
    name, equals, value = word.partition("=")
    return f'{name}="{value}"' if equals else f'"{word}"'


def canonical(key: str) -> str:
    """The key as the kernel compares names: `-` and `_` are one (parameq). Only the name, not a value in the key."""
    name, equals, rest = key.partition("=")
    return name.replace("-", "_") + equals + rest


def keyed(pairs: Iterable[tuple[str, str | None]]) -> dict[str, Value]:
    """Values by argument name, in order; of a repeated argument the last value, as most of the kernel's readers do.

    Earlier, other values of it (`console=` may come often) are keys of their own, `console=tty0`: True. A page count
    belongs to the size before it: `hugepagesz=2M`: 64.
    """
    found = list(_described(pairs))
    last = {key: index for index, (key, _) in enumerate(found)}
    result: dict[str, Value] = {}
    for index, (key, value) in enumerate(found):
        if last[key] == index:
            result[key] = value
        elif value != found[last[key]][1] and not key.startswith(f"{_HUGE_SIZE}="):
            result[words(key, value)[0]] = True
    return result


def _described(pairs: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, Value]]:
    size: str | None = None
    for name, raw in pairs:
        key = canonical(name) if canonical(name) in CPU_LISTS else name
        if size is not None:
            if key == _HUGE_COUNT:
                yield f"{_HUGE_SIZE}={size}", _count(raw)
                size = None
                continue
            yield f"{_HUGE_SIZE}={size}", True
            size = None
        if key == _HUGE_SIZE and raw is not None:
            size = raw
        else:
            yield key, _value(key, raw)
    if size is not None:
        yield f"{_HUGE_SIZE}={size}", True


def _count(raw: str | None) -> Value:
    return int(raw) if raw is not None and raw.isdecimal() else raw or ""


def _value(key: str, raw: str | None) -> Value:
    if raw is None:
        return True
    if key not in CPU_LISTS:
        return raw
    try:
        if key == "isolcpus":
            return _isolcpus(raw)
        return CpuSet.parse_mask(raw) if key == "tuned.non_isolcpus" else CpuSet.parse_kernel(raw)
    except CpuSetError:
        return raw


def _isolcpus(raw: str) -> Value:
    """Flags in one order, then the list; a list without flags is `domain` (kernel/sched/isolation.c)."""
    items = raw.split(",")
    flags: set[str] = set()
    while items and items[0] in _ISOLCPUS_FLAGS:
        flags.add(items.pop(0))
    return (*(flag for flag in _ISOLCPUS_FLAGS if flag in (flags or {"domain"})), CpuSet.parse_kernel(",".join(items)))


def words(key: str, value: Value) -> list[str]:
    """The words that say `value`; the opposite of `keyed`."""
    if value is True:
        return [key]
    if key.startswith(f"{_HUGE_SIZE}="):
        return [key, f"{_HUGE_COUNT}={value}"]
    if isinstance(value, CpuSet):
        forms = {"tuned.non_isolcpus": CpuSet.mask, "systemd.cpu_affinity": CpuSet.expanded}
        return [f"{key}={forms.get(key, str)(value)}"]
    if isinstance(value, tuple):
        return [f"{key}={','.join(map(str, value))}"]
    return [f"{key}={value}"]
