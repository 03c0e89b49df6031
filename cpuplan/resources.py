"""Where the files that are not Python lie: `schemas/`, `templates/` and `inventories/catalog/`."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource(*parts: str) -> Path:
    """The path of a shipped file or folder: in an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "data" / Path(*parts)
    return installed if installed.exists() else _PACKAGE.parent / Path(*parts)
