"""Mistakes in files that containerd accepts: tables that it loses, files that nothing imports.

Each rule names where it comes from; paths are those of containerd/containerd.

Upstream: containerd/containerd cmd/containerd/server/config/config.go plugins/cri/runtime/plugin.go
  internal/nri/config.go @ db8809540e1a7a9da5d518876894933ff55692ab
"""

from collections.abc import Callable, Iterator
from enum import Enum, auto

from cpuplan.facts.platforms import Version
from cpuplan.upstream.containerd.config import Loaded
from cpuplan.upstream.containerd.cri import LINUX_V1, cri, handlers, naming, nri
from cpuplan.upstream.containerd.cri_config import (
    CRI,
    IMAGES,
    MIGRATES_EACH_FILE,
    NRI,
    OLD_CRI,
    SERVER,
    V2,
    Table,
    cri_table,
    highest,
    of_table,
    wrong_types,
)
from cpuplan.upstream.kubernetes.errors import Trap

#: Shims that 2.0 took away (docs/containerd-2.0.md).
_GONE = (LINUX_V1, "io.containerd.runc.v1")
_RUNC = "io.containerd.runc."
_FIRST_NRI = (1, 7)


class Kind(Enum):
    """What a trap is about."""

    REPLACED_TABLE = auto()
    KEY_OF_A_TABLE = auto()
    RELATIVE_PATTERN = auto()
    NOT_IMPORTED = auto()
    HIGHER_VERSION = auto()
    OTHER_VERSION = auto()
    WITHOUT_SHIM = auto()
    CGROUP_DRIVER = auto()
    WRONG_TYPE = auto()
    REQUIRED_PLUGINS = auto()


def find_in_handlers(loaded: Loaded, release: Version, driver: str) -> Iterator[Trap]:
    """Traps of handlers, for a kubelet with a `cgroupDriver`, and of NRI's validator."""
    for name, handler in handlers(loaded, release).items():
        of_type = list(_of_type(name, handler, loaded, release))
        yield from of_type or _of_cgroups(name, handler, driver, loaded, release)
    for path, tables in loaded.files.items():
        for way, mistake in wrong_types(tables):
            if "options" in way[:-1]:
                problem = f"pods of handler {way[-3]} fail: {mistake}"
                yield Trap(path, way[-1], problem, kind=Kind.WRONG_TYPE)
            elif NRI in way:
                problem = f"NRI does not start: {mistake}"
                yield Trap(path, way[-1], problem, kind=Kind.WRONG_TYPE)
    validator = of_table(nri(loaded), "default_validator")
    listed = validator.get("required_plugins")
    required = ", ".join(map(str, listed if isinstance(listed, list) else ()))
    tolerates = validator.get("tolerate_missing_plugins_annotation")
    if validator.get("enable") and required and not tolerates:
        problem = f"no container starts while {required} is away, and none can be excepted: "
        problem += "not even the plugin's own"
        key = "required_plugins"
        yield Trap(naming(loaded, key), key, problem, kind=Kind.REQUIRED_PLUGINS)


def _of_type(name: str, handler: Table, loaded: Loaded, release: Version) -> Iterator[Trap]:
    """core/runtime/v2 looks for the shim by the type."""
    kind = handler.get("runtime_type", "")
    path = naming(loaded, name)
    if not kind:
        problem = f"pods of handler {name} fail: it has no runtime_type"
        yield Trap(path, name, problem, kind=Kind.WITHOUT_SHIM)
    elif release >= V2 and kind in _GONE:
        problem = f"pods of handler {name} fail: containerd has no {kind} since 2.0"
        yield Trap(path, "runtime_type", problem, kind=Kind.WITHOUT_SHIM)


def _of_cgroups(
    name: str, handler: Table, driver: str, loaded: Loaded, release: Version
) -> Iterator[Trap]:
    """internal/cri/server gives runc the path that the kubelet's driver makes."""
    if not str(handler.get("runtime_type", _RUNC)).startswith(_RUNC):
        return
    options = of_table(handler, "options")
    is_systemd = options.get("SystemdCgroup") is True
    if is_systemd == (driver == "systemd"):
        return
    if is_systemd:
        problem = f"pods of handler {name} fail: SystemdCgroup is true"
    else:
        problem = f"containers of handler {name} are not in the slices of their pods: "
        problem += "SystemdCgroup is not true"
    problem += f", and cgroupDriver of the kubelet is {driver}"
    table = f"[plugins.'{cri_table(release)}'.containerd.runtimes.{name}.options]"
    remedy = f"write SystemdCgroup = {str(not is_systemd).lower()} in {table}"
    own = of_table(of_table(cri(loaded, release), "containerd"), "runtimes")
    key = "SystemdCgroup" if "options" in of_table(own, name) else name
    yield Trap(naming(loaded, key), key, problem, remedy, Kind.CGROUP_DRIVER)


def switched_off(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """NRI and CDI, which are on by default since 2.0."""
    if release < _FIRST_NRI:
        return
    main = next(iter(loaded.files))
    table = nri(loaded)
    remedy = f"write disable = false in [plugins.'{NRI}'] where plugins are used"
    if int(loaded.tables.get("version", 1)) < 2 and _is_written(loaded, NRI):
        remedy = "write version = 2 first in the file: of version 1 only short names are read"
    without = "NRI is off: plugins such as the balloons policy see no container"
    if NRI in loaded.tables.get("disabled_plugins", ()):
        path = naming(loaded, "disabled_plugins")
        yield Trap(path, "disabled_plugins", without, "take it out of disabled_plugins")
    elif table.get("disable", release < V2):
        path = naming(loaded, "disable") if "disable" in table else main
        yield Trap(path, "disable", without, remedy)
    elif table.get("disable_connections"):
        problem = "NRI accepts no plugins from outside, such as those of a DaemonSet"
        path = naming(loaded, "disable_connections")
        yield Trap(path, "disable_connections", problem, "write disable_connections = false")
    if not cri(loaded, release).get("enable_cdi", release >= V2):
        path = naming(loaded, "enable_cdi")
        problem = "CDI is off: DRA drivers and device plugins cannot hand out devices by it"
        remedy = f"write enable_cdi = true in [plugins.'{OLD_CRI if release < V2 else CRI}']"
        yield Trap(path, "enable_cdi", problem, remedy)


def _is_written(loaded: Loaded, plugin: str) -> bool:
    """Whether a file has a table for a plugin."""
    return any(plugin in of_table(tables, "plugins") for tables in loaded.files.values())


def find_in_files(
    loaded: Loaded, release: Version, names: Callable[[str], list[str]]
) -> Iterator[Trap]:
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
        yield Trap(path, plugin, problem, remedy, Kind.OTHER_VERSION)


def _imports(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """Keys of the top that a table took, and globs that are not relative to the file."""
    for path, tables in loaded.files.items():
        for name, table in tables.items():
            for key in ("imports", "disabled_plugins", "version"):
                if name != "plugins" and isinstance(table, dict) and key in table:
                    problem = f"{key} is a key of the table [{name}] here, and has no effect"
                    remedy = f"write {key} before the first table of the file"
                    yield Trap(path, key, problem, remedy, Kind.KEY_OF_A_TABLE)
        for pattern in map(str, tables.get("imports", ())):
            if "*" in pattern and not pattern.startswith("/") and release < V2:
                problem = f"the relative pattern {pattern} is taken from the working directory of "
                problem += "containerd, not from the folder of this file"
                yield Trap(path, "imports", problem, kind=Kind.RELATIVE_PATTERN)


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
                yield Trap(main, "imports", f"nothing imports {path}", kind=Kind.NOT_IMPORTED)


def _newer(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """cmd/containerd/server/config of 2.3.0 to 2.3.4; taken back in August 2026."""
    main, *others = loaded.files
    of_main = loaded.files[main].get("version", 0)
    for path in others:
        version = loaded.files[path].get("version", 0)
        if release == MIGRATES_EACH_FILE and version > of_main > 0:
            problem = f"containerd 2.3.0 to 2.3.4 do not start: version {version} of this file is "
            problem += f"higher than {of_main}, that of {main}"
            yield Trap(path, "version", problem, kind=Kind.HIGHER_VERSION)


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
                yield Trap(path, plugin, problem, kind=Kind.REPLACED_TABLE)
            before[plugin] = (path, kept)


def _leaves(table: object, *way: str) -> list[str]:
    """Paths of the keys with values."""
    if not isinstance(table, dict):
        return [".".join(way)]
    return [leaf for key, value in table.items() for leaf in _leaves(value, *way, key)]
