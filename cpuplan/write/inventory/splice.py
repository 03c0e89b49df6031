"""Changing values of a YAML file and nothing else: comments, order, quotes and blanks stay.

`fmt` writes the whole file again: it changes indentation and joins lines. Here the text is changed
at the places of values. `read.yaml` has accepted the text before: it has no anchors, tags or
duplicate keys.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import yaml

from cpuplan.base.composer import LOADER
from cpuplan.base.emit import Flow, to_yaml
from cpuplan.write.inventory.merge import align, plain


class _UnusualError(Exception):
    """The layout of the lines cannot be edited piece by piece: the value is written again."""


class _Entry(NamedTuple):
    """An entry of a mapping or list: from its key, dash or value to the end of its value."""

    start: int
    end: int
    value: Any  # the node


def splice(text: str, number: int, old: Any, wanted: Any) -> str:
    """`text` with its document `number` changed from `old` to `wanted`.

    Documents count from 0 without empty ones. Items that a list of `wanted` keeps are in the order
    of `old`; new values may be Flow.
    """
    if plain(wanted) == old:
        return text
    if not text.endswith("\n"):
        text += "\n"
    editor = _Editor(text)
    nodes = [node for node in yaml.compose_all(text, LOADER) if isinstance(node, yaml.MappingNode)]
    editor.change(nodes[number], old, wanted, in_flow=False)
    return editor.result()


class _Editor:
    """Collects edits of a text: stretches that are replaced, and texts that are inserted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._replaced: list[tuple[int, int, str]] = []
        self._inserted: dict[int, str] = {}

    def result(self) -> str:
        """The text with all edits; inserted text is before the text that was at its place."""
        text = self._text
        edits = [*self._replaced, *((at, at, new) for at, new in self._inserted.items())]
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def change(self, node: Any, old: Any, wanted: Any, *, in_flow: bool) -> None:
        """Change the value at `node`; raises _UnusualError if it must be written again."""
        data = wanted.data if isinstance(wanted, Flow) else wanted
        if plain(data) == old:
            return
        if isinstance(old, dict) and isinstance(data, dict) and old and data:
            self._change_mapping(node, old, data)
        elif isinstance(old, list) and isinstance(data, list | tuple) and old and data:
            self._change_list(node, old, list(data))
        elif _is_one_line(node, old, data):
            start, end = node.start_mark.index, node.end_mark.index
            self._replaced.append((start, end, _inline(data, in_flow=in_flow)))
        else:
            raise _UnusualError

    def _change_mapping(self, node: Any, old: dict[str, Any], wanted: dict[str, Any]) -> None:
        names = [key.value for key, _ in node.value]
        entries = []
        for key, value in node.value:
            end = max(_end(self._text, value), key.end_mark.index + 1)
            entries.append(_Entry(key.start_mark.index, end, value))
        if node.flow_style:
            texts = [f"{_in_flow(name)}: {_in_flow(value)}" for name, value in wanted.items()]
        else:
            column = node.start_mark.column
            texts = [_block({name: value}, column) for name, value in wanted.items()]
        kept = [names.index(name) if name in names else None for name in wanted]
        pairs = [(old.get(name), value) for name, value in wanted.items()]
        self._change_entries(entries, kept, pairs, texts, in_flow=bool(node.flow_style))

    def _change_list(self, node: Any, old: list[Any], wanted: list[Any]) -> None:
        entries = []
        for item in node.value:
            start = item.start_mark.index if node.flow_style else self._dash(node, item)
            entries.append(_Entry(start, _end(self._text, item), item))
        if node.flow_style:
            texts = [_in_flow(value) for value in wanted]
        else:
            texts = [_block([value], node.start_mark.column) for value in wanted]
        kept = align(old, wanted)
        before = [None if at is None else old[at] for at in kept]
        pairs = list(zip(before, wanted, strict=True))
        self._change_entries(entries, kept, pairs, texts, in_flow=bool(node.flow_style))

    def _dash(self, node: Any, item: Any) -> int:
        """Where the dash of a list's item stands."""
        at = len(self._text[: item.start_mark.index].rstrip()) - 1
        if self._text[at] != "-" or at - self._line(at) != node.start_mark.column:
            raise _UnusualError  # a comment between dash and value
        return at

    def _change_entries(
        self,
        entries: Sequence[_Entry],
        kept: Sequence[int | None],
        pairs: Sequence[tuple[Any, Any]],
        texts: Sequence[str],
        *,
        in_flow: bool,
    ) -> None:
        """Change, remove and insert entries; `kept` has the entry of each wanted value, if any.

        `pairs` are old and new data of the wanted values, `texts` their form as new entries.
        """
        for at, (old, new), text in zip(kept, pairs, texts, strict=True):
            if at is None:
                continue
            before = (list(self._replaced), dict(self._inserted))
            try:
                self.change(entries[at].value, old, new, in_flow=in_flow)
            except _UnusualError:
                self._replaced, self._inserted = before
                self._replaced.append((entries[at].start, entries[at].end, text.strip(" \n")))
        present = {at for at in kept if at is not None}
        if not present:
            raise _UnusualError
        for first, last in _runs(at for at in range(len(entries)) if at not in present):
            self._replaced.append((*self._removed(entries, first, last, in_flow=in_flow), ""))
        previous: int | None = None
        for at, text in zip(kept, texts, strict=True):
            if at is not None:
                previous = at
            else:
                self._insert(entries, previous, min(present), text, in_flow=in_flow)

    def _removed(
        self, entries: Sequence[_Entry], first: int, last: int, *, in_flow: bool
    ) -> tuple[int, int]:
        """The stretch that is removed with a run of entries: a comma too, or whole lines."""
        if in_flow and first:
            return entries[first - 1].end, entries[last].end
        if in_flow or not self._on_own_line(entries[first]):
            return entries[first].start, entries[last + 1].start
        return self._line(entries[first].start), self._next_line(entries[last].end)

    def _insert(
        self,
        entries: Sequence[_Entry],
        previous: int | None,
        first: int,
        text: str,
        *,
        in_flow: bool,
    ) -> None:
        """Put a new entry behind the one that it follows, else before the first."""
        if in_flow:
            at = entries[first].start if previous is None else entries[previous].end
            text = f"{text}, " if previous is None else f", {text}"
        elif previous is None and self._on_own_line(entries[0]):
            at = self._line(entries[0].start)
        else:
            at = self._next_line(entries[first if previous is None else previous].end)
        self._inserted[at] = self._inserted.get(at, "") + text

    def _on_own_line(self, entry: _Entry) -> bool:
        """Whether only blanks are before it; the first key of a list's item is behind a dash."""
        return not self._text[self._line(entry.start) : entry.start].strip()

    def _line(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        return self._text.index("\n", at) + 1


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _end(text: str, node: Any) -> int:
    """Where the text of a value ends; the end mark of a block is behind comments after it."""
    if node.id == "scalar":
        end: int = node.end_mark.index
        return len(text[:end].rstrip()) if node.style in ("|", ">") else end
    if node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    if not isinstance(last, tuple):
        return _end(text, last)
    key, value = last
    return max(_end(text, value), int(key.end_mark.index) + 1)


def _is_one_line(node: Any, old: Any, new: Any) -> bool:
    """Whether a scalar, and not one in a block, becomes another scalar."""
    if isinstance(old, dict | list) or isinstance(new, dict | list | tuple):
        return False
    return node.style not in ("|", ">")


def _inline(value: Any, *, in_flow: bool) -> str:
    """A value on one line; between brackets, more must be quoted."""
    data = plain(value)
    if in_flow or isinstance(data, dict | list) or (isinstance(data, str) and "\n" in data):
        return _in_flow(data)
    return to_yaml([data]).strip().removeprefix("- ")


def _in_flow(value: Any) -> str:
    """A value between brackets."""
    return to_yaml(Flow([plain(value)])).strip()[1:-1]


def _block(value: Any, column: int) -> str:
    """An entry as separate lines."""
    lines = to_yaml(value).split("\n")[:-1]
    return "".join(f"{' ' * column}{line}\n" if line else "\n" for line in lines)
