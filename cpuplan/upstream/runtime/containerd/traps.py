"""What bites in files that containerd takes: tables that it loses or passes over, and files that
nothing imports.

Each rule names where it comes from; paths are those of containerd/containerd.
"""

from collections.abc import Callable, Iterator

from cpuplan.platforms import Version
from cpuplan.upstream.runtime.containerd.keys import SERVER
from cpuplan.upstream.runtime.containerd.names import (
    CRI,
    IMAGES,
    MIGRATES_EACH_FILE,
    OLD_CRI,
    V2,
    highest,
    of_table,
)
from cpuplan.upstream.runtime.containerd.reading import Loaded
from cpuplan.upstream.runtime.trap import Trap


def find(loaded: Loaded, release: Version, names: Callable[[str], list[str]]) -> Iterator[Trap]:
    """Traps of the files, in their order."""
    yield from _imports(loaded, release)
    yield from _not_imported(loaded, names)
    yield from _newer(loaded, release)
    for path in loaded.files:
        yield from _passed_over(path, loaded, release)
    if release < V2:
        yield from _replaced(loaded)


def is_passed_over(path: str, plugin: str, loaded: Loaded, release: Version) -> bool:
    """Whether the table of a plugin in a file is of another version than what counts.

    Before 2.0 no plugin has the names of version 3. From then on, tables are migrated by the
    version of their own file (2.3), or of what all files give together (before).
    """
    if release < V2:
        return plugin in (CRI, IMAGES)
    if plugin not in ("cri", OLD_CRI):
        return False
    version = loaded.files[path].get("version", 0)
    if release < MIGRATES_EACH_FILE:
        version = loaded.tables.get("version", 0)
    return int(version) >= highest(release)


def _passed_over(path: str, loaded: Loaded, release: Version) -> Iterator[Trap]:
    for plugin, table in of_table(loaded.files[path], "plugins").items():
        lost = [key for key in table if key not in SERVER] if isinstance(table, dict) else []
        if not (lost and is_passed_over(path, plugin, loaded, release)):
            continue
        shown = f"[plugins.'{plugin}']"
        if release < V2:
            problem = f"{shown} is a table of version 3, which containerd has from 2.0 on"
            remedy = f"write its keys in [plugins.'{OLD_CRI}'], in a file of version 2"
        else:
            own = loaded.files[path].get("version", "none")
            problem = f"{', '.join(lost)} of {shown} are passed over: "
            problem += f"the version of this file is {own}, and "
            problem += f"that of all files together {loaded.tables.get('version')}"
            remedy = f"move them to [plugins.'{CRI}'], as `containerd config migrate` does"
        yield Trap(path, plugin, problem, remedy)


def _imports(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """Keys of the top that a table took, and globs that are not relative to the file."""
    for path, tables in loaded.files.items():
        for name, table in tables.items():
            for key in ("imports", "disabled_plugins", "version"):
                if name != "plugins" and isinstance(table, dict) and key in table:
                    problem = f"{key} is a key of the table [{name}] here, and has no effect"
                    yield Trap(
                        path, key, problem, f"write {key} before the first table of the file"
                    )
        for pattern in map(str, tables.get("imports", ())):
            if "*" in pattern and not pattern.startswith("/") and release < V2:
                problem = f"the relative pattern {pattern} is taken from the working directory of "
                problem += "containerd, not from the folder of this file"
                yield Trap(path, "imports", problem, "write the whole path, from / on")


def _not_imported(loaded: Loaded, names: Callable[[str], list[str]]) -> Iterator[Trap]:
    """Files beside those that a pattern imports, and those of conf.d (resolveImports)."""
    main = next(iter(loaded.files))
    folders = {main.rpartition("/")[0] + "/conf.d"}
    for tables in loaded.files.values():
        patterns = [pattern for pattern in map(str, tables.get("imports", ())) if "*" in pattern]
        folders |= {pattern.rpartition("/")[0] for pattern in patterns}
    for folder in sorted(folder for folder in folders if folder.startswith("/")):
        for path in (f"{folder}/{name}" for name in names(folder)):
            if path not in loaded.files:
                remedy = "let `imports` of config.toml name it, before the first table there"
                yield Trap(main, "imports", f"nothing imports {path}", remedy)


def _newer(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """cmd/containerd/server/config of 2.3.0 to 2.3.4; taken back in August 2026."""
    main, *others = loaded.files
    of_main = loaded.files[main].get("version", 0)
    for path in others:
        version = loaded.files[path].get("version", 0)
        if release == MIGRATES_EACH_FILE and version > of_main > 0:
            problem = f"containerd 2.3.0 to 2.3.4 do not start: version {version} of this file is "
            problem += f"higher than {of_main}, that of {main}"
            yield Trap(path, "version", problem, "leave out version, or migrate the main file")


def _replaced(loaded: Loaded) -> Iterator[Trap]:
    """Plugins' tables that a later file replaces whole (services/server/config, mergeConfig)."""
    before: dict[str, tuple[str, list[str]]] = {}
    for path, tables in loaded.files.items():
        for plugin, table in of_table(tables, "plugins").items():
            earlier, own = before.get(plugin, ("", []))
            kept = _leaves(table)
            if lost := [key for key in own if key not in kept]:
                problem = f"[plugins.'{plugin}'] replaces that of {earlier} whole: "
                problem += f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'} lost"
                yield Trap(path, plugin, problem, "repeat all keys of the table in this file")
            before[plugin] = (path, kept)


def _leaves(table: object, *way: str) -> list[str]:
    """Paths of the keys with values."""
    if not isinstance(table, dict):
        return [".".join(way)]
    return [leaf for key, value in table.items() for leaf in _leaves(value, *way, key)]
