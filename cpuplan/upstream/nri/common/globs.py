"""Shell patterns as Go matches them (path/filepath, Match)."""

import re
from functools import cache


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches; a malformed pattern matches nothing."""
    compiled = compiled_pattern(pattern)
    return compiled is not None and compiled.fullmatch(text) is not None


@cache
def compiled_pattern(pattern: str) -> re.Pattern[str] | None:
    """The pattern, or None if it is malformed."""
    parts, rest = [], pattern
    while rest:
        char, rest = rest[0], rest[1:]
        if char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[":
            group = _group(rest)
            if group is None:
                return None
            part, rest = group
            parts.append(part)
        elif char == "\\":
            if not rest:
                return None
            parts.append(re.escape(rest[0]))
            rest = rest[1:]
        else:
            parts.append(re.escape(char))
    return re.compile("".join(parts), re.DOTALL)


def _group(rest: str) -> tuple[str, str] | None:
    """(a character class, what follows it); None if it is malformed."""
    negated = rest.startswith("^")
    rest = rest.removeprefix("^")
    ranges: list[str] = []
    while not (ranges and rest.startswith("]")):
        low = _character(rest)
        if low is None:
            return None
        first, rest = low
        last = first
        if rest.startswith("-"):
            high = _character(rest[1:])
            if high is None:
                return None
            last, rest = high
        if first <= last:
            ranges.append(f"{re.escape(first)}-{re.escape(last)}")
        else:
            ranges.append("")
    inside = "".join(ranges)
    if not inside:
        return ("." if negated else r"(?!)"), rest[1:]
    return f"[{'^' * negated}{inside}]", rest[1:]


def _character(rest: str) -> tuple[str, str] | None:
    """(a character of a class, what follows it); None where there is none."""
    if not rest or rest[0] in "-]":
        return None
    if rest[0] == "\\":
        rest = rest[1:]
    return (rest[0], rest[1:]) if len(rest) > 1 else None
