"""What CRI-O makes of a merged configuration: what it refuses, and handlers that it leaves out.

From cri-o/cri-o, pkg/config/config.go (Validate) and workloads.go. Not repeated: ulimits, devices,
time zones, seccomp and other files that a key may name.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from cpuplan.platforms import Version
from cpuplan.upstream.kubelet.bits import parse_cpus
from cpuplan.upstream.kubelet.errors import KubeletError, PanicError
from cpuplan.upstream.runtime.configuration import defaults
from cpuplan.upstream.runtime.configuration.keys import LATEST
from cpuplan.upstream.runtime.configuration.reading import (
    File,
    RefusedError,
    Table,
    merge,
    of_release,
)

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
    usual, table = defaults.default_runtime(release)
    runtime = {**defaults.RUNTIME, "default_runtime": usual, **tables.get("runtime", {})}
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
    nri = {**defaults.nri(release), **tables.get("nri", {})}
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
        if name.upper().removeprefix("CAP_") not in {*defaults.CAPABILITIES, "ALL"}:
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
    known = defaults.allowed_annotations(release)
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
    handler["container_min_memory"] = handler.get("container_min_memory") or defaults.MIN_MEMORY
    timeout = handler.get("container_create_timeout") or defaults.CREATE_TIMEOUT
    handler["container_create_timeout"] = max(timeout, defaults.LEAST_CREATE_TIMEOUT)
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
        cgroup = cgroup or defaults.MONITOR_CGROUP
        if cgroup != "pod" and not cgroup.endswith(".slice"):
            text = "conmon cgroup should be 'pod' or a systemd slice"
            raise NotStartedError(f"runtime {name}: {text}")
    else:
        cgroup = "" if cgroup == defaults.MONITOR_CGROUP else cgroup
        if cgroup not in ("", "pod"):
            text = f"cgroupfs manager conmon cgroup should be 'pod' or empty, but got: {cgroup}"
            raise NotStartedError(f"runtime {name}: {text}")
    handler["monitor_cgroup"] = cgroup
    handler["monitor_path"] = runtime.get("conmon") or handler.get("monitor_path", "")
