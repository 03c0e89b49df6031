"""The profiles that a profile is made of: its includes, each once, before itself.

Upstream: redhat-performance/tuned tuned/profiles/loader.py tuned/profiles/locator.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from cpuplan.upstream.tuned.config_parser import Option, ParseError, Sections, parse
from cpuplan.upstream.tuned.merger import MAIN
from cpuplan.upstream.tuned.variables import UnknownValueError

INCLUDE = "include"
_SEPARATOR = re.compile(r"\s*[,;]\s*")
#: Profiles that one is made of; more are refused here.
MOST_PROFILES = 256


class Profile(NamedTuple):
    """A profile of the text that it was read from; without sections where only its name is known.

    `include` is the option that named its parents.
    """

    name: str
    sections: Sections | None
    include: Option | None = None


class LoadError(Exception):
    """Why TuneD loads nothing: `profile` cannot be read, or the `missing` one is not there.

    The line is that of the text, or the option the one that includes the missing profile.
    """

    def __init__(
        self,
        problem: str,
        profile: str,
        missing: str = "",
        line: int = 0,
        include: Option | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.profile, self.missing = problem, profile, missing
        self.line, self.include = line, include


#: What expands `${...}` in an include; UnknownValueError where only a node can.
Expand = Callable[[str], str]


class Loader:
    """Loads profiles from texts; of `packaged` ones only the names are known."""

    def __init__(
        self,
        texts: Mapping[str, str | Sections],
        packaged: Callable[[str], bool],
        expand: Expand,
    ) -> None:
        self._texts, self._packaged, self._expand = texts, packaged, expand
        self.profiles: list[Profile] = []
        #: Includes that only a node can tell, by the name of the profile.
        self.unknown: list[tuple[str, Option]] = []
        self._seen: set[str] = set()

    def load(self, name: str) -> list[Profile]:
        """The profiles in the order of merging. Raises LoadError."""
        self._load(name, "", None)
        return self.profiles

    def _load(self, name: str, by: str, include: Option | None) -> None:
        is_optional, name = name.startswith("-"), name.removeprefix("-").rpartition("/")[2]
        if name in self._seen:
            return
        text = self._texts.get(name)
        if text is None:
            if self._packaged(name):
                self._seen.add(name)
                self.profiles.append(Profile(name, None, include))
            elif not is_optional:
                problem = f"there is no profile {name}"
                raise LoadError(problem, by or name, name, include=include)
            return
        self._seen.add(name)
        if len(self._seen) > MOST_PROFILES:
            raise LoadError(f"it includes more than {MOST_PROFILES} profiles", name)
        sections = self._sections(name, text)
        own = sections.get(MAIN, {}).get(INCLUDE)
        for parent in self._parents(name, own):
            self._load(parent, name, own)
        self.profiles.append(Profile(name, sections, own))

    def _sections(self, name: str, text: str | Sections) -> Sections:
        if not isinstance(text, str):
            return text
        try:
            return parse(text)
        except ParseError as error:
            raise LoadError(error.problem, name, line=error.line) from error

    def _parents(self, name: str, include: Option | None) -> list[str]:
        if include is None:
            return []
        try:
            return _SEPARATOR.split(self._expand(include.value).strip())
        except UnknownValueError:
            self.unknown.append((name, include))
            return []
