"""One kind of setting that nobody asked for."""

from enum import Enum
from typing import NamedTuple

from cpuplan.platforms import Platform


class Where(Enum):
    """Platforms, by whether the defaults of the node tuning operator are set on them."""

    EVERYWHERE = (True, False)
    WITH_OPERATOR = (True,)
    WITHOUT_OPERATOR = (False,)

    def includes(self, platform: Platform) -> bool:
        """Whether this is said of `platform`."""
        return platform.has_operator_defaults in self.value


class Default(NamedTuple):
    """Settings by `component key` (`*` is any text), the platforms where they are set, and why.

    With `otherwise`, a field of the intent says no, and where they are not set, `wish` says yes;
    without, `defaults` switches them by `name`. `possible` is where they can be at all. Those of
    `real_time` are set wherever workloads are real-time, too. `shown` has the settings with their
    values, for people.
    """

    name: str
    settings: tuple[str, ...]
    on: Where
    reason: str
    otherwise: str = ""
    wish: str = ""
    possible: Where = Where.EVERYWHERE
    real_time: bool = False
    shown: tuple[str, ...] = ()

    def is_off_but_possible(self, platform: Platform) -> bool:
        """Whether an intent can switch it on, because the platform does not have it by default."""
        return self.possible.includes(platform) and not self.on.includes(platform)


def row(
    name: str, settings: str, on: Where, reason: str, otherwise: str = "", wish: str = ""
) -> Default:
    """A default; `settings` are divided by semicolons, and may have their values: `kernel skew_tick
    = 1; ...`.
    """
    possible = on if otherwise and not wish else Where.EVERYWHERE
    return Default(
        name,
        _keys(settings),
        on,
        reason,
        otherwise,
        wish,
        possible,
        shown=tuple(settings.split("; ")),
    )


def operators(name: str, settings: str, reason: str) -> Default:
    """What only a platform with the node tuning operator can have."""
    only = Where.WITH_OPERATOR
    return row(name, settings, only, reason)._replace(possible=only)


def for_latency(name: str, settings: str, reason: str) -> Default:
    """What is set with the node tuning operator, and for real-time workloads everywhere."""
    return row(name, settings, Where.WITH_OPERATOR, reason)._replace(real_time=True)


def _keys(settings: str) -> tuple[str, ...]:
    return tuple(each.partition(" = ")[0] for each in settings.split("; "))
