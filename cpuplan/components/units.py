"""systemd: units that prepare a node before its kubelet starts, with their scripts and drop-ins.

Units and files have the names, order and environment of the node tuning operator's; their texts are
our own (`templates/`). The setting of a unit with an environment is that; of anything else, True
for the shipped text.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan import versions
from cpuplan.components import chosen, hugepages
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import stated, unasked
from cpuplan.components.texts import template
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.platforms import Feature
from cpuplan.setting import Setting, Value

NAME = "units"
UNIT_FOLDER = "/etc/systemd/system"
BIN = "/usr/local/bin"
OFFLINE_UNIT = "set-cpus-offline.service"
#: Starts what the units above prepare; pulls them in where nobody enables units (see `_wants`).
KUBELET_DROP_IN = f"{UNIT_FOLDER}/kubelet.service.d/50-cpuplan.conf"


class _File(NamedTuple):
    """A file of OpenShift's nodes: its template, mode, and the default that it belongs to."""

    template: str
    mode: int
    default: str


IRQBALANCE_UNIT = "clear-irqbalance-banned-cpus.service"
OVS_VSWITCHD = f"{UNIT_FOLDER}/ovs-vswitchd.service.d/01-use-ovs-slice.conf"
OPENSHIFT_FILES: dict[str, _File] = {
    f"{BIN}/clear-irqbalance-banned-cpus.sh": _File(
        "bin/clear-irqbalance-banned-cpus.sh", 0o700, "irqbalance-start"
    ),
    f"{BIN}/cpuset-configure.sh": _File("bin/cpuset-configure.sh", 0o700, "cgroup-v1"),
    f"{BIN}/hugepages-allocation.sh": _File("bin/hugepages-allocation.sh", 0o700, "scripts"),
    f"{BIN}/set-cpus-offline.sh": _File("bin/set-cpus-offline.sh", 0o700, "scripts"),
    f"{UNIT_FOLDER}/ovs.slice": _File("units/ovs.slice", 0o644, "ovs-slice"),
    **{
        f"{UNIT_FOLDER}/{name}.service.d/01-use-ovs-slice.conf": _File(
            "units/use-ovs-slice.conf", 0o644, "ovs-slice"
        )
        for name in ("openvswitch", "ovs-vswitchd", "ovsdb-server")
    },
    "/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity": _File(
        "files/enable_dynamic_cpu_affinity", 0o644, "ovs-slice"
    ),
    "/etc/sysconfig/stalld-backend": _File("files/stalld-backend", 0o644, "stalld-backend"),
    f"{UNIT_FOLDER}/stalld.service.d/stalld-backend.conf": _File(
        "units/stalld-backend.conf", 0o644, "stalld-backend"
    ),
}
#: Units of OpenShift's nodes, and the defaults that they belong to.
OPENSHIFT_UNITS: dict[str, str] = {
    IRQBALANCE_UNIT: "irqbalance-start",
    "cpuset-configure.service": "cgroup-v1",
    "ocp-tuned-one-shot.service": "tuned-first",
}
#: Files and units of later releases, and the feature that a release must have.
_SINCE: dict[str, Feature] = {
    "/etc/sysconfig/stalld-backend": "units.stalld_backend",
    f"{UNIT_FOLDER}/stalld.service.d/stalld-backend.conf": "units.stalld_backend",
    "ocp-tuned-one-shot.service": "units.ocp_tuned_one_shot",
}
#: Scripts of the units that other platforms may need.
_SCRIPTS = {
    OFFLINE_UNIT: f"{BIN}/set-cpus-offline.sh",
    "hugepages": f"{BIN}/hugepages-allocation.sh",
}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Units by name, files by path."""
    prepared = [*_offline_unit(plan), *_huge_page_units(plan)]
    yield from prepared
    shipped = list(_shipped(plan)) if plan.node_class.target.platform == "openshift" else []
    yield from shipped
    for start, path in _SCRIPTS.items():
        users = [setting for setting in prepared if setting.key.startswith(start)]
        if users and path not in (setting.key for setting in shipped):
            yield Setting(NAME, path, True, users[0].reasons)
    if prepared and plan.node_class.target.platform != "openshift":
        names = [setting.key for setting in prepared]
        reasons = tuple(dict.fromkeys(reason for setting in prepared for reason in setting.reasons))
        yield Setting(NAME, KUBELET_DROP_IN, _wants(names), reasons)


def _shipped(plan: NodePlan) -> Iterator[Setting]:
    target, dpdk = plan.node_class.target, ovsdpdk.cpus(plan)
    told: dict[str, str] = (
        {IRQBALANCE_UNIT: dpdk.short_mask(), OVS_VSWITCHD: str(dpdk)} if dpdk else {}
    )
    defaults = {path: file.default for path, file in OPENSHIFT_FILES.items()} | OPENSHIFT_UNITS
    for key, name in defaults.items():
        because: tuple[Reason, ...] = (unasked(plan, name, NAME, key),)
        if not chosen.is_on(plan, name) and key not in told:
            continue
        if key in told:
            because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan), *because)
            yield Setting(NAME, key, {ovsdpdk.CPUS_KEY: told[key]}, because)
        elif key not in _SINCE or versions.ships(target, _SINCE[key]):
            yield Setting(NAME, key, True, because)


def _offline_unit(plan: NodePlan) -> Iterator[Setting]:
    offlined = plan.pool("offlined")
    if offlined.cpus:
        yield Setting(NAME, OFFLINE_UNIT, {"OFFLINE_CPUS": offlined.cpus}, offlined.because)


def _huge_page_units(plan: NodePlan) -> Iterator[Setting]:
    """One unit for each size and NUMA node: boot arguments of older kernels know no nodes."""
    for index, pages in enumerate(plan.spec.huge_pages.pages):
        if pages.numa_node is not None:
            kib, node = hugepages.to_kib(pages.size), pages.numa_node
            environment: dict[str, Value] = {
                "HUGEPAGES_COUNT": str(pages.count),
                "HUGEPAGES_SIZE": str(kib),
                "NUMA_NODE": str(node),
            }
            text = f"{pages.count} pages of {pages.size} on NUMA node {node}"
            reason = stated(plan, text, f"hugePages.pages.{index}")
            yield Setting(
                NAME, f"hugepages-allocation-{kib}kB-NUMA{node}.service", environment, (reason,)
            )


def _wants(units: Sequence[str]) -> str:
    """A drop-in by which the kubelet starts the units, so that nobody has to enable them."""
    return template("units/kubelet-wants.conf.j2", units=" ".join(units))


def units(plan: NodePlan) -> dict[str, str]:
    """The texts of the units to enable, by name."""
    direct = plan.node_class.target.platform == "openshift"
    return {
        setting.key: _text(setting.key, setting.value, direct=direct)
        for setting in settings(plan)
        if not setting.key.startswith("/")
    }


def files(plan: NodePlan) -> dict[str, tuple[int, str]]:
    """(mode, text) of scripts and drop-ins, by absolute path."""
    return {
        setting.key: (_mode(setting.key), _text(setting.key, setting.value))
        for setting in settings(plan)
        if setting.key.startswith("/")
    }


def _mode(path: str) -> int:
    return OPENSHIFT_FILES[path].mode if path in OPENSHIFT_FILES else 0o644


def _text(key: str, value: Value, *, direct: bool = True) -> str:
    """The text of a unit or file. `direct`: scripts are executable; elsewhere files have no modes;
    bash is named.
    """
    if isinstance(value, str):
        return value
    if key in OPENSHIFT_FILES or key in OPENSHIFT_UNITS or not isinstance(value, dict):
        return _shipped_text(key, value if isinstance(value, dict) else {})
    name = key if key == OFFLINE_UNIT else "hugepages-allocation.service"
    environment = {name: _plain(item) for name, item in value.items()}
    return template(
        f"units/{name}.j2", environment=environment, shell="" if direct else "/bin/bash "
    )


def _shipped_text(key: str, environment: dict[str, Value]) -> str:
    """A shipped text; with an environment, its service is told of it, and ovs-vswitchd may divide
    its cgroup.
    """
    if environment and key == OVS_VSWITCHD:
        text = template("units/use-ovs-slice-dpdk.conf")
    else:
        text = template(OPENSHIFT_FILES[key].template if key.startswith("/") else f"units/{key}")
    lines = "".join(f"Environment={name}={value}\n" for name, value in environment.items())
    return text.replace("[Service]\n", f"[Service]\n{lines}", 1)


def _plain(value: Value) -> str:
    return value.expanded() if isinstance(value, CpuSet) else str(value)


def render(settings: Sequence[Setting]) -> str:
    """All texts, each under a line with its path, as `systemctl cat` shows units."""
    return "".join(
        f"# {_path(setting.key)}\n{_text(setting.key, setting.value)}" for setting in settings
    )


def _path(key: str) -> str:
    return key if key.startswith("/") else f"{UNIT_FOLDER}/{key}"


_PATH_LINE = re.compile(r"^# (/\S+)\n", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^Environment=(\w+)=(.*)$", re.MULTILINE)


def parse(text: str) -> dict[str, Value]:
    """The same from `render`'s form: a unit's environment, True for a shipped text, else the
    text.
    """
    _, *parts = _PATH_LINE.split(text)
    found: dict[str, Value] = {}
    for path, content in zip(parts[::2], parts[1::2], strict=True):
        key = path.rpartition("/")[2] if path.endswith(".service") else path
        if key in OPENSHIFT_FILES or key in OPENSHIFT_UNITS:
            environment: dict[str, Value] = dict(_ENVIRONMENT.findall(content))
            forms: tuple[Value, ...] = (True, environment)
            found[key] = next((form for form in forms if _text(key, form) == content), content)
        elif key == path:
            found[key] = content
        else:
            found[key] = {name: _cpus(name, value) for name, value in _ENVIRONMENT.findall(content)}
    return found


def _cpus(key: str, value: str) -> Value:
    try:
        return CpuSet.parse_kernel(value) if key == "OFFLINE_CPUS" else value
    except CpuSetError:
        return value
