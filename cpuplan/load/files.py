"""Which files are the input of a project."""

import os
from pathlib import Path

#: Where documents are looked for, below the project's folder.
FOLDERS = ("inventories", "intents")
#: The solved layouts lie beside the intents and are read by `lock`.
LOCK_NAME = "plan.lock.yaml"


def input_files(root: Path) -> list[Path]:
    """The YAML files under `inventories/` and `intents/`, the lock among them, by name; hidden ones are left out."""
    found = []
    for folder in FOLDERS:
        for parent, folders, names in os.walk(root / folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [Path(parent, name) for name in names if name.endswith((".yaml", ".yml")) and name[0] != "."]
    return sorted(found)
