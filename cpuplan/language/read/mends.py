"""What a value that is wrong was perhaps meant to be: only proposed where the field takes it."""

import re
from collections.abc import Callable
from typing import Any

from cpuplan.base.cpuset import CpuSet, CpuSetError, union


def _unit(match: re.Match[str]) -> str:
    """`gb` as G, `MIB` as Mi, `kb` as k."""
    letter = match[1].upper()
    return f"{letter}i" if match[2] else letter.replace("K", "k")


#: Changes that keep what a text says whatever it is for.
_HARMLESS: tuple[Callable[[str], str], ...] = (
    str.strip,
    lambda text: text.strip("'\"").strip(),
    lambda text: re.sub(r"\s*=\s*", "=", text.strip()),  # audit = 0
)
#: Changes of a text, made one by one and in twos until the field takes the result.
_CHANGES: tuple[Callable[[str], str], ...] = (
    *_HARMLESS,
    str.lower,
    lambda text: re.sub(r"^[vV](?=[0-9])", "", text),  # v1.33
    lambda text: ".".join(text.split(".")[:2]),  # 1.33.4
    lambda text: re.sub(r"(?i)(?<=[0-9])\s*([kmgtpe])(i?)b?\Z", _unit, text),  # 16 GB
    lambda text: re.sub(r"(?<=[kKMG])i\Z", "", text),  # 2Mi
    lambda text: f"{text}s",  # 5
    lambda text: f"0x{text}",  # 8086
    lambda text: f"0000:{text}",  # 17:00.0
    lambda text: f"https://{text}",  # git.example.com/cpus
    lambda text: re.sub(r"\s*([,-])\s*|\s+", lambda match: match[1] or ",", text.strip()),  # 0-3, 8
    lambda text: text.rstrip("/").rpartition("/")[2],  # ../x
    lambda text: re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-"),  # my_cluster
)


def of_text(value: str, pattern: str) -> str | None:
    """The value with as few changes as make it fit the pattern; None if nothing helps."""
    if not value.strip():
        return None
    fits = _fits(pattern)
    # what takes nearly any word says nothing of what was meant
    changes = _HARMLESS if fits("A9.z") else _CHANGES
    texts = {value: None}
    for _ in range(2):
        texts |= dict.fromkeys(change(text) for text in texts for change in changes)
        if mended := next((text for text in texts if text and text != value and fits(text)), None):
            return mended
    return None


def words(value: str, pattern: str) -> list[str]:
    """The words of a text that has several, if each of them would fit the pattern by itself."""
    words_of_text = re.sub(r"\s*=\s*", "=", value).split()
    return (
        words_of_text if len(words_of_text) > 1 and all(map(_fits(pattern), words_of_text)) else []
    )


def _fits(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern.removesuffix("$") + r"\Z").match


def cpu_list(value: Any) -> str | None:
    """The text for a list of numbers and ranges: `[4, 5]` is 4-5."""
    items = value if isinstance(value, list | tuple) else ()
    if not items or any(
        isinstance(item, bool) or not isinstance(item, int | str) for item in items
    ):
        return None
    try:
        return str(union(CpuSet.parse_kernel(str(item).replace(" ", "")) for item in items))
    except CpuSetError:
        return None
