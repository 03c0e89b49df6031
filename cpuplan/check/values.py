"""Values as messages show them."""

from typing import Any

MAX_SHOWN = 300  # characters of a value


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
