"""Check PerformanceProfiles as the node tuning operator's webhook does, but before the cluster.

The rules and their fields are those of the operator
(pkg/apis/performanceprofile/v2/performanceprofile_validation.go). All of them are checked in one
run, and each overlap is reported once.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.facts.platforms import OPENSHIFT
from cpuplan.facts.versions import operator_has
from cpuplan.fleet import openshift
from cpuplan.fleet.openshift import ClusterNode
from cpuplan.profiles import model
from cpuplan.profiles.model import CPU_SETS, Device, HugePages, Profile

#: Huge pages of an architecture by the size of the kernel's own pages.
_HUGE_PAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "amd64": {"4k": ("2M", "1G")},
    "arm64": {"4k": ("64k", "2M", "32M", "1G"), "64k": ("2M", "512M", "16G")},
}
#: On other architectures, and if the architecture is unknown.
_ANY_HUGE_PAGE = ("64k", "2M", "32M", "512M", "1G", "16G")
#: On all architectures, before 4.18.
_OLD_HUGE_PAGES = ("2M", "1G")


def check_pages(
    profile: Profile, selected: list[ClusterNode], release: str
) -> Iterator[Diagnostic]:
    """Sizes by the architecture of the first of the `selected` nodes, which stands for all."""
    spec = profile.spec
    if not operator_has(release, "webhook.page_sizes"):
        if spec.hugepages:
            yield from _check_huge_pages(profile, spec.hugepages, _OLD_HUGE_PAGES, release, "")
        return
    architecture = selected[0].architecture if selected else ""
    page = "4k" if spec.kernel_page_size is None else spec.kernel_page_size
    by_page = _HUGE_PAGES.get(architecture, {})
    at = profile.at("kernelPageSize")
    if by_page and page not in by_page:
        sizes, value = ", ".join(by_page), page or "empty"
        yield diagnose(
            "CP266", at, field="spec.kernelPageSize", value=value, machine=architecture, sizes=sizes
        )
    real_time = spec.real_time_kernel is not None and spec.real_time_kernel.enabled
    if by_page and page == "64k" and real_time:
        problem = "a real-time kernel does not support"
        yield diagnose(
            "CP270",
            at,
            field="spec.kernelPageSize",
            value=page,
            problem=problem,
            remedy="remove one of the two",
        )
    if spec.hugepages:
        usual = "4k" if architecture == "amd64" else page
        known = by_page.get(usual, ()) if by_page else _ANY_HUGE_PAGE
        machine = f"{architecture} with pages of {usual or 'no size'}" if by_page else "no machine"
        yield from _check_huge_pages(profile, spec.hugepages, known, release, machine)


def _check_huge_pages(
    profile: Profile, huge: HugePages, sizes: tuple[str, ...], release: str, machine: str
) -> Iterator[Diagnostic]:
    field = "spec.hugepages.defaultHugepagesSize"
    known = (
        (", ".join(sizes) or "none")
        if machine != "no machine"
        else f"sizes other than {', '.join(sizes)}"
    )
    at = profile.at("hugepages", "defaultHugepagesSize")
    if huge.default_hugepages_size is None:
        if huge.pages and operator_has(release, "webhook.default_huge_page_size"):
            yield diagnose("CP267", at, field=field)
    elif huge.default_hugepages_size not in sizes:
        yield diagnose(
            "CP266",
            at,
            field=field,
            value=huge.default_hugepages_size or "empty",
            machine=machine,
            sizes=known,
        )
    seen: set[tuple[str, int | None]] = set()
    for index, page in enumerate(huge.pages or ()):
        path = f"spec.hugepages.pages.{index}"
        if page.size not in sizes:
            place = profile.at("hugepages", "pages", index, "size")
            value = page.size or "empty"
            yield diagnose(
                "CP266", place, field=f"{path}.size", value=value, machine=machine, sizes=known
            )
        if (page.size, page.node) in seen:
            where = "for the machine" if page.node is None else f"on NUMA node {page.node}"
            yield diagnose(
                "CP268",
                profile.at("hugepages", "pages", index),
                field=path,
                size=page.size,
                where=where,
            )
        seen.add((page.size, page.node))


_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_PCI_ID = re.compile(r"0x[0-9a-fA-F]{1,4}")
#: Keys and values of labels (apimachinery, pkg/util/validation).
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(
    r"((?=[^/]{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def check(
    profile: Profile,
    nodes: Iterable[ClusterNode],
    others: Iterable[Profile],
    *,
    release: str = openshift.VERSION,
    whole: bool = True,
) -> list[Diagnostic]:
    """All findings, in the order of the profile's fields; on CPUs only if all lists are readable.

    The rules are those of the operator of the release, without fields that its CRD lacks. A
    selector without labels selects every node.
    """
    if release not in OPENSHIFT.releases:
        release = openshift.VERSION
    lacking = list(model.unsupported_fields(profile.spec, release))
    profile = profile._replace(spec=model.without_unsupported(profile.spec, lacking))
    wanted = profile.spec.node_selector
    selected = [node for node in nodes if wanted.items() <= node.labels.items()]
    return [
        *_check_fields(profile, lacking, release),
        *(_check_cpus(profile) if whole else ()),
        *_check_selectors(profile, others),
        *_check_nodes(profile, selected, release),
        *check_pages(profile, selected, release),
        *_check_topology_policy(profile),
        *_check_net(profile),
        *_check_hints(profile),
        *_check_frequencies(profile),
        *_check_values(profile),
    ]


def _check_fields(
    profile: Profile, lacking: Iterable[tuple[str, ...]], release: str
) -> Iterator[Diagnostic]:
    for field in lacking:
        path = ".".join(("spec", *field))
        since = model.release_of_field(field)
        yield diagnose("CP554", profile.at(*field), field=path, since=since, version=release)


def _check_cpus(profile: Profile) -> Iterator[Diagnostic]:
    sets: dict[str, CpuSet] = {
        name: getattr(profile.spec.cpu, field) or EMPTY for name, field in CPU_SETS.items()
    }
    for name in ("reserved", "isolated"):
        if not sets[name]:
            yield diagnose("CP260", profile.at("cpu", name), field=f"spec.cpu.{name}")
    for first, second in combinations(sets, 2):
        both = sets[first] & sets[second]
        if both:
            is_single = len(both) == 1
            yield diagnose(
                "CP261",
                profile.at("cpu", second),
                cpus=cpus_text(both),
                are="is" if is_single else "are",
                them="it" if is_single else "them",
                first=f"spec.cpu.{first}",
                second=f"spec.cpu.{second}",
            )


def _check_selectors(profile: Profile, others: Iterable[Profile]) -> Iterator[Diagnostic]:
    spec = profile.spec
    label, pool, nodes = (
        spec.machine_config_label,
        spec.machine_config_pool_selector,
        spec.node_selector,
    )
    for field, labels in (
        ("machineConfigLabel", label),
        ("machineConfigPoolSelector", pool),
        ("nodeSelector", nodes),
    ):
        if labels and len(labels) > 1:
            yield diagnose("CP262", profile.at(field), field=f"spec.{field}", count=len(labels))
    for key, value in nodes.items():
        if not (_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            yield diagnose(
                "CP270",
                profile.at("nodeSelector", key),
                field="spec.nodeSelector",
                value=f"{key}={value}",
                problem="is not a valid node label",
                remedy="write letters, digits, dashes, dots and underscores, up to 63",
            )
    if (label is None or pool is None) and not any(key.count("/") == 1 for key in nodes):
        labels_text = ", ".join(f"{key}={value}" for key, value in nodes.items()) or "no label"
        yield diagnose(
            "CP263", profile.at("nodeSelector"), field="spec.nodeSelector", found=labels_text
        )
    for other in others:
        if nodes and other.name != profile.name and other.spec.node_selector == nodes:
            selector = ", ".join(f"{key}={value}" for key, value in nodes.items())
            yield diagnose(
                "CP264",
                profile.at("nodeSelector"),
                field="spec.nodeSelector",
                selector=selector,
                other=other.name,
            )


def _check_nodes(
    profile: Profile, selected: list[ClusterNode], release: str
) -> Iterator[Diagnostic]:
    """Nodes that differ from the first one."""
    if not operator_has(release, "webhook.same_capacity"):
        return
    if selected and not selected[0].architecture:
        yield diagnose(
            "CP270",
            profile.at("nodeSelector"),
            field="spec.nodeSelector",
            value=selected[0].name,
            problem="has no architecture",
            remedy="write status.nodeInfo.architecture of the Node, or leave the Node out",
        )
    for node in selected[1:]:
        first = selected[0]
        for actual, wanted in (
            (node.architecture or "no architecture", first.architecture or "no architecture"),
            (f"{node.cpus or 'no'} CPUs", f"{first.cpus or 'no'} CPUs"),
        ):
            if actual != wanted:
                yield diagnose(
                    "CP265",
                    profile.at("nodeSelector"),
                    field="spec.nodeSelector",
                    node=node.name,
                    found=actual,
                    first=first.name,
                    wanted=wanted,
                )


def _check_topology_policy(profile: Profile) -> Iterator[Diagnostic]:
    policy = profile.spec.numa and profile.spec.numa.topology_policy
    if policy is not None and policy not in _POLICIES:
        yield diagnose(
            "CP270",
            profile.at("numa", "topologyPolicy"),
            field="spec.numa.topologyPolicy",
            value=policy or "empty",
            problem="is not a policy of the topology manager",
            remedy=f"write one of {', '.join(_POLICIES)}",
        )


def _check_net(profile: Profile) -> Iterator[Diagnostic]:
    net = profile.spec.net
    if net is None:
        return
    for index, device in enumerate(net.devices or ()):
        field = f"spec.net.devices.{index}"
        for problem in _device_problems(device):
            yield diagnose(
                "CP269", profile.at("net", "devices", index), field=field, problem=problem
            )


def _device_problems(device: Device) -> Iterator[str]:
    if device.interface_name == "":
        yield "has an empty interfaceName"
    for name, value in (("vendorID", device.vendor_id), ("deviceID", device.device_id)):
        if value is not None and not _PCI_ID.fullmatch(value):
            yield (
                f"has {name} {value or 'of no characters'}, which is not 0x and one to four "
                "hexadecimal digits"
            )
    if device.device_id is not None and device.vendor_id is None:
        yield "has a deviceID but no vendorID, and each vendor has its own device numbers"


def _check_hints(profile: Profile) -> Iterator[Diagnostic]:
    hints, spec = profile.spec.workload_hints, profile.spec
    if hints is None:
        return
    real_time = spec.real_time_kernel is not None and spec.real_time_kernel.enabled
    rows = (
        (
            hints.real_time is False and real_time,
            "realTime",
            "cannot be used with a real-time kernel",
        ),
        (
            hints.high_power_consumption and hints.per_pod_power_management,
            "highPowerConsumption",
            "cannot be used with perPodPowerManagement",
        ),
        (hints.mixed_cpus and not spec.cpu.shared, "mixedCpus", "needs CPUs in spec.cpu.shared"),
    )
    for wrong, name, problem in rows:
        if wrong:
            value = "false" if name == "realTime" else "true"
            remedy = (
                "remove one of the two"
                if name != "mixedCpus"
                else "list shared CPUs, or remove the hint"
            )
            place = profile.at("workloadHints", name)
            yield diagnose(
                "CP270",
                place,
                field=f"spec.workloadHints.{name}",
                value=value,
                problem=problem,
                remedy=remedy,
            )


def _check_frequencies(profile: Profile) -> Iterator[Diagnostic]:
    tuning = profile.spec.hardware_tuning
    if tuning is None:
        return
    frequencies = {
        "isolatedCpuFreq": tuning.isolated_cpu_freq,
        "reservedCpuFreq": tuning.reserved_cpu_freq,
    }
    if None in frequencies.values():
        yield diagnose(
            "CP270",
            profile.at("hardwareTuning"),
            field="spec.hardwareTuning",
            value="incomplete",
            problem="crashes the operator",
            remedy="write isolatedCpuFreq and reservedCpuFreq both, in kHz",
        )
        return
    for name, frequency in frequencies.items():
        if not frequency:
            yield diagnose(
                "CP270",
                profile.at("hardwareTuning", name),
                field=f"spec.hardwareTuning.{name}",
                value=0,
                problem="is not a valid frequency",
                remedy="write a frequency in kHz",
            )


def _check_values(profile: Profile) -> Iterator[Diagnostic]:
    """Values that no rule of the operator covers: negative numbers, unknown kernels, no labels.

    For an empty list of CPUs to switch off, the operator writes a unit without effect; for an empty
    machineConfigLabel or machineConfigPoolSelector, objects that belong to no pool.
    """
    spec = profile.spec
    rows: list[tuple[tuple[str | int, ...], object, bool, str]] = [
        (
            ("cpu", "offlined"),
            "empty",
            spec.cpu.offlined is None or bool(spec.cpu.offlined),
            "CPUs",
        ),
        (("machineConfigLabel",), "empty", spec.machine_config_label != {}, "a label"),
        (
            ("machineConfigPoolSelector",),
            "empty",
            spec.machine_config_pool_selector != {},
            "a label",
        ),
        (
            ("kernelPageSize",),
            spec.kernel_page_size,
            spec.kernel_page_size in (None, "", "4k", "64k"),
            "4k or 64k",
        ),
    ]
    for index, page in enumerate(spec.hugepages.pages or () if spec.hugepages else ()):
        rows.append(
            (
                ("hugepages", "pages", index, "count"),
                page.count,
                page.count >= 0,
                "a number from 0 up",
            )
        )
        rows.append(
            (("hugepages", "pages", index, "node"), page.node, (page.node or 0) >= 0, "a NUMA node")
        )
    tuning = spec.hardware_tuning
    for name, frequency in (
        ("isolatedCpuFreq", tuning and tuning.isolated_cpu_freq),
        ("reservedCpuFreq", tuning and tuning.reserved_cpu_freq),
    ):
        rows.append(
            (("hardwareTuning", name), frequency, (frequency or 0) >= 0, "a frequency in kHz")
        )
    for field, value, right, expected in rows:
        if not right:
            path = ".".join(map(str, ("spec", *field)))
            yield diagnose("CP276", profile.at(*field), field=path, value=value, expected=expected)
