"""What the CRI plugin makes of its table: whether it starts, and its handlers.

From containerd/containerd, plugins/cri and internal/cri/config (2.0 on), pkg/cri (before).
containerd itself starts without the plugin, and the kubelet finds no runtime.

Upstream: containerd/containerd plugins/cri/cri.go plugins/cri/runtime/plugin.go
  internal/cri/config/config.go @ db8809540e1a7a9da5d518876894933ff55692ab
"""

from collections.abc import Iterator, Mapping

from cpuplan.facts.platforms import Version
from cpuplan.upstream.containerd.config import Loaded
from cpuplan.upstream.containerd.cri_config import (
    CRI,
    IMAGES,
    NRI,
    OLD_CRI,
    V2,
    Table,
    cri_table,
    of_table,
    wrong_types,
)
from cpuplan.upstream.kubernetes.errors import Trap

_DEFAULT = "runc"
_RUNC_V2, LINUX_V1 = "io.containerd.runc.v2", "io.containerd.runtime.v1.linux"
_DISABLED = "disabled_plugins"


def refusals(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """Why the CRI plugin does not start; nothing if it does."""
    needed = (OLD_CRI,) if release < V2 else (OLD_CRI, CRI, IMAGES)
    for name in loaded.tables.get(_DISABLED, ()):
        if name in needed:
            path = naming(loaded, _DISABLED)
            problem = f"{_DISABLED} has {name}, and no later file can take it out"
            yield Trap(path, _DISABLED, problem, "take it out of the list")
    yield from _of_types(loaded)
    yield from _of_handlers(loaded, release)
    registry = of_table(cri(loaded, release), "registry")
    images = of_table(of_table(loaded.tables, "plugins"), IMAGES)
    registry = {**registry, **of_table(images, "registry")}
    if registry.get("mirrors") and registry.get("config_path"):
        problem = "registry.mirrors cannot be set where registry.config_path is"
        yield Trap(naming(loaded, "mirrors"), "mirrors", problem, "write the mirrors as hosts.toml")


def cri(loaded: Loaded, release: Version) -> Table:
    """The table with the runtimes."""
    return of_table(of_table(loaded.tables, "plugins"), cri_table(release))


def nri(loaded: Loaded) -> Table:
    """The table of NRI."""
    return of_table(of_table(loaded.tables, "plugins"), NRI)


def handlers(loaded: Loaded, release: Version) -> Mapping[str, Table]:
    """The handlers of runtimes by name.

    Without any, there is the default one. Before 2.0, any handler of the files replaces it.
    """
    own = of_table(of_table(cri(loaded, release), "containerd"), "runtimes")
    given = {name: of_table(own, name) for name in own}
    usual: Table = {"runtime_type": _RUNC_V2, "options": {"SystemdCgroup": False}}
    if release < V2:
        return given or {_DEFAULT: usual}
    runc = given.get(_DEFAULT, {})
    options = {**usual["options"], **of_table(runc, "options")}
    return {**given, _DEFAULT: {**usual, **runc, "options": options}}


def default(loaded: Loaded, release: Version) -> str:
    """The handler of pods that name none."""
    inner = of_table(cri(loaded, release), "containerd")
    return str(inner.get("default_runtime_name", _DEFAULT))


def _of_types(loaded: Loaded) -> Iterator[Trap]:
    for path, tables in loaded.files.items():
        for way, problem in wrong_types(tables):
            if way[1:] and "options" not in way[:-1] and NRI not in way:
                yield Trap(path, way[-1], problem, "give it a value of that type")


def _of_handlers(loaded: Loaded, release: Version) -> Iterator[Trap]:
    known, name = handlers(loaded, release), default(loaded, release)
    old = "default_runtime"
    if old in of_table(cri(loaded, release), "containerd") and release < V2:
        return
    if name not in known:
        problem = f"default_runtime_name is {name or 'empty'}, and there is no such handler"
        key = "default_runtime_name"
        yield Trap(naming(loaded, key), key, problem, "name one that has a table below runtimes")
        return
    for key in ("systemd_cgroup", "no_pivot"):
        table = cri(loaded, release)
        table = {**table, **of_table(table, "containerd")}
        if release < V2 and table.get(key) and known[name].get("runtime_type") != LINUX_V1:
            remedy = "write SystemdCgroup = true in the options of the handler"
            problem = f"{key} is only for handlers of {LINUX_V1}"
            yield Trap(naming(loaded, key), key, problem, remedy)


def naming(loaded: Loaded, key: str) -> str:
    """The last file with a key, in any of its tables; the first file without one."""
    first, *_ = paths = list(loaded.files)
    return next((path for path in reversed(paths) if _has(loaded.files[path], key)), first)


def _has(table: Table, key: str) -> bool:
    return key in table or any(_has(item, key) for item in table.values() if isinstance(item, dict))
