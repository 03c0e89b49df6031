"""Where the files that are not Python lie: `schemas/`, `templates/` and `inventories/catalog/`."""

from pathlib import Path
from typing import cast

import cpuplan

_PACKAGE = Path(cpuplan.__file__).parent


def is_bundled() -> bool:
    """Whether this is a bundle: one file, with some of the commands (`cpuplan bundle`)."""
    return not _PACKAGE.is_dir()


def resource(*parts: str) -> Path:
    """The path of a shipped file or folder: in an installed package, or beside it in a checkout.

    In a bundle, what is returned can be read like a Path.
    """
    if is_bundled():
        from importlib.resources import files

        return cast(Path, files("cpuplan").joinpath("data", *parts))
    installed = _PACKAGE / "data" / Path(*parts)
    return installed if installed.exists() else _PACKAGE.parent / Path(*parts)
