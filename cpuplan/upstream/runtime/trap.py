"""What bites in the files of a container runtime, though the runtime takes them."""

from typing import NamedTuple


class Trap(NamedTuple):
    """What will go wrong, and what to do; `path` is the file, `key` a word of the line."""

    path: str
    key: str
    problem: str
    remedy: str
