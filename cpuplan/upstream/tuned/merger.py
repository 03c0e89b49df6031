"""Profiles on top of each other: sections as units, whose options later profiles change.

Upstream: redhat-performance/tuned tuned/profiles/unit.py tuned/profiles/merger.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.upstream.tuned.config_parser import Line, Option, Sections

MAIN, VARIABLES = "main", "variables"
#: Keys of a section that are about the section, and no options of its plugin.
_OF_UNIT = frozenset(
    (
        "priority",
        "type",
        "enabled",
        "replace",
        "prepend",
        "drop",
        "devices",
        "devices_udev_regex",
        "cpuinfo_regex",
        "uname_regex",
        "script_pre",
        "script_post",
    )
)
_TRUE = ("True", "true", "1")
_DROPPED = re.compile(r"\b\s*[,;]\s*")


class Value(NamedTuple):
    """An option and the profile that gives it."""

    option: Option
    profile: str

    @property
    def text(self) -> str:
        """The value as it is written."""
        return self.option.value


class Unit:
    """A section of the merged profile."""

    def __init__(self, name: str, profile: str, options: dict[str, Value]) -> None:
        self.name, self.profile = name, profile
        self.about = {key: value for key, value in options.items() if key in _OF_UNIT}
        self.options = {key: value for key, value in options.items() if key not in _OF_UNIT}

    def _of(self, key: str, default: str) -> str:
        return self.about[key].text if key in self.about else default

    @property
    def type(self) -> str:
        """The plugin, which the section names unless it is called like it."""
        return self._of("type", self.name)

    @property
    def is_enabled(self) -> bool:
        """Whether its options are applied."""
        return self._of("enabled", "true") in _TRUE

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of an earlier section with all its options."""
        return self._of("replace", "false") in _TRUE

    @property
    def prepends(self) -> bool:
        """Whether its variables come before those of earlier profiles."""
        return self._of("prepend", "false") in _TRUE

    @property
    def dropped(self) -> tuple[str, ...]:
        """Options that it takes out of an earlier section."""
        return tuple(_DROPPED.split(self._of("drop", ""))) if "drop" in self.about else ()


#: What merging keeps of an earlier section unless the later one says it too.
_KEPT = (
    "priority",
    "devices_udev_regex",
    "cpuinfo_regex",
    "uname_regex",
    "script_pre",
    "script_post",
)


class Merged:
    """Profiles merged in the order of loading."""

    def __init__(self) -> None:
        self.units: dict[str, Unit] = {}
        self.variables: dict[str, Value] = {}

    def add(self, profile: str, sections: Sections) -> None:
        """Put a profile on top."""
        for name, options in sections.items():
            if name == MAIN:
                continue
            unit = Unit(
                name, profile, {key: Value(option, profile) for key, option in options.items()}
            )
            if unit.type == VARIABLES:
                self._add_variables(unit)
            elif unit.replaces or name not in self.units:
                self.units[name] = unit
            else:
                _update(self.units[name], unit)

    def _add_variables(self, unit: Unit) -> None:
        if unit.replaces:
            self.variables.clear()
        new = {key: value for key, value in unit.options.items() if key not in self.variables}
        self.variables.update(unit.options)
        if unit.prepends:
            self.variables = {**new, **self.variables}


def _update(old: Unit, new: Unit) -> None:
    for name in new.dropped:
        old.options.pop(name, None)
    kept = {key: value for key, value in old.about.items() if key in _KEPT}
    old.about = {**kept, **{key: value for key, value in new.about.items() if key != "drop"}}
    old.options.update(new.options)


def merge(profiles: Iterable[tuple[str, Sections]]) -> Merged:
    """The profiles on top of each other, the last one on top."""
    merged = Merged()
    for name, sections in profiles:
        merged.add(name, sections)
    return merged


def sections_of(options: Iterable[tuple[str, str, str]]) -> Sections:
    """Sections of (section, option, value), which have no places."""
    sections: dict[str, dict[str, Option]] = {}
    for section, name, value in options:
        sections.setdefault(section, {})[name] = Option((Line(value, 0, 0),), 0, 0)
    return sections
