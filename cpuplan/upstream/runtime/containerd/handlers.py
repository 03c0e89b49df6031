"""What bites in handlers and in NRI: pods that fail, cgroups in the wrong place, what is off."""

from collections.abc import Iterator

from cpuplan.platforms import Version
from cpuplan.upstream.runtime.containerd.names import (
    CRI,
    NRI,
    OLD_CRI,
    V2,
    Table,
    cri_table,
    of_table,
)
from cpuplan.upstream.runtime.containerd.plugins import LINUX_V1, cri, handlers, naming, nri
from cpuplan.upstream.runtime.containerd.reading import Loaded
from cpuplan.upstream.runtime.containerd.tables import wrong_types
from cpuplan.upstream.runtime.trap import Trap

#: Shims that 2.0 took away (docs/containerd-2.0.md).
_GONE = (LINUX_V1, "io.containerd.runc.v1")
_RUNC = "io.containerd.runc."
_FIRST_NRI = (1, 7)


def find(loaded: Loaded, release: Version, driver: str) -> Iterator[Trap]:
    """Traps of handlers, for a kubelet with a `cgroupDriver`, and of NRI's validator."""
    for name, handler in handlers(loaded, release).items():
        of_type = list(_of_type(name, handler, loaded, release))
        yield from of_type or _of_cgroups(name, handler, driver, loaded, release)
    for path, tables in loaded.files.items():
        for way, problem in wrong_types(tables):
            remedy = "give it a value of that type"
            if "options" in way[:-1]:
                yield Trap(path, way[-1], f"pods of handler {way[-3]} fail: {problem}", remedy)
            elif NRI in way:
                yield Trap(path, way[-1], f"NRI does not start: {problem}", remedy)
    validator = of_table(nri(loaded), "default_validator")
    listed = validator.get("required_plugins")
    required = ", ".join(map(str, listed if isinstance(listed, list) else ()))
    if validator.get("enable") and required:
        key = "tolerate_missing_plugins_annotation"
        if not validator.get(key):
            problem = f"no container starts while {required} is away, and none can be excepted: "
            problem += "not even the plugin's own"
            remedy = f"give {key} the name of an annotation, and the plugin's pods that annotation"
            yield Trap(naming(loaded, "required_plugins"), "required_plugins", problem, remedy)


def _of_type(name: str, handler: Table, loaded: Loaded, release: Version) -> Iterator[Trap]:
    """core/runtime/v2 looks for the shim by the type."""
    kind = handler.get("runtime_type", "")
    path = naming(loaded, name)
    remedy = 'write runtime_type = "io.containerd.runc.v2" in its table'
    if not kind:
        yield Trap(path, name, f"pods of handler {name} fail: it has no runtime_type", remedy)
    elif release >= V2 and kind in _GONE:
        problem = f"pods of handler {name} fail: containerd has no {kind} since 2.0"
        yield Trap(path, "runtime_type", problem, remedy)


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
    yield Trap(naming(loaded, key), key, problem, remedy)


def switched_off(loaded: Loaded, release: Version) -> Iterator[Trap]:
    """NRI and CDI, which are on by default since 2.0."""
    if release < _FIRST_NRI:
        return
    main = next(iter(loaded.files))
    table = nri(loaded)
    remedy = f"write disable = false in [plugins.'{NRI}'] where plugins are used"
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
