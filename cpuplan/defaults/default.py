"""One kind of setting that nobody asked for."""

from typing import NamedTuple

KUBERNETES, OPENSHIFT = ("kubernetes",), ("openshift",)
BOTH = (*KUBERNETES, *OPENSHIFT)


class Default(NamedTuple):
    """Settings by `component key` (`*` is any text), the platforms where they are set, and why.

    With `otherwise`, a field of the intent says no, and where they are not set, `wish` says yes;
    without, `defaults` switches them by `name`. `possible` is where they can be at all. Those of
    `real_time` are set wherever workloads are real-time, too. `shown` has the settings with their
    values, for people.
    """

    name: str
    settings: tuple[str, ...]
    on: tuple[str, ...]
    reason: str
    otherwise: str = ""
    wish: str = ""
    possible: tuple[str, ...] = BOTH
    real_time: bool = False
    shown: tuple[str, ...] = ()


def row(
    name: str, settings: str, on: tuple[str, ...], reason: str, otherwise: str = "", wish: str = ""
) -> Default:
    """A default; `settings` are divided by semicolons, and may have their values: `kernel skew_tick
    = 1; ...`.
    """
    possible = on if otherwise and not wish else BOTH
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
    """What only OpenShift can have."""
    return row(name, settings, OPENSHIFT, reason)._replace(possible=OPENSHIFT)


def for_latency(name: str, settings: str, reason: str) -> Default:
    """What is set on OpenShift, and for real-time workloads everywhere."""
    return row(name, settings, OPENSHIFT, reason)._replace(real_time=True)


def _keys(settings: str) -> tuple[str, ...]:
    return tuple(each.partition(" = ")[0] for each in settings.split("; "))
