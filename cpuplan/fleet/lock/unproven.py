"""What is not proven of a locked layout, as an entry of the lock has it."""

from typing import Any

from cpuplan.diagnostics.source import Data
from cpuplan.plan import Limited, Unproven

_TYPES = {"goal": str, "set": str, "part": str, "found": int, "bound": int}
_DEFAULTS = Unproven._field_defaults


def to_data(limited: Limited) -> dict[str, object]:
    """The limit, and the goals with what is known of them."""
    goals = []
    for goal in limited.goals:
        values = goal._asdict().items()
        goals.append({key: value for key, value in values if value != _DEFAULTS.get(key)})
    seconds = limited.seconds
    # The reader takes a whole number for one only without a point.
    return {"seconds": int(seconds) if seconds == int(seconds) else seconds, "goals": goals}


def from_data(data: Data) -> Limited | None:
    """The same again; None for what has another form."""
    if not isinstance(data, dict) or data.keys() != {"seconds", "goals"}:
        return None
    seconds, written = data["seconds"], data["goals"]
    if not (isinstance(seconds, int | float) and isinstance(written, list) and written):
        return None
    goals = [_goal(goal) for goal in written]
    known = tuple(goal for goal in goals if goal)
    return Limited(seconds, known) if len(known) == len(goals) else None


def _goal(data: Data) -> Unproven | None:
    if not isinstance(data, dict) or "goal" not in data or not data.keys() <= _TYPES.keys():
        return None
    if not all(isinstance(value, _TYPES[key]) for key, value in data.items()):
        return None
    values: dict[str, Any] = {**data}
    return Unproven(**values)
