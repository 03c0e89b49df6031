"""What CRI-O makes of a merged configuration: what it refuses, and handlers that it leaves out.

From cri-o/cri-o, pkg/config/config.go (Validate) and workloads.go. Not repeated: ulimits, devices,
time zones, seccomp and other files that a key may name.

Upstream: cri-o/cri-o pkg/config/config.go pkg/config/workloads.go
  @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.facts.platforms import Version
from cpuplan.upstream.crio.config_keys import ENTRIES, LATEST, TABLES, is_new, was_known
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.durations import is_duration
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

RUNTIME: Mapping[str, Any] = {
    "cgroup_manager": "systemd",
    "conmon_cgroup": "",
    "ctr_stop_timeout": 30,
    "default_sysctls": None,
    "drop_infra_ctr": True,
    "hooks_dir": ["/usr/share/containers/oci/hooks.d"],
    "infra_ctr_cpuset": "",
    "irqbalance_config_file": "/etc/sysconfig/irqbalance",
    "irqbalance_config_restore_file": "/etc/sysconfig/orig_irq_banned_cpus",
    "log_level": "info",
    "min_injected_gomaxprocs": 0,
    "pids_limit": -1,
    "rdt_config_file": "",
    "shared_cpuset": "",
}
_NRI: Mapping[str, Any] = {
    "nri_disable_connections": False,
    "nri_listen": "/var/run/nri/nri.sock",
    "nri_plugin_config_dir": "/etc/nri/conf.d",
    "nri_plugin_dir": "/opt/nri/plugins",
    "nri_plugin_registration_timeout": "5s",
    "nri_plugin_request_timeout": "2s",
}
#: OCI runtimes that CRI-O's packages bring, with handlers of the same names.
RUNTIMES = ("crun", "runc")
MONITOR_CGROUP = "system.slice"
_FIRST_CRUN, _FIRST_WITH_NRI_ON, _FIRST_NEW_NAMES = (1, 31), (1, 30), (1, 35)
#: Seconds that a handler's containers may take to be made, by default and at least.
CREATE_TIMEOUT, LEAST_CREATE_TIMEOUT = 240, 30
MIN_MEMORY = "12MiB"
#: Annotations that a handler or workload may allow, since when; any other name refuses it
#: (pkg/annotations and pkg/annotations/v2).
_ANNOTATIONS: Mapping[Version, str] = {
    (1, 25): """cpu-c-states.crio.io cpu-freq-governor.crio.io cpu-load-balancing.crio.io
        cpu-quota.crio.io io.containers.trace-syscall io.kubernetes.cri-o.Devices
        io.kubernetes.cri-o.ShmSize io.kubernetes.cri-o.TrySkipVolumeSELinuxLabel
        io.kubernetes.cri-o.UnifiedCgroup io.kubernetes.cri-o.cgroup2-mount-hierarchy-rw
        io.kubernetes.cri-o.userns-mode io.kubernetes.cri.rdt-class irq-load-balancing.crio.io""",
    (1, 26): "io.kubernetes.cri-o.LinkLogs io.kubernetes.cri-o.seccompNotifierAction",
    (1, 27): """bundle io.kubernetes.cri-o.umask io.kubernetes.cri.container-type
        module.wasm.image/variant org.criu.config org.systemd.property. run.oci.""",
    (1, 28): """cpu-shared.crio.io io.kubernetes.cri-o.PodLinuxOverhead
        io.kubernetes.cri-o.PodLinuxResources""",
    (1, 30): "io.kubernetes.cri-o.DisableFIPS seccomp-profile.kubernetes.cri-o.io",
    (1, 35): """cgroup2-mount-hierarchy-rw.crio.io devices.crio.io disable-fips.crio.io
        io.kubernetes.cri-o.PlatformRuntimePath io.kubernetes.cri-o.Spoofed link-logs.crio.io
        org.opencontainers.image.stopSignal platform-runtime-path.crio.io
        pod-linux-overhead.crio.io pod-linux-resources.crio.io seccomp-notifier-action.crio.io
        seccomp-profile.crio.io shm-size.crio.io spoofed.crio.io
        try-skip-volume-selinux-label.crio.io umask.crio.io unified-cgroup.crio.io
        userns-mode.crio.io""",
}
#: Without CAP_ (containers/common, pkg/capabilities).
_CAPABILITIES = """
    AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
    DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN
    MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID
    SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE
    SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM"""
CAPABILITIES = frozenset(_CAPABILITIES.split())


def allowed_annotations(release: Version) -> frozenset[str]:
    """The annotations that a release knows."""
    return frozenset(
        name for since, names in _ANNOTATIONS.items() if since <= release for name in names.split()
    )


def default_runtime(release: Version) -> tuple[str, dict[str, Any]]:
    """The default handler, and its table."""
    name = "crun" if release >= _FIRST_CRUN else "runc"
    is_new = release >= _FIRST_NEW_NAMES
    devices = "devices.crio.io" if is_new else "io.kubernetes.cri-o.Devices"
    return name, {
        "runtime_type": "oci",
        "runtime_root": f"/run/{name}",
        "container_create_timeout": 240,
        "allowed_annotations": ["io.containers.trace-syscall", devices],
        "monitor_env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "container_min_memory": "500KiB",
        "monitor_cgroup": MONITOR_CGROUP,
    }


def default_nri(release: Version) -> Mapping[str, Any]:
    """The table [crio.nri]."""
    return {"enable_nri": release >= _FIRST_WITH_NRI_ON, **_NRI}


Table = dict[str, Any]

#: The main file, and the folder whose files follow it by name.
MAIN, DROP_INS = "crio.conf", "crio.conf.d"
_MAPS = ("runtimes", "workloads")
#: Keys whose values are tables of anything.
_LEAVES = ("default_annotations", "platform_runtime_paths")
_TYPES: Mapping[str, type] = {
    "text": str,
    "flag": bool,
    "number": int,
    "unsigned": int,
    "list": list,
    "map": dict,
}


class RefusedError(ValueError):
    """Why CRI-O does not start; `path` is the file, empty for the merged configuration."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.path = path


class NotTomlError(RefusedError):
    """What stops CRI-O before it looks at keys."""


class File(NamedTuple):
    """One file: what it sets, by table below [crio], and the keys that CRI-O passes over."""

    tables: Mapping[str, Table]
    unknown: tuple[str, ...]


def order(paths: Mapping[str, str]) -> list[str]:
    """Paths below the folder of the configuration, in the order in which CRI-O reads them."""
    drop_ins = [path.split("/") for path in paths if path.startswith(f"{DROP_INS}/")]
    first = [MAIN] if MAIN in paths else []
    return [*first, *("/".join(parts) for parts in sorted(drop_ins))]


def decode(path: str, text: str) -> File:
    """One file. RefusedError for what is no TOML, and for a value of another type."""
    try:
        data = foreign.read_toml(text)
    except (ValueError, RecursionError) as error:
        raise NotTomlError(str(error), path) from error
    unknown: list[str] = []
    tables: dict[str, Table] = {}
    try:
        for name, value in data.items():
            if name.lower() == "crio":
                _root(_table(value, name), tables, unknown)
            else:
                unknown += _paths(value, name)
    except TypeError as error:
        raise RefusedError(str(error), path) from error
    return File(tables, tuple(unknown))


def _root(data: Table, tables: dict[str, Table], unknown: list[str]) -> None:
    own: Table = {}
    for name, value in data.items():
        key = name.lower()
        if key in TABLES[""]:
            own[key] = _typed(TABLES[""][key], value, f"crio.{name}")
        elif key and key in TABLES:
            entries = _known(_table(value, f"crio.{name}"), key, f"crio.{name}", unknown)
            tables[key] = {**tables.get(key, {}), **entries}
        else:
            unknown += _paths(value, f"crio.{name}")
    if own:
        tables[""] = own


def _known(data: Table, table: str, path: str, unknown: list[str]) -> Table:
    """The known keys of one table."""
    keys = TABLES.get(table) or ENTRIES[table]
    known: Table = {}
    for name, value in data.items():
        key, place = name.lower(), f"{path}.{name}"
        if key in keys:
            known[key] = _typed(keys[key], value, place)
        elif table == "runtime" and key in _MAPS:
            known[key] = {
                entry: _known(_table(inner, f"{place}.{entry}"), key, f"{place}.{entry}", unknown)
                for entry, inner in _table(value, place).items()
            }
        elif (table, key) == ("workloads", "resources"):
            known[key] = _known(_table(value, place), key, place, unknown)
        elif (table, key) == ("nri", "default_validator"):
            known[key] = _known(_table(value, place), f"nri.{key}", place, unknown)
        else:
            unknown += _paths(value, place)
    return known


def _table(value: Any, path: str) -> Table:
    if isinstance(value, dict):
        return value
    raise TypeError(f"{path} is {_name(value)}, not a table")


def _typed(kind: str, value: Any, path: str) -> Any:
    """The value of a key; TypeError for one of another type."""
    if kind == "duration":
        if type(value) is int or (isinstance(value, str) and is_duration(value)):
            return value
        raise TypeError(f"{path} is no duration, such as 5s")
    wanted = _TYPES[kind]
    if _name(value) != foreign.name_in_toml(wanted):
        raise TypeError(f"{path} is {_name(value)}, not {foreign.name_in_toml(wanted)}")
    if kind == "unsigned" and value < 0:
        raise TypeError(f"{path} is negative")
    for item in _inner(value):
        if not isinstance(item, str):
            raise TypeError(f"{path} has {_name(item)}, not text")
    return value


def _inner(value: Any) -> list[Any]:
    """The items of a list, and the values of a table."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _name(value: Any) -> str:
    return foreign.name_in_toml(type(value))


def _paths(value: Any, path: str) -> Iterator[str]:
    """A key that nothing reads, and all below it."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths(inner, f"{path}.{name}")


def of_release(file: File, release: Version) -> File:
    """What a release makes of a file: it passes over keys that came later."""
    unknown = [path for path in file.unknown if not was_known(path.rpartition(".")[2], release)]
    tables = {
        name: _of_release(table, f"crio.{name}".rstrip("."), release, unknown)
        for name, table in file.tables.items()
    }
    return File(tables, tuple(unknown))


def _of_release(table: Table, path: str, release: Version, unknown: list[str]) -> Table:
    known: Table = {}
    for key, value in table.items():
        place = f"{path}.{key}"
        if isinstance(value, dict) and key not in _LEAVES:
            known[key] = _of_release(value, place, release, unknown)
        elif is_new(key, release):
            unknown.append(place)
        else:
            known[key] = value
    return known


def merge(files: Mapping[str, File]) -> dict[str, Table]:
    """What files give together, in their order.

    A later file wins key by key, but an entry of a map (a handler, a workload) replaces the earlier
    one whole.
    """
    merged: dict[str, Table] = {}
    for file in files.values():
        for name, table in file.tables.items():
            into = merged.setdefault(name, {})
            for key, value in table.items():
                if key in _MAPS or key == "default_validator":
                    into[key] = {**into.get(key, {}), **value}
                else:
                    into[key] = value
    return merged


_OCI, _VM, _POD = "oci", "vm", "pod"
_LEAST_LOG, _LEAST_PERIOD, _LEAST_STOP = 8192, 1000, 30
_VM_NAME = "containerd-shim-"


class Machine(NamedTuple):
    """The node: programs of its $PATH by name, its CPUs, and whether it has no other programs.

    Without CPUs, they are not known. `release` is that of CRI-O.
    """

    programs: Mapping[str, str] = {"crun": "/usr/bin/crun", "runc": "/usr/bin/runc"}
    cpus: int | None = None
    is_whole: bool = False
    release: Version = LATEST


class Loaded(NamedTuple):
    """The configuration in force: keys of [crio.runtime], handlers, workloads, [crio.nri].

    `dropped` are the handlers that are left out, with the reason.
    """

    runtime: Table
    handlers: dict[str, Table]
    workloads: dict[str, Table]
    nri: Table
    dropped: Mapping[str, str]


class NotStartedError(RefusedError):
    """What `crio config` accepts, and the daemon does not."""


def load(files: Mapping[str, File], machine: Machine = Machine()) -> Loaded:  # noqa: B008
    """The configuration of decoded files, in their order. RefusedError where CRI-O does not start.

    NotStartedError for what only the daemon refuses.
    """
    release = machine.release
    tables = merge({path: of_release(file, release) for path, file in files.items()})
    usual, table = default_runtime(release)
    runtime = {**RUNTIME, "default_runtime": usual, **tables.get("runtime", {})}
    handlers = {usual: table, **deepcopy(runtime.pop("runtimes", {}))}
    workloads = runtime.pop("workloads", {})
    _check(runtime, handlers, workloads, release)
    default = runtime["default_runtime"] = runtime["default_runtime"] or usual
    if runtime["cgroup_manager"] not in ("systemd", "cgroupfs"):
        raise NotStartedError(f"invalid cgroup manager: {runtime['cgroup_manager']}")
    dropped = _check_handlers(handlers, default, machine)
    for name, handler in handlers.items():
        _monitor(name, handler, runtime)
    infra = runtime["infra_ctr_cpuset"]
    # taskset starts conmon and the runtimes on these CPUs.
    if infra and machine.cpus is not None and not parse_cpus(infra) & machine.cpus:
        raise NotStartedError(f"infra_ctr_cpuset {infra} has no online CPU")
    nri = {**default_nri(release), **tables.get("nri", {})}
    return Loaded(runtime, handlers, workloads, nri, dropped)


def _check(
    runtime: Table, handlers: Mapping[str, Table], workloads: Mapping[str, Table], release: Version
) -> None:
    """What `crio config` refuses too."""
    if runtime["min_injected_gomaxprocs"] < 0:
        least = runtime["min_injected_gomaxprocs"]
        raise RefusedError(f"min_injected_gomaxprocs must be >= 0, got {least}")
    for path in runtime.get("additional_artifact_stores", ()):
        if not path.startswith("/"):
            raise RefusedError(f"additional_artifact_stores entry must be absolute: {path}")
    default = runtime["default_runtime"]
    if default and default not in handlers:
        raise RefusedError(f"default_runtime is {default}, but there is no such handler")
    if 0 <= runtime.get("log_size_max", -1) < _LEAST_LOG:
        raise RefusedError(f"log_size_max should be negative or >= {_LEAST_LOG}")
    runtime["ctr_stop_timeout"] = max(runtime["ctr_stop_timeout"], _LEAST_STOP)
    for entry in runtime["default_sysctls"] or ():
        if "=" not in entry:
            raise RefusedError(f"invalid default_sysctls: {entry}")
    for name in runtime.get("default_capabilities", ()):
        if name.upper().removeprefix("CAP_") not in {*CAPABILITIES, "ALL"}:
            raise RefusedError(f"invalid capabilities: {name}")
    _check_cpus("infra_ctr_cpuset", runtime["infra_ctr_cpuset"])
    for name, workload in workloads.items():
        _check_workload(name, workload, release)


def _check_cpus(name: str, text: str) -> None:
    try:
        parse_cpus(text)
    except (KubeletError, PanicError) as error:
        raise RefusedError(f"invalid {name}: {error}") from error


def _check_workload(name: str, workload: Table, release: Version) -> None:
    if not workload.get("activation_annotation"):
        raise RefusedError(f"workload {name} has no activation_annotation")
    _check_annotations(workload, release)
    resources = workload.get("resources", {})
    _check_cpus(f"cpuset of workload {name}", resources.get("cpuset", ""))
    quota, shares = resources.get("cpuquota", 0), resources.get("cpushares", 0)
    if quota and quota < shares:
        raise RefusedError(f"cpuquota {quota} cannot be less than cpushares {shares}")
    if 0 < resources.get("cpuperiod", 0) < _LEAST_PERIOD:
        raise RefusedError(f"cpuperiod {resources['cpuperiod']} is below {_LEAST_PERIOD} us")


def _check_annotations(table: Table, release: Version) -> None:
    known = allowed_annotations(release)
    for name in table.get("allowed_annotations", ()):
        if name not in known:
            raise RefusedError(f"invalid allowed_annotation: {name}")


def _check_handlers(handlers: dict[str, Table], default: str, machine: Machine) -> dict[str, str]:
    """Fills in what handlers inherit, and takes out those that are invalid: {name: reason}."""
    inherited = dict(handlers[default])
    for handler in handlers.values():
        if handler.get("inherit_default_runtime"):
            path = inherited.get("runtime_path") or machine.programs.get(default, "")
            handler["runtime_path"] = path
            for key in ("runtime_type", "runtime_config_path", "runtime_root"):
                handler[key] = inherited.get(key, "")
    dropped: dict[str, str] = {}
    for name, handler in handlers.items():
        try:
            _check_handler(name, handler, machine)
        except RefusedError as error:
            if name == default:
                raise NotStartedError(str(error)) from error
            dropped[name] = str(error)
    for name in dropped:
        del handlers[name]
    return dropped


def _check_handler(name: str, handler: Table, machine: Machine) -> None:
    kind = handler.get("runtime_type", "")
    if kind not in ("", _OCI, _VM, _POD):
        raise RefusedError(f"invalid runtime_type {kind}")
    path = handler.get("runtime_path") or machine.programs.get(name, "")
    if not path:
        raise RefusedError(f"it has no runtime_path, and no program is named {name}")
    if machine.is_whole and path not in machine.programs.values():
        raise RefusedError(f"there is no {path}")
    handler["runtime_path"] = path
    if kind == _VM and not path.rpartition("/")[2].startswith(_VM_NAME):
        raise RefusedError(f"{path} is named unlike {_VM_NAME}...")
    if handler.get("runtime_config_path") and kind != _VM:
        raise RefusedError("runtime_config_path is for runtime_type vm only")
    _check_annotations(handler, machine.release)
    handler["container_min_memory"] = handler.get("container_min_memory") or MIN_MEMORY
    timeout = handler.get("container_create_timeout") or CREATE_TIMEOUT
    handler["container_create_timeout"] = max(timeout, LEAST_CREATE_TIMEOUT)
    if handler.get("no_sync_log") and kind not in ("", _OCI):
        raise RefusedError("no_sync_log is for runtime_type oci only")
    if handler.get("stream_websockets") and kind != _POD:
        raise RefusedError("stream_websockets is for runtime_type pod only")
    affinity = handler.get("exec_cpu_affinity", "")
    if affinity not in ("", "first"):
        raise RefusedError(f"invalid exec_cpu_affinity {affinity}")


def _monitor(name: str, handler: Table, runtime: Mapping[str, Any]) -> None:
    """The cgroup of the monitor of a handler; NotStartedError for one that cannot be."""
    if handler.get("runtime_type", "") not in ("", _OCI):
        return
    is_systemd = runtime["cgroup_manager"] == "systemd"
    cgroup = runtime["conmon_cgroup"] or handler.get("monitor_cgroup", "")
    if is_systemd:
        cgroup = cgroup or MONITOR_CGROUP
        if cgroup != "pod" and not cgroup.endswith(".slice"):
            text = "conmon cgroup should be 'pod' or a systemd slice"
            raise NotStartedError(f"runtime {name}: {text}")
    else:
        cgroup = "" if cgroup == MONITOR_CGROUP else cgroup
        if cgroup not in ("", "pod"):
            text = f"cgroupfs manager conmon cgroup should be 'pod' or empty, but got: {cgroup}"
            raise NotStartedError(f"runtime {name}: {text}")
    handler["monitor_cgroup"] = cgroup
    handler["monitor_path"] = runtime.get("conmon") or handler.get("monitor_path", "")
