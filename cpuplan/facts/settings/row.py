"""A row: all that is known of one setting before there is a plan; and the defaults of rows."""

import re
from enum import Enum
from functools import cache
from typing import NamedTuple

from cpuplan.facts import versions
from cpuplan.facts.platforms import Platform, Release, Span, Version
from cpuplan.facts.settings.costs import Rule

_NAME = re.compile(r"\{(\w+)\}")
_ALWAYS: Version = (0, 0)


class Form(Enum):
    """How a file of the kernel has a value."""

    #: A list of CPUs; empty, or `(null)`, without any.
    CPUS = "cpus"
    #: A mask of CPUs in hexadecimal digits.
    MASK = "mask"
    NUMBER = "number"
    #: The whole text, without blanks at its ends.
    TEXT = "text"
    #: The word in brackets, of several that the file could have, or the only word.
    WORD = "word"


class Where(Enum):
    """Platforms, by whether the defaults of the node tuning operator are set on them."""

    EVERYWHERE = (True, False)
    WITH_OPERATOR = (True,)
    WITHOUT_OPERATOR = (False,)

    def includes(self, platform: Platform) -> bool:
        return platform.has_operator_defaults in self.value


class Default(NamedTuple):
    """Why a setting is there although no intent asks for it, and where.

    An intent switches it off by the field `off_by`, and on by `on_by` where it is not set; without
    these fields, `defaults` switches it by `name`. `possible` are the platforms that can have it.
    One of `real_time` is set for real-time workloads on all of these. `asked` is the reason, and
    `field` its place, where an intent decides by a field.
    """

    name: str
    on: Where
    reason: str
    off_by: str = ""
    on_by: str = ""
    possible: Where = Where.EVERYWHERE
    real_time: bool = False
    field: str = ""
    asked: str = ""

    def is_off_but_possible(self, platform: Platform) -> bool:
        """Whether an intent can switch it on, because the platform does not have it by default."""
        return self.possible.includes(platform) and not self.on.includes(platform)

    def by(self, field: str, asked: str) -> "Default":
        """The same, of which an intent decides by `field` for the reason `asked`."""
        return self._replace(field=field, asked=asked)


def everywhere(name: str, reason: str, off: str = "") -> Default:
    """A default of all platforms."""
    return _default(name, Where.EVERYWHERE, reason, off, "")


def with_operator(name: str, reason: str, off: str = "", on: str = "") -> Default:
    """A default of platforms with the node tuning operator; others can have it by `on`."""
    return _default(name, Where.WITH_OPERATOR, reason, off, on)


def without_operator(name: str, reason: str, off: str = "", on: str = "") -> Default:
    """A default of platforms without the node tuning operator; others can have it by `on`."""
    default = _default(name, Where.WITHOUT_OPERATOR, reason, off, on)
    return default if on else default._replace(possible=Where.WITHOUT_OPERATOR)


def operator_only(name: str, reason: str) -> Default:
    """A default that only platforms with the node tuning operator can have."""
    default = with_operator(name, reason)
    return default._replace(possible=Where.WITH_OPERATOR)


def for_latency(name: str, reason: str) -> Default:
    """A default with the node tuning operator, and for real-time workloads everywhere."""
    return with_operator(name, reason)._replace(real_time=True)


def _default(name: str, on: Where, reason: str, off: str, on_by: str) -> Default:
    possible = on if off and not on_by else Where.EVERYWHERE
    return Default(name, on, reason, off, on_by, possible)


class Row(NamedTuple):
    """One setting: every other module asks the row, and never writes its key again.

    Names in braces stand for what plans fill in: `runtimes.{handler}.runtime_path`.
    """

    component: str
    key: str
    #: A path below the node's root, or a command, that shows the value; empty where nothing does.
    shown_by: str
    #: What a change costs a node, and how that is known; None where what is made of it tells.
    cost: Rule | None
    #: The fields of an intent that decide about the value.
    field: str = ""
    #: Why it is there although no intent asks.
    defaults: tuple[Default, ...] = ()
    #: Its value by default, in words.
    usually: str = ""
    #: The version of Kubernetes, which is that of the program, that knows it first.
    since: Version = _ALWAYS
    #: The releases of OpenShift whose node tuning operator writes it from a PerformanceProfile.
    operator: Span | None = None
    #: The file that has the value in force, below the node's root, and in which form.
    file: tuple[str, Form] | None = None
    #: What its removal costs, where that is more.
    when_gone: Rule | None = None
    #: What it costs that the program comes or goes, of which this setting tells.
    program: tuple[Rule, Rule] | None = None
    #: What a change costs where an operator runs the program.
    operator_cost: Rule | None = None

    @property
    def default(self) -> Default:
        """The reason of a setting with one."""
        (default,) = self.defaults
        return default

    @property
    def pattern(self) -> str:
        """The key with `*` for each name that plans fill in."""
        return _NAME.sub("*", self.key)

    def of(self, **names: str) -> str:
        """The key with the names of a plan."""
        return self.key.format(**names)

    @property
    def head(self) -> str:
        """The table or map that the key is in, or the key."""
        return self.key.partition(".")[0]

    @property
    def last(self) -> str:
        """The key within its table."""
        return self.key.rpartition(".")[2]

    def is_of(self, component: str, key: str) -> bool:
        """Whether a setting is this one."""
        return component == self.component and bool(_expression(self.key).fullmatch(key))

    def names_in(self, key: str) -> dict[str, str]:
        """What fills in the key of a setting that is this one."""
        match = _expression(self.key).fullmatch(key)
        return match.groupdict() if match else {}

    def is_named(self, what: str) -> bool:
        """Whether people mean this one: by its key, its map or table, with the component or not."""
        key = what.removeprefix(f"{self.component} ")
        return key == self.head or self.is_of(self.component, key)

    def is_known(self, target: Release) -> bool:
        """Whether the program knows it; of a PerformanceProfile, whether the operator writes it."""
        if target.is_profile and self.operator:
            return versions.includes(self.operator, target.version)
        return self.since == _ALWAYS or versions.reaches(target, self.since)


@cache
def _expression(key: str) -> re.Pattern[str]:
    """`a.{name}.b` as an expression with a group of that name."""
    parts = _NAME.split(key)
    texts = (f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.compile("".join(texts))
