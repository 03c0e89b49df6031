"""The options that hold for every command."""

from pathlib import Path
from typing import NamedTuple


class Settings(NamedTuple):
    """What was said before the command's name."""

    root: Path
    colour: bool | None  # None: only on a terminal
