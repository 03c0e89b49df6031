"""The canonical form of a user's file: keys in the order of the models, comments kept."""

from functools import cache
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.emitter import RoundTripEmitter

from cpuplan.printable import printable_lines
from cpuplan.read import yaml
from cpuplan.read.documents import KINDS
from cpuplan.read.schema import schema

_MODELINE = "# yaml-language-server: $schema=../schemas/{kind}.schema.json"
#: A comment may move once more when what stood around it has moved.
_RUNS = 5
#: ruamel takes about 1.5 kB and 0.2 ms for each key and value, and 100 bytes for each of a comment:
#: below 1 GB.
_MAX_VALUES = 400_000
_MAX_CHARACTERS = 4 * 1024 * 1024


class _Emitter(RoundTripEmitter):
    """Keeps characters escaped that are invisible or change the direction of text.

    ruamel writes them as they are.
    """

    def write_double_quoted(self, text: Any, split: Any = True) -> None:
        """Write a text in double quotes."""
        written, self.stream = self.stream, StringIO()
        super().write_double_quoted(text, split)
        quoted, self.stream = self.stream.getvalue(), written
        self.stream.write(printable_lines(quoted))


class NotFormattable(Exception):  # noqa: N818 - what is the case, not what went wrong
    """A text of which no canonical form with the same values is found; says why."""


def canonical(text: str) -> str:
    """`text` with its keys in order, two blanks of indentation, and the editor's modeline first.

    Takes what `read.yaml` takes. Keeps every value, and leaves alone what it made itself. Raises
    NotFormattable.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > _MAX_CHARACTERS:
        raise NotFormattable(f"it has more than {_MAX_CHARACTERS:,} characters; split it")
    before, _ = yaml.parse("", text)
    if sum(_count(source.data) for source in before) > _MAX_VALUES:
        raise NotFormattable(f"it has more than {_MAX_VALUES:,} keys and values; split it")
    result = _settled(text)
    after, problems = yaml.parse("", result)
    if problems or [source.data for source in before] != [source.data for source in after]:
        raise NotFormattable("its values would change")
    return result


def _count(value: Any) -> int:
    """How many keys and values there are; `read.yaml` bounds how deep they are."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


def _settled(text: str) -> str:
    for _ in range(_RUNS):
        try:
            result = _rewritten(text)
        except Exception as error:  # ruamel's own errors, and what it trips over
            raise NotFormattable(_problem(error)) from error
        if result == text:
            return result
        text = result
    raise NotFormattable("formatting it again would move its comments")


def _problem(error: Exception) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark and problem:
        return f"{problem} (line {mark.line + 1})"
    return " ".join(str(error).split())[:200]


def _rewritten(text: str) -> str:
    writer = YAML()
    writer.Emitter = _Emitter
    writer.preserve_quotes = True
    writer.width = 10_000
    writer.indent(mapping=2, sequence=2, offset=0)
    documents = list(writer.load_all(text))
    for document in documents:
        kind = document.get("kind") if isinstance(document, dict) else None
        if isinstance(kind, str) and kind in KINDS:
            whole = _schema(kind)
            _sort(document, whole, whole)
    written = StringIO()
    writer.dump_all(documents, written)
    result = written.getvalue()
    kind = str(documents[0].get("kind", "")) if documents and isinstance(documents[0], dict) else ""
    if kind in KINDS and "yaml-language-server:" not in text:
        result = _MODELINE.format(kind=kind.lower()) + "\n" + result
    return result


@cache
def _schema(kind: str) -> dict[str, Any]:
    """The schema of a kind, of which a file may have many documents."""
    return schema(kind)


def _sort(value: Any, rules: dict[str, Any], whole: dict[str, Any]) -> None:
    rules = _resolve(rules, whole)
    if isinstance(value, list):
        for item in value:
            _sort(item, rules.get("items", {}), whole)
    elif hasattr(value, "move_to_end"):
        order = {key: index for index, key in enumerate(rules.get("properties", {}))}
        wanted = sorted(value, key=lambda key: order.get(key, len(order)))
        if list(value) != wanted:
            for key in wanted:
                # Comments hang on the key, so moving the entry moves them too.
                value.move_to_end(key)
        for key, item in value.items():
            _sort(item, rules.get("properties", {}).get(key, {}), whole)


def _resolve(rules: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in rules:
        return _resolve(whole["definitions"][rules["$ref"].rsplit("/", 1)[1]], whole)
    if "anyOf" in rules:
        forms = [_resolve(form, whole) for form in rules["anyOf"]]
        return next((form for form in forms if "properties" in form or "items" in form), {})
    return rules
