"""Values with a form of their own."""

from typing import Any


class Flow:
    """Marks a list or dict to be written, with all that it holds, on one line: `{id: 0}`."""

    __slots__ = ("data",)

    def __init__(self, data: list[Any] | tuple[Any, ...] | dict[str, Any]) -> None:
        self.data = data


class Noted(str):
    """An unreadable text of a dict, such as base64; YAML has `note` above it as a comment."""

    __slots__ = ("note",)
    note: str

    def __new__(cls, text: str, note: str) -> "Noted":
        made = super().__new__(cls, text)
        made.note = note
        return made
