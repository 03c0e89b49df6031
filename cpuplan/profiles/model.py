"""The PerformanceProfile (performance.openshift.io/v2) as its CRD defines it, and checked by it.

Unknown keys are refused, although an API server silently drops them. The webhook's rules are in
`profiles.rules`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components.openshift.performanceprofile import API_VERSION
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position, Source
from cpuplan.facts import platforms
from cpuplan.facts.platforms import Feature
from cpuplan.facts.versions import operator_has
from cpuplan.language.model.base import KubeletList, Listed, Model, attributes, list_pattern
from cpuplan.language.read.documents import name_problems, validate, written


class Cpu(Model):
    """CPU sets, by number."""

    reserved: KubeletList
    isolated: KubeletList
    balance_isolated: bool | None = None
    offlined: KubeletList | None = None
    shared: KubeletList | None = None
    ovs_dpdk: KubeletList | None = None


#: The operator's Go type; its decoder refuses larger numbers.
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class HugePage(Model):
    """Pages of one size."""

    size: str = ""
    count: Int32 = 0
    node: Int32 | None = None


class HugePages(Model):
    """Huge pages at boot."""

    default_hugepages_size: str | None = None
    pages: Annotated[tuple[HugePage, ...], Listed] | None = None


class RealTimeKernel(Model):
    """The kernel."""

    enabled: bool | None = None


class Numa(Model):
    """The topology manager."""

    topology_policy: str | None = None


class Device(Model):
    """Network devices that fit everything that is written here."""

    interface_name: str | None = None
    vendor_id: str | None = Field(default=None, alias="vendorID")
    device_id: str | None = Field(default=None, alias="deviceID")


class Net(Model):
    """Queues of network devices."""

    user_level_networking: bool | None = None
    devices: Annotated[tuple[Device, ...], Listed] | None = None


class HardwareTuning(Model):
    """Highest frequencies in kHz."""

    isolated_cpu_freq: int | None = None
    reserved_cpu_freq: int | None = None


class WorkloadHints(Model):
    """What the workloads are like."""

    high_power_consumption: bool | None = None
    real_time: bool | None = None
    per_pod_power_management: bool | None = None
    mixed_cpus: bool | None = None


class PerformanceProfileSpec(Model):
    """`spec`; null means left out, as everywhere in Kubernetes."""

    cpu: Cpu
    node_selector: dict[str, str]
    hardware_tuning: HardwareTuning | None = None
    hugepages: HugePages | None = None
    machine_config_label: dict[str, str] | None = None
    machine_config_pool_selector: dict[str, str] | None = None
    real_time_kernel: RealTimeKernel | None = None
    kernel_page_size: str | None = None
    additional_kernel_args: Annotated[tuple[str, ...], Listed] | None = None
    numa: Numa | None = None
    net: Net | None = None
    globally_disable_irq_load_balancing: bool | None = None
    workload_hints: WorkloadHints | None = None


LATER_FIELDS: dict[tuple[str, ...], Feature] = {
    ("cpu", "shared"): "profile.mixed_cpus",
    ("cpu", "ovsDpdk"): "ovs.dpdk",
    ("hardwareTuning",): "profile.hardware_tuning",
    ("kernelPageSize",): "profile.kernel_page_size",
    ("workloadHints", "mixedCpus"): "profile.mixed_cpus",
}


def unsupported_fields(spec: PerformanceProfileSpec, release: str) -> Iterator[tuple[str, ...]]:
    """The fields of a profile that an API server of the release drops."""
    for field, feature in LATER_FIELDS.items():
        value: Any = spec
        for name in field:
            value = value and _value(value, name)
        if value is not None and not operator_has(release, feature):
            yield field


def _value(mapping: Model, key: str) -> Any:
    return getattr(mapping, attributes(type(mapping))[key])


def release_of_field(field: tuple[str, ...]) -> str:
    """The release that brought a field."""
    return platforms.OPENSHIFT_FEATURES[LATER_FIELDS[field]].first


def without_unsupported(
    spec: PerformanceProfileSpec, dropped: Iterable[tuple[str, ...]]
) -> PerformanceProfileSpec:
    """The spec as the API server keeps it."""
    for first, *rest in dropped:
        own = attributes(PerformanceProfileSpec)[first]
        value: Any = None
        if rest:
            inner: Model = getattr(spec, own)
            value = inner.model_copy(update={attributes(type(inner))[rest[0]]: None})
        spec = spec.model_copy(update={own: value})
    return spec


#: The fields of `cpu`: their names in YAML, and in the model.
CPU_SETS = {
    "reserved": "reserved",
    "isolated": "isolated",
    "offlined": "offlined",
    "shared": "shared",
    "ovsDpdk": "ovs_dpdk",
}


class Profile(NamedTuple):
    """A profile. `at` returns the place of a field, or of its parent if it is missing."""

    name: str
    spec: PerformanceProfileSpec
    at: Callable[..., Position]


_LIST = re.compile(list_pattern(r"[0-9]{1,19}(-[0-9]{1,19})?"))


#: The operator's webhook converts these, and adds the field.
_OLD_VERSIONS = ("performance.openshift.io/v1", "performance.openshift.io/v1alpha1")
_CONVERTED = (
    ", and globallyDisableIrqLoadBalancing: true under spec, as the operator does "
    "when it converts the profile"
)


class ReadProfile(NamedTuple):
    """A profile that its CRD accepts; not `whole` if some of its CPU lists cannot be read."""

    profile: Profile
    source: Source
    whole: bool
    hosted: bool = False  # in a ConfigMap of the cluster that hosts its own


def read_profile(source: Source, release: str) -> tuple[ReadProfile | None, list[Diagnostic]]:
    """The profile by its CRD. Lists of fields that the release lacks may be anything."""
    data: Any = source.data
    version = data.get("apiVersion")
    if version != API_VERSION:
        expected = API_VERSION + (_CONVERTED if version in _OLD_VERSIONS else "")
        place = source.value_at(("apiVersion",))
        return None, [diagnose("CP204", place, found=written(version), expected=expected)]
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    problems = list(_text_problems(source))
    if name is None:
        problems.append(diagnose("CP202", source.value_at(("metadata",)), field="metadata.name"))
    else:
        problems += name_problems(source, name)
    if "spec" not in data:
        return None, [*problems, diagnose("CP202", source.value_at(()), field="spec")]
    spec, findings = validate(PerformanceProfileSpec, source, ("spec",))
    if findings and all(problem.code == "CP208" for problem in findings):
        spec = _without_bad_lists(source)
        dropped = unsupported_fields(spec, release) if spec else ()
        places = {source.value_at(("spec", *field)) for field in dropped}
        kept = [problem for problem in findings if problem.position not in places]
        findings = [_by_operator(problem, source) for problem in kept]
    if spec is None or problems:
        return None, [*problems, *findings]

    def at(*field: str | int) -> Position:
        return source.value_at(("spec", *field))

    return ReadProfile(Profile(str(name), spec, at), source, not findings), findings


def _text_problems(source: Source) -> Iterator[Diagnostic]:
    """Labels and annotations, which no CRD describes; null is no value."""
    data: Any = source.data
    metadata = data.get("metadata")
    for key in ("labels", "annotations"):
        texts = metadata.get(key) if isinstance(metadata, dict) else None
        for name, value in texts.items() if isinstance(texts, dict) else ():
            if not isinstance(value, str | None):
                field = f"metadata.{key}.{name}"
                yield diagnose(
                    "CP279", source.value_at(("metadata", key, name)), field=field, value=value
                )
        if not isinstance(texts, dict | None):
            field = f"metadata.{key}"
            yield diagnose("CP279", source.value_at(("metadata", key)), field=field, value=texts)


def _without_bad_lists(source: Source) -> PerformanceProfileSpec | None:
    """The spec with a CPU in each list that cannot be read, so that the rest can be checked."""
    data: Any = source.data
    spec = data["spec"]
    cpu = {
        name: "0" if name in CPU_SETS and not _is_list(value) else value
        for name, value in spec["cpu"].items()
    }
    return PerformanceProfileSpec.read({**spec, "cpu": cpu})


def _by_operator(problem: Diagnostic, source: Source) -> Diagnostic:
    """The problem of a CPU list; CP277 if only its numbers are too high for cpuplan."""
    data: Any = source.data
    cpu = data["spec"]["cpu"]
    places = {source.value_at(("spec", "cpu", name)): cpu[name] for name in CPU_SETS if name in cpu}
    if problem.position in places and _is_list_in_go(str(places[problem.position])):
        return diagnose(
            "CP277", problem.position, problem=problem.message, remedy="number CPUs from 0 to 8191"
        )
    return problem


def _is_list_in_go(text: str) -> bool:
    """k8s.io/utils/cpuset, Parse: numbers of 64 bits."""
    ranges = [item.partition("-") for item in text.split(",")] if _LIST.fullmatch(text) else []
    return bool(ranges) and all(
        int(first) <= int(last or first) < 2**63 for first, _, last in ranges
    )


def _is_list(value: object) -> bool:
    try:
        return isinstance(CpuSet.parse_kubelet(str(value)), CpuSet)
    except CpuSetError:
        return False
