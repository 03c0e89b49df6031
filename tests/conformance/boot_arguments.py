"""Kernel arguments by meaning (`vectors/nto/README.md`, "Comparing rendered manifests", 6)."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.conformance.contents import cpu_list
from tests.conformance.meaning import differences

#: Kernel arguments of which every occurrence counts.
_CUMULATIVE = frozenset({"console", "earlycon", "isolcpus", "module_blacklist"})
_FLAGS = ("domain", "managed_irq", "nohz")


def argument_differences(
    expected: list[str], found: list[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(name, what differs) of two lists of kernel arguments, as the set of values of each name.

    Of a name with several values the last one alone is as good where the last one holds in the
    kernel.
    """
    wanted, given = _arguments(expected), _arguments(found)
    for name in wanted.keys() & given.keys() - _CUMULATIVE:
        if given[name] == wanted[name][-1:]:
            wanted[name] = given[name]
    yield from differences(_sorted(wanted), _sorted(given))


def _sorted(arguments: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(values) for name, values in arguments.items()}


def _arguments(words: list[str]) -> dict[str, list[str]]:
    """Values by name, each value at its last place; counts of huge pages by their size."""
    values_of: dict[str, dict[str, None]] = {}
    size = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name == "hugepagesz":
            size = value
            continue
        if name == "hugepages":
            name = f"hugepages of {size or 'the default size'}"
        text = _argument(name, value) if equals else "(given)"
        values = values_of.setdefault(name, {})
        values.pop(text, None)
        values[text] = None
    return {name: list(values) for name, values in values_of.items()}


def _argument(name: str, value: str) -> str:
    if name == "tuned.non_isolcpus":
        return str(CpuSet.parse_mask(value))
    flags = [flag for flag in _FLAGS if flag in value.split(",")]
    rest = ",".join(item for item in value.split(",") if item not in flags)
    return ",".join([*flags, cpu_list(rest)]) if re.fullmatch(r"[\d,-]+", rest) else value
