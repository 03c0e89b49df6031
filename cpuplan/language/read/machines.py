"""Objects of KubeVirt that run virtual machines, and the pod of virt-launcher of each.

A VirtualMachine, an instance, a replica set of these, a pool; with the instancetypes and the
KubeVirt object that stand in the files beside them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base.text import counted, did_you_mean, joined
from cpuplan.diagnostics.source import Field
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import parse
from cpuplan.upstream.kubevirt import vmi
from cpuplan.upstream.kubevirt.defaults import with_defaults
from cpuplan.upstream.kubevirt.template import hook_sidecars, launch_manifest
from cpuplan.upstream.kubevirt.types import (
    CPU_KEYS,
    MEMORY_KEYS,
    NO,
    YES,
    Instance,
    part,
    read_instance,
)
from cpuplan.upstream.kubevirt.virt_config import DEFAULT, Config, read_config
from cpuplan.upstream.kubevirt.vmi_create_admitter import causes

GROUP = "kubevirt.io"
_INSTANCETYPE_GROUP = "instancetype.kubevirt.io"


class _Kind(NamedTuple):
    """Where the instance stands in an object, the VirtualMachine's spec, and the number of them."""

    instance: Field
    machine: Field = ()
    number: Field = ()


_TEMPLATE = ("spec", "template")
_OF_POOL = ("spec", "virtualMachineTemplate", "spec")
#: kubevirt.io/api core/v1 and pool/v1beta1.
_KINDS = {
    "VirtualMachineInstance": _Kind(()),
    "VirtualMachine": _Kind(_TEMPLATE, ("spec",)),
    "VirtualMachineInstanceReplicaSet": _Kind(_TEMPLATE, number=("spec", "replicas")),
    "VirtualMachinePool": _Kind((*_OF_POOL, "template"), _OF_POOL, ("spec", "replicas")),
}
_CLUSTER_INSTANCETYPE = "VirtualMachineClusterInstancetype"
_INSTANCETYPES = ("VirtualMachineInstancetype", _CLUSTER_INSTANCETYPE)
#: Objects of KubeVirt whose controller makes a pod for a time.
_PASSING = {
    "VirtualMachineInstanceMigration": "a migration runs a second pod of its machine for a time",
    "VirtualMachineExport": "an export runs a pod of its own for a time",
}


class Fault(NamedTuple):
    """Why KubeVirt refuses a machine, and the field of the object."""

    field: Field
    problem: str


class MissingTypeError(Exception):
    """The instancetype that a machine names is not known: the field, and the name."""

    def __init__(self, field: Field, kind: str, name: str) -> None:
        super().__init__(name)
        self.field, self.kind, self.name = field, kind, name


class Known(NamedTuple):
    """What the files say beside the machines: instancetypes by kind, namespace and name."""

    instancetypes: Mapping[tuple[str, str, str], Any] = {}
    config: Config = DEFAULT


NOTHING_KNOWN = Known()


class Machine(NamedTuple):
    """What is known of the pods of a machine: the field of the instance, and a pod's manifest.

    `count` is of whatever type is written; `count_at` the field that says it. `unread` are the
    parts that bring pods, containers or resources that no file tells.
    """

    at: Field
    instance: Instance
    pod: dict[str, Any]
    count: Any
    count_at: Field
    is_halted: bool
    unread: tuple[str, ...]


def group_of(manifest: Any) -> str:
    """The API group of an object: empty for the core, and where none is written."""
    group, slash, _ = str(manifest.get("apiVersion") or "").partition("/")
    return group if slash else ""


def is_machine(manifest: Any) -> bool:
    """Whether an object of KubeVirt, or of no group, runs machines."""
    group = group_of(manifest)
    return manifest.get("kind") in _KINDS and (not group or group.endswith(GROUP))


def instance_at(manifest: Any) -> Field:
    """Where the instance of a machine, or the template of its instances, stands."""
    return _KINDS[str(manifest["kind"])].instance


def cpus_in_words(instance: Instance, requested: str) -> str:
    """`5 exclusive CPUs: 4 vCPUs and 1 for the emulator`."""
    if not instance.is_dedicated:
        return f"a request of {requested} CPUs: {counted(instance.vcpus, 'vCPU')} share CPUs"
    parts = [counted(instance.vcpus, "vCPU")]
    if instance.io_threads:
        parts.append(counted(instance.io_threads, "I/O thread"))
    emulator = int(requested) - instance.vcpus - instance.io_threads
    if emulator:
        parts.append(f"{emulator} for the emulator")
    return f"{counted(int(requested), 'exclusive CPU')}: {joined(parts)}"


def passing_pod(manifest: Any) -> str:
    """Why an object of KubeVirt has a pod although it is no machine; empty where it has none."""
    return _PASSING.get(str(manifest.get("kind")), "") if _is_of_kubevirt(manifest) else ""


def _is_of_kubevirt(manifest: Any) -> bool:
    return group_of(manifest).endswith(GROUP)


def known_in(objects: Iterable[Any]) -> Known:
    """What the objects of all files say beside machines."""
    types: dict[tuple[str, str, str], Any] = {}
    config = DEFAULT
    for manifest in objects:
        kind, group = manifest.get("kind"), group_of(manifest)
        if kind in _INSTANCETYPES and group == _INSTANCETYPE_GROUP:
            metadata = part(manifest, "metadata")
            is_of_cluster = kind == _CLUSTER_INSTANCETYPE
            namespace = "" if is_of_cluster else str(metadata.get("namespace") or "")
            types[str(kind), namespace, str(metadata.get("name"))] = manifest
        elif kind == "KubeVirt" and group == GROUP:
            config = read_config(manifest)
    return Known(types, config)


def read_machine(
    manifest: Mapping[str, Any], known: Known = NOTHING_KNOWN
) -> Machine | list[Fault]:
    """The pods of a machine, or all that KubeVirt refuses. Raises MissingTypeError."""
    kind = _KINDS[str(manifest["kind"])]
    at = kind.instance
    template = _at(manifest, at)
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return [Fault(at, f"has no {'.'.join((*map(str, at), 'spec'))}")]
    spec_at = (*at, "spec")
    if faults := [fault._replace(field=(*spec_at, *fault.field)) for fault in _shapes(template)]:
        return faults
    metadata = part(template, "metadata")
    own = {key: str(value) for key, value in part(metadata, "annotations").items()}
    spec = template["spec"]
    given, type_at = _instancetype(manifest, kind, known)
    if given is not None:
        if faults := list(_type_faults(given, spec, type_at, spec_at)):
            return faults
        spec, own = vmi.applied(given, spec), vmi.annotations(given, own)
    instance = with_defaults(read_instance(spec, own), known.config)
    if faults := [Fault((*spec_at, *cause.field), cause.problem) for cause in causes(instance)]:
        return faults
    if hook_sidecars(instance) is None:
        field = (*at, "metadata", "annotations")
        return [Fault(field, "has an annotation for hook sidecars that is no JSON list")]
    pod = launch_manifest(instance, _pod_name(manifest), _pods_metadata(manifest, at), known.config)
    count = _at(manifest, kind.number) if kind.number else None
    machine = _at(manifest, kind.machine) if kind.machine else {}
    return Machine(
        at,
        instance,
        pod,
        1 if count is None else count,
        kind.number,
        machine.get("runStrategy") == "Halted" or machine.get("running") is False,
        tuple(_unread(instance, machine)),
    )


def why_no_pod(manifest: Mapping[str, Any]) -> str:
    """Why a machine by itself has no pod that is known; empty where it has one."""
    try:
        machine = read_machine(manifest)
    except MissingTypeError as error:
        return f"{error.kind} {error.name} says what its machine has"
    return f"KubeVirt refuses it: it {machine[0].problem}" if isinstance(machine, list) else ""


def _at(data: Any, field: Field) -> Any:
    for name in field:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _pod_name(manifest: Mapping[str, Any]) -> str:
    metadata = part(manifest, "metadata")
    name = metadata.get("name") or metadata.get("generateName") or str(manifest["kind"]).lower()
    return f"virt-launcher-{str(name).rstrip('-')}"


def _pods_metadata(manifest: Mapping[str, Any], at: Field) -> dict[str, Any]:
    """Labels of the template, and the namespace of the object."""
    namespace = part(manifest, "metadata").get("namespace")
    labels = part(_at(manifest, at), "metadata").get("labels")
    return {"namespace": namespace, "labels": labels}


def _instancetype(
    manifest: Mapping[str, Any], kind: _Kind, known: Known
) -> tuple[Mapping[str, Any] | None, Field]:
    """The spec of the instancetype that a machine names, and the field that names it."""
    field = (*kind.machine, "instancetype")
    named = part(manifest, *map(str, field)) if kind.machine else {}
    if not named:
        return None, field
    name, given = str(named.get("name") or ""), str(named.get("kind") or _CLUSTER_INSTANCETYPE)
    type_kind = next((kind for kind in _INSTANCETYPES if kind.lower() == given.lower()), given)
    namespace = str(part(manifest, "metadata").get("namespace") or "")
    is_of_cluster = type_kind == _CLUSTER_INSTANCETYPE
    key = (type_kind, "" if is_of_cluster else namespace, name)
    if key not in known.instancetypes:
        shown = name or f"of volume {named.get('inferFromVolume')}"
        raise MissingTypeError((*field, "name") if name else field, type_kind, shown)
    return part(known.instancetypes[key], "spec"), field


def _type_faults(
    given: Mapping[str, Any], spec: Mapping[str, Any], type_at: Field, spec_at: Field
) -> Iterator[Fault]:
    faults = list(_faults_of(_OF_INSTANCETYPE, given))
    for fault in faults:
        yield Fault(type_at, f"has an instancetype that {fault.problem}")
    if faults:
        return
    for field in vmi.conflicts(given, spec):
        problem = f"says {'.'.join(field)}, which its instancetype says too"
        yield Fault((*spec_at, *field), problem)


def _unread(instance: Instance, machine: Any) -> Iterator[str]:
    templates = machine.get("dataVolumeTemplates") if isinstance(machine, dict) else None
    if templates:
        yield "the importers of its DataVolumes, which run before it"
    interfaces = instance.devices.get("interfaces") or ()
    names = [str(given.get("name")) for given in interfaces if "sriov" in given]
    if names:
        yield f"the resources of its SR-IOV networks {', '.join(names)}"
    bindings = [str(part(given, "binding").get("name")) for given in interfaces]
    if plugins := [name for name in bindings if name != "None"]:
        yield f"the sidecars of its network bindings {', '.join(plugins)}"


def _is_amount(value: Any) -> bool:
    try:
        return not isinstance(value, bool | dict | list) and parse(str(value)).nano >= 0
    except KubeletError:
        return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


#: What a value must be, in words, and how it is told.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "a mapping": lambda value: isinstance(value, dict),
    "a list of mappings": lambda value: (
        isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    ),
    "text": lambda value: isinstance(value, str),
    "true or false": lambda value: (
        isinstance(value, bool) or (isinstance(value, str) and value.lower() in (*YES, *NO))
    ),
    "a number from 0": _is_count,
    "a valid quantity": _is_amount,
    "a mapping of quantities": lambda value: (
        isinstance(value, dict) and all(map(_is_amount, value.values()))
    ),
}
_MAPPING, _LIST, _TEXT, _BOOL, _COUNT, _AMOUNT, _AMOUNTS = _TYPES
_Rows = tuple[tuple[str, str], ...]
_OF_CPU: _Rows = (
    *((f"cpu.{name}", _COUNT) for name in ("cores", "sockets", "threads", "maxSockets")),
    *((f"cpu.{name}", _BOOL) for name in ("dedicatedCpuPlacement", "isolateEmulatorThread")),
    *((f"cpu.{name}", _MAPPING) for name in ("numa", "realtime")),
)
_OF_MEMORY: _Rows = (
    ("memory.guest", _AMOUNT),
    ("memory.hugepages", _MAPPING),
    ("memory.hugepages.pageSize", _TEXT),
)
_DEVICE_LISTS = ("disks", "filesystems", "gpus", "hostDevices", "interfaces")


def _of_devices(below: str) -> _Rows:
    """The fields of GPUs and devices of the host."""
    kinds = (
        ("deviceName", _TEXT),
        ("claimRequest", _MAPPING),
        ("claimRequest.claimName", _TEXT),
        ("claimRequest.requestName", _TEXT),
    )
    lists = ("gpus", "hostDevices")
    return tuple((f"{below}{name}.*.{field}", kind) for name in lists for field, kind in kinds)


#: The fields of an instance's domain that are read, outer ones first.
_OF_DOMAIN: _Rows = (
    *((name, _MAPPING) for name in ("cpu", "memory", "resources", "devices", "ioThreads")),
    *((name, _MAPPING) for name in ("launchSecurity", "firmware")),
    *_OF_CPU,
    *_OF_MEMORY,
    ("memory.reservedOverhead", _MAPPING),
    ("memory.reservedOverhead.addedOverhead", _AMOUNT),
    ("resources.requests", _AMOUNTS),
    ("resources.limits", _AMOUNTS),
    ("ioThreads.supplementalPoolThreadCount", _COUNT),
    ("ioThreadsPolicy", _TEXT),
    *((f"devices.{name}", _LIST) for name in _DEVICE_LISTS),
    *((f"devices.{name}.*.name", _TEXT) for name in _DEVICE_LISTS),
    ("devices.interfaces.*.model", _TEXT),
    *_of_devices("devices."),
)
_OF_SPEC: _Rows = (
    ("volumes", _LIST),
    ("volumes.*.name", _TEXT),
    ("resourceClaims", _LIST),
    ("architecture", _TEXT),
    ("priorityClassName", _TEXT),
    ("schedulerName", _TEXT),
    ("domain", _MAPPING),
    *((f"domain.{name}", kind) for name, kind in _OF_DOMAIN),
)
_OF_INSTANCETYPE: _Rows = (
    ("cpu", _MAPPING),
    ("cpu.guest", _COUNT),
    ("cpu.maxSockets", _COUNT),
    *((f"cpu.{name}", _BOOL) for name in ("dedicatedCPUPlacement", "isolateEmulatorThread")),
    *((f"cpu.{name}", _MAPPING) for name in ("numa", "realtime")),
    ("memory", _MAPPING),
    *_OF_MEMORY,
    ("memory.overcommitPercent", _COUNT),
    ("gpus", _LIST),
    ("hostDevices", _LIST),
    *_of_devices(""),
    ("launchSecurity", _MAPPING),
    ("ioThreadsPolicy", _TEXT),
    ("schedulerName", _TEXT),
    ("ioThreads", _MAPPING),
    ("ioThreads.supplementalPoolThreadCount", _COUNT),
    ("annotations", _MAPPING),
)


def _shapes(template: Mapping[str, Any]) -> Iterator[Fault]:
    """Fields of an instance that are of another type, missing, or unknown to KubeVirt."""
    spec = template["spec"]
    if "domain" not in spec:
        yield Fault((), "has no domain")
    yield from _faults_of(_OF_SPEC, spec)
    for index, volume in enumerate(spec["volumes"] if _is_list(spec.get("volumes")) else ()):
        if "name" not in volume:
            yield Fault(("volumes", index), "has a volume without a name")
    for name, keys in (("cpu", CPU_KEYS), ("memory", MEMORY_KEYS)):
        for key in part(spec, "domain", name):
            if key not in keys:
                hint = did_you_mean(str(key), keys)
                yield Fault(("domain", name, key), f"has no field domain.{name}.{key}: {hint}")


def _is_list(value: Any) -> bool:
    return _TYPES[_LIST](value)


def _faults_of(rows: _Rows, data: Any) -> Iterator[Fault]:
    for path, kind in rows:
        for field, value in _values(data, path.split(".")):
            if value is not None and not _TYPES[kind](value):
                yield Fault(field, f"has {'.'.join(map(str, field))} that is not {kind}")


def _values(data: Any, path: list[str]) -> Iterator[tuple[Field, Any]]:
    """The values at a path, of which `*` stands for the entries of a list."""
    left: list[tuple[Field, Any]] = [((), data)]
    for name in path:
        if name == "*":
            left = [
                ((*field, index), entry)
                for field, value in left
                for index, entry in enumerate(value if isinstance(value, list) else ())
            ]
        else:
            left = [
                ((*field, name), value.get(name))
                for field, value in left
                if isinstance(value, dict)
            ]
    yield from left
