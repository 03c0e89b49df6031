"""What is checked: a node's root file system against the expected state of its class.

Also how messages show values, and where something stands in a file of the node.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from cpuplan.base import nodetext
from cpuplan.check.roots.root import Root
from cpuplan.diagnostics import Diagnostic, Label, Reason, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings.costs import Cost
from cpuplan.plan.expected.evidence import HEALS, Answer, Heals, Verdict, heals_by
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting

_T = TypeVar("_T")
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


def line_with(text: str, path: str, word: str) -> Position:
    """The first line that begins with a word, else that has it, whatever its case; else line 1."""
    if not word:
        return Position(path, 1, 1)
    whole = rf"(?<![\w.-]){re.escape(word)}(?![\w.-])"
    lines = list(nodetext.lines(text))
    for pattern in (rf"\s*[\"']?{whole}", rf"[^#;]*?{whole}", f".*?{re.escape(word)}"):
        for number, line in enumerate(lines, start=1):
            match = re.match(pattern, line, re.IGNORECASE)
            if match:
                column = match.end() - len(word) + 1
                return Position(path, number, column, len(line.rstrip()) + 1)
    return Position(path, 1, 1)


def nowhere(_origin: str) -> None:
    """The place of a statement where there are no inputs."""
    return


class Statements:
    """Where facts come from, and answers on those that are otherwise."""

    def __init__(self, locate: Locate) -> None:
        self.locate = locate

    def labels(self, reasons: Iterable[Reason]) -> list[Label]:
        """The first statement that a setting comes from, as a place of a diagnostic."""
        for reason in reasons:
            position = self.locate(reason.origin)
            if position:
                return [Label(position, reason.text)]
        return []

    def all_labels(self, settings: Iterable[Setting]) -> list[Label]:
        """The statements that several settings come from, each once."""
        labels = (label for setting in settings for label in self.labels(setting.reasons))
        return list(dict.fromkeys(labels))

    def cost_of(self, _setting: Setting) -> Cost | None:
        """What a change of a setting costs on the platform; None where nothing says it."""
        return None

    def answered(
        self,
        about: Setting | str,
        finding: Diagnostic,
        *,
        observed: str = "",
        expected: str = "",
        heals: Heals | None = None,
    ) -> Answer:
        """The answer of a finding that is made already.

        What heals it follows from its code or from the setting, unless it is given.
        """
        heals = heals or HEALS.get(finding.code)
        if heals is None and isinstance(about, Setting) and about.effect:
            heals = heals_by(self.cost_of(about) or about.effect.change_costs)
        where = str(finding.position.path) if finding.position else ""
        return Answer(
            name(about),
            Verdict.DIFFERS,
            where,
            expected,
            observed,
            finding=finding,
            heals=heals,
            origin=origin(about),
        )


class Cache(dict[str, Any]):
    """What several steps read; `used` are the names that were asked for or written of late."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Any:
        self.used.add(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.used.add(name)
        super().__setitem__(name, value)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`


class Subject(Statements):
    """Everything that a step of the check reads."""

    def __init__(
        self, root: Root, expected: Expected, node: str = "", locate: Locate = nowhere
    ) -> None:
        super().__init__(locate)
        self.root = root
        self.expected = expected
        self.node = node
        #: What several steps read, by a name of theirs.
        self.cache = Cache()
        #: Of what is there, what was read of folders that cannot be listed as a whole, and why.
        self.partial: dict[str, str] = {}

    def cost_of(self, setting: Setting) -> Cost | None:
        """As `explain` says it."""
        from cpuplan.change.impact.setting_rules import rule_on  # most nodes hold everything

        rule = rule_on(self.expected.platform, self.expected.settings, setting)
        return rule.cost if rule else None

    def once(self, key: str, make: Callable[[], _T]) -> _T:
        """What several steps read, made for the first of them."""
        if key not in self.cache:
            self.cache[key] = make()
        made: _T = self.cache[key]
        return made

    def place(self, path: str) -> Position:
        """The beginning of a file of the node."""
        return Position(self.root.shown(path), 1, 1)

    def held(self, about: Setting | str, path: str) -> Answer:
        """A fact that the file shows as it should be."""
        expected = shown(about.value) if isinstance(about, Setting) else ""
        where = self.root.shown(path)
        return Answer(name(about), Verdict.HELD, where, expected, expected, origin=origin(about))

    def unverifiable(self, about: Setting | str, path: str, reason: str) -> Answer:
        """A fact that nothing here shows, and why."""
        expected = shown(about.value) if isinstance(about, Setting) else ""
        where = self.root.shown(path) if path else ""
        fact, verdict = name(about), Verdict.UNVERIFIABLE
        return Answer(fact, verdict, where, expected, reason=reason, origin=origin(about))

    def unknown(self, settings: Iterable[Setting], reason: str) -> Iterator[Answer]:
        """Settings of which nothing is known, for one reason."""
        return (self.unverifiable(setting, "", reason) for setting in settings)

    def unshown(self, about: Setting | str, path: str, reason: str) -> Answer:
        """A fact that no reader of a node's files can verify: nothing is missing here."""
        return self.unverifiable(about, path, reason)._replace(is_unshown=True)

    def unread(self, about: Setting | str, path: str, reason: str) -> Answer:
        """A fact whose file is not read; no alert where an agent is not to read it."""
        is_left_out = self.root.is_left_out(path)
        return self.unverifiable(about, path, reason)._replace(is_unshown=is_left_out)

    def differs(
        self,
        about: Setting | str,
        code: str,
        where: str | Position,
        *,
        observed: str,
        expected: str | None = None,
        labels: Iterable[Label] | None = None,
        heals: Heals | None = None,
        **values: Any,
    ) -> Answer:
        """A fact that is otherwise: the finding `code`, with `found`, `wanted` and `values`.

        A setting gives its key, its value as what is expected, and the statement it comes from.
        """
        place = self.place(where) if isinstance(where, str) else where
        if isinstance(about, Setting):
            expected = (shown(about.value) or '""') if expected is None else expected
            labels = self.labels(about.reasons) if labels is None else labels
            values = {"key": about.key, **values}
        expected = expected or ""
        finding = diagnose(
            code, place, labels=labels or (), found=observed, wanted=expected, **values
        )
        return self.answered(about, finding, observed=observed, expected=expected, heals=heals)


def name(about: Setting | str) -> str:
    """The fact of a setting, or the name of a fact."""
    return f"{about.component} {about.key}" if isinstance(about, Setting) else about


def origin(about: Setting | str) -> str:
    """The statement of a setting; that of a rule says nothing to a reader."""
    reasons = about.reasons if isinstance(about, Setting) else ()
    return next((reason.origin for reason in reasons if ":" in reason.origin), "")


#: `(at line 2, column 16)` of tomllib, `: line 1 column 2 (char 1)` of json, `(line 1, column 2)`
#: of our own for YAML.
_STOPPED = re.compile(r"(?:\(?at )?line (\d+),? column (\d+)")
#: The kubelet and CRI-O do not start with a drop-in that they find and cannot open.
LINK_TO_NOTHING = "it is a broken link"
#: What a parser quotes of a file may be a token or a password.
_QUOTED = re.compile(r"""(["'`])(?:(?!\1).)*\1""", re.DOTALL)


def unreadable(subject: Subject, path: str, error: Exception) -> tuple[Position, str]:
    """Where a parser of YAML, TOML or JSON stopped, and its words without that place."""
    text = scrubbed(str(error))
    match = _STOPPED.search(text)
    if match is None:
        return subject.place(path), text
    place = Position(subject.root.shown(path), int(match[1]), int(match[2]))
    return place, text[: match.start()].rstrip(" :(")


def scrubbed(text: str) -> str:
    """What a parser says, without what it quotes of the file."""
    return _QUOTED.sub("...", text[:MAX_SHOWN])


def line_of(subject: Subject, path: str, key: str) -> Position:
    """The first line of a file that names the key, or its last part (`memory.available`)."""
    text = subject.root.read(path) or ""
    for word in (key, key.partition(".")[2], key.rpartition(".")[2]):
        if word and word.lower() in text.lower():
            return line_with(text, subject.root.shown(path), word)
    return subject.place(path)
