"""One kind of setting that no intent asks for."""

from enum import Enum
from typing import NamedTuple

from cpuplan.platforms import Platform


class Where(Enum):
    """Platforms, by whether the defaults of the node tuning operator are set on them."""

    EVERYWHERE = (True, False)
    WITH_OPERATOR = (True,)
    WITHOUT_OPERATOR = (False,)

    def includes(self, platform: Platform) -> bool:
        return platform.has_operator_defaults in self.value


class Default(NamedTuple):
    """Settings by `component key` (`*` is any text), the platforms where they are set, and why.

    An intent switches them off by the field `off_by`, and on by `on_by` where they are not set;
    without these fields, `defaults` switches them by `name`. `possible` are the platforms that can
    have them. Those of `real_time` are set for real-time workloads on all of these. `shown` has the
    settings with their values, for people.
    """

    name: str
    settings: tuple[str, ...]
    on: Where
    reason: str
    off_by: str = ""
    on_by: str = ""
    possible: Where = Where.EVERYWHERE
    real_time: bool = False
    shown: tuple[str, ...] = ()

    def is_off_but_possible(self, platform: Platform) -> bool:
        """Whether an intent can switch it on, because the platform does not have it by default."""
        return self.possible.includes(platform) and not self.on.includes(platform)


def everywhere(name: str, settings: str, reason: str, off: str = "") -> Default:
    """A default of all platforms."""
    return _row(name, settings, Where.EVERYWHERE, reason, off, "")


def with_operator(name: str, settings: str, reason: str, off: str = "", on: str = "") -> Default:
    """A default of platforms with the node tuning operator; others can have it by `on`."""
    return _row(name, settings, Where.WITH_OPERATOR, reason, off, on)


def without_operator(name: str, settings: str, reason: str, off: str = "", on: str = "") -> Default:
    """A default of platforms without the node tuning operator; others can have it by `on`."""
    row = _row(name, settings, Where.WITHOUT_OPERATOR, reason, off, on)
    return row if on else row._replace(possible=Where.WITHOUT_OPERATOR)


def operator_only(name: str, settings: str, reason: str) -> Default:
    """A default that only platforms with the node tuning operator can have."""
    return with_operator(name, settings, reason)._replace(possible=Where.WITH_OPERATOR)


def for_latency(name: str, settings: str, reason: str) -> Default:
    """A default with the node tuning operator, and for real-time workloads everywhere."""
    return with_operator(name, settings, reason)._replace(real_time=True)


def _row(name: str, settings: str, on: Where, reason: str, off_by: str, on_by: str) -> Default:
    """Settings are divided by semicolons, and may have values: `kernel skew_tick = 1; ...`."""
    shown = tuple(settings.split("; "))
    keys = tuple(setting.partition(" = ")[0] for setting in shown)
    possible = on if off_by and not on_by else Where.EVERYWHERE
    return Default(name, keys, on, reason, off_by, on_by, possible, shown=shown)
