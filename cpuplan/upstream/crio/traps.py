"""What bites in files that CRI-O takes: names, tables that replace others, sets that nobody checks.

Sources are measured on CRI-O itself: of a file any name counts, handlers and workloads replace each
other whole, `shared_cpuset` is read only when a container asks for it, and the hooks run for every
handler whose name contains `high-performance` (internal/runtimehandlerhooks).

Upstream: cri-o/cri-o pkg/config/config.go pkg/config/workloads.go
  internal/runtimehandlerhooks/runtime_handler_hooks_linux.go
  @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from cpuplan.upstream.crio.config import DROP_INS, File, Loaded, Table
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError, Trap

_HIGH_PERFORMANCE = "high-performance"
#: How editors, packages and people name what they keep.
_LEFT_OVER = (
    "~",
    ".bak",
    ".backup",
    ".disabled",
    ".old",
    ".orig",
    ".rpmnew",
    ".rpmorig",
    ".rpmsave",
    ".save",
    ".swp",
)


class Kind(Enum):
    """What a trap is about."""

    LEFT_OVER = auto()
    REPLACED_TABLE = auto()
    UNREADABLE_SHARED_CPUS = auto()
    COMMON_CPUS = auto()
    WITHOUT_RESOURCES = auto()
    WITHOUT_PREFIX = auto()
    COMMON_ANNOTATION = auto()
    NAME_OF_HANDLER = auto()


def find(files: Mapping[str, File], loaded: Loaded) -> Iterator[Trap]:
    """Traps of the files, in their order, then those of the whole configuration."""
    yield from _stray(files)
    for kind in ("runtimes", "workloads"):
        yield from _replaced(files, kind)
    yield from _shared(files, loaded)
    yield from _workloads(files, loaded)
    yield from _handlers(files, loaded)


def is_left_over(name: str) -> bool:
    """Whether a name is that of a backup or a hidden file, which nobody means to be read.

    Not all others end in .conf: OpenShift's own are 00-default and 01-ctrcfg-pidsLimit.
    """
    return name.startswith(".") or name.endswith(_LEFT_OVER) or ".dpkg-" in name


def _stray(files: Mapping[str, File]) -> Iterator[Trap]:
    for path in files:
        name = path.rpartition("/")[2]
        if path.startswith(f"{DROP_INS}/") and is_left_over(name):
            problem = f"CRI-O reads {path} too, whatever its name ends in"
            yield Trap(path, "", problem, kind=Kind.LEFT_OVER)


def _entries(file: File, kind: str) -> Mapping[str, Table]:
    entries: Mapping[str, Table] = file.tables.get("runtime", {}).get(kind, {})
    return entries


def _replaced(files: Mapping[str, File], kind: str) -> Iterator[Trap]:
    """Entries of which a later file leaves out keys of an earlier one."""
    before: dict[str, tuple[str, Table]] = {}
    for path, file in files.items():
        for name, entry in _entries(file, kind).items():
            earlier, keys = before.get(name, ("", {}))
            if lost := [key for key in keys if key not in entry]:
                problem = f"the table {kind}.{name} replaces that of {earlier} whole: "
                problem += f"{', '.join(lost)} is lost"
                yield Trap(path, name, problem, kind=Kind.REPLACED_TABLE)
            before[name] = (path, entry)


def _shared(files: Mapping[str, File], loaded: Loaded) -> Iterator[Trap]:
    key = "shared_cpuset"
    text, path = loaded.runtime[key], _last(files, key)
    try:
        shared = parse_cpus(text)
    except (KubeletError, PanicError) as error:
        problem = f"shared_cpuset {text} is no list of CPUs ({error}): CRI-O starts, and each "
        problem += "container that asks for shared CPUs fails"
        yield Trap(path, key, problem, kind=Kind.UNREADABLE_SHARED_CPUS)
        return
    common = shared & parse_cpus(loaded.runtime["infra_ctr_cpuset"])
    if common:
        problem = f"shared_cpuset and infra_ctr_cpuset have CPUs {to_text(common)} in common"
        yield Trap(path, key, problem, kind=Kind.COMMON_CPUS)


def _workloads(files: Mapping[str, File], loaded: Loaded) -> Iterator[Trap]:
    by_annotation: dict[str, str] = {}
    for name, workload in loaded.workloads.items():
        path = _last(files, "workloads", name)
        if "resources" not in workload:
            problem = f"workload {name} has no resources: a pod that brings its own crashes CRI-O"
            yield Trap(path, name, problem, kind=Kind.WITHOUT_RESOURCES)
        if not workload.get("annotation_prefix"):
            problem = (
                f"workload {name} has no annotation_prefix: any annotation /<container> counts"
            )
            yield Trap(path, name, problem, kind=Kind.WITHOUT_PREFIX)
        annotation = workload["activation_annotation"]
        if other := by_annotation.get(annotation):
            problem = f"workloads {other} and {name} have one activation_annotation: either may act"
            yield Trap(path, name, problem, kind=Kind.COMMON_ANNOTATION)
        by_annotation[annotation] = name


def _handlers(files: Mapping[str, File], loaded: Loaded) -> Iterator[Trap]:
    for name, handler in loaded.handlers.items():
        is_alike = _HIGH_PERFORMANCE in name and name != _HIGH_PERFORMANCE
        if is_alike and not handler.get("allowed_annotations"):
            problem = f"the name of handler {name} contains {_HIGH_PERFORMANCE}: "
            problem += "CRI-O runs its CPU hooks for all pods of it"
            path = _last(files, "runtimes", name)
            yield Trap(path, name, problem, kind=Kind.NAME_OF_HANDLER)


def _last(files: Mapping[str, File], key: str, entry: str = "") -> str:
    """The last file that gives a key of [crio.runtime], or an entry of one of its maps."""
    last = ""
    for path, file in files.items():
        value: Any = file.tables.get("runtime", {}).get(key)
        if value is not None and (not entry or entry in value):
            last = path
    return last
