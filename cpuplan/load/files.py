"""Which files are the input of a project."""

import os
from pathlib import Path

#: Where documents are looked for, below the project's folder.
FOLDERS = ("inventories", "intents")
#: The solved layouts lie beside the intents and are read by `lock`.
LOCK_NAME = "plan.lock.yaml"
#: The catalogue of server models lies beside the sample's own inventories, and is no project's input.
CATALOG = "inventories/catalog"


def input_files(root: Path) -> list[Path]:
    """The YAML files under `inventories/` and `intents/`, the lock among them, by name; not the catalogue."""
    catalog = f"{root / CATALOG}{os.sep}"
    found = (path for folder in FOLDERS for path in yaml_files(root / folder))
    return sorted(path for path in found if not str(path).startswith(catalog))


def yaml_files(path: Path) -> list[Path]:
    """The YAML files at or under `path`, by name; hidden ones are left out, unless `path` itself is one."""
    if path.is_file():
        return [path]
    found = []
    for parent, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if name.endswith((".yaml", ".yml")) and name[0] != "."]
    return sorted(found)
