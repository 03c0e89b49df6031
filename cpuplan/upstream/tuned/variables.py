"""Variables and functions in values: `${name}`, `${f:function:argument}`.

Upstream: redhat-performance/tuned tuned/profiles/variables.py tuned/profiles/functions/parser.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

import re
from collections.abc import Iterable

from cpuplan.upstream.tuned.functions import FUNCTIONS, AssertionFailedError, Machine, Unknown

_NAME = re.compile(r"\w+\Z")
_VARIABLE = re.compile(r"(?<!\\)\$\{(\w+)\}")
_ESCAPED = re.compile(r"\\(\$\{\w+\})")
_ESCAPED_FUNCTION = re.compile(r"\\(\$\{f:.*\})")
_COLON = re.compile(r"(?<!\\):")
#: A variable may repeat others: a value that grows beyond this is refused.
MOST_CHARACTERS = 1 << 16
_MOST_STEPS = 1 << 12


class UnknownValueError(ValueError):
    """A value that only the node can tell, or that is no value at all."""


class Variables:
    """Variables in the order of their definition, each expanded when it is added."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: Values by name; None for those that only a node can tell.
        self._values: dict[str, str | None] = {}

    def add(self, variables: Iterable[tuple[str, str]]) -> None:
        """Define variables; a name with other characters than those of a word is passed over."""
        for name, value in variables:
            if name != "include" and _NAME.match(name):
                try:
                    self._values[name] = self.expand(value)
                except UnknownValueError:
                    self._values[name] = None

    def get(self, name: str) -> str | None:
        """The value of a variable; None without one that is known."""
        return self._values.get(name)

    def expand(self, value: str) -> str:
        """A value with variables and functions in place. Raises UnknownValueError."""
        text = _ESCAPED.sub(r"\1", _VARIABLE.sub(self._value, value))
        if len(text) > MOST_CHARACTERS:
            raise UnknownValueError("a value of more characters than a file of the kernel takes")
        return _ESCAPED_FUNCTION.sub(r"\1", _Parser(text, self._machine).expanded())

    def _value(self, match: re.Match[str]) -> str:
        if match[1] not in self._values:
            return match[0]
        value = self._values[match[1]]
        if value is None:
            raise UnknownValueError(f"${{{match[1]}}}")
        return value


class _Parser:
    """Replaces functions from the inside out, as TuneD's parser does."""

    def __init__(self, text: str, machine: Machine) -> None:
        self.text, self.machine, self.at = text, machine, 0

    def expanded(self) -> str:
        opened: list[tuple[bool, int]] = []
        is_escaped, steps = False, 0
        while self.at < len(self.text):
            if self.text[self.at] == "}":
                if not opened:
                    return self.text
                was_escaped, start = opened.pop()
                if not was_escaped:
                    steps += 1
                    self._call(start)
            elif self.text.startswith("${", self.at):
                opened.append((is_escaped, self.at))
            is_escaped = self.at < len(self.text) and self.text[self.at] == "\\"
            self.at += 1
            if steps > _MOST_STEPS or len(self.text) > MOST_CHARACTERS:
                raise UnknownValueError("functions without end")
        return self.text

    def _call(self, start: int) -> None:
        parts = _COLON.split(self.text[start : self.at])
        if parts[0] != "${f" or len(parts) < 2:
            return
        name, *arguments = [part.replace(r"\:", ":") for part in parts[1:]]
        if name not in FUNCTIONS:
            raise UnknownValueError(f"${{f:{name}}}")
        try:
            result = FUNCTIONS[name](self.machine, arguments)
        except (Unknown, AssertionFailedError) as error:
            raise UnknownValueError(f"${{f:{name}}}") from error
        if result is not None:
            self.text = self.text[:start] + result + self.text[self.at + 1 :]
            self.at = max(0, start + len(result) - 1)
