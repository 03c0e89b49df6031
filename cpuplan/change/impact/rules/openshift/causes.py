"""Why nodes of a pool change: the parts of rendered MachineConfigs that differ, as a rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules.inputs import listed, origin_of, unequal
from cpuplan.change.impact.setting_rules import Changed
from cpuplan.components import kernel, kubelet
from cpuplan.components.openshift import machineconfig
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.facts.settings.costs import Rule
from cpuplan.facts.settings.kubelet import FEATURE_GATES, SYSTEM_RESERVED
from cpuplan.facts.settings.openshift import KERNEL_TYPE
from cpuplan.plan.expected.state import Expected
from cpuplan.upstream.mco.apihelpers import REBOOT, Policies
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.controller_helpers import decode_kubelet_configuration
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF
from cpuplan.upstream.mco.update import Change, Impact

#: Fields that the operator's templates of kubelet.conf set, in one release or another.
_DEFAULTED = frozenset(
    {
        "authentication",
        "authorization",
        "cgroupDriver",
        "cgroupRoot",
        "clusterDNS",
        "clusterDomain",
        "containerLogMaxSize",
        "enableSystemLogQuery",
        "enforceNodeAllocatable",
        "failSwapOn",
        FEATURE_GATES.head,
        "kubeAPIBurst",
        "kubeAPIQPS",
        "maxPods",
        "memorySwap",
        "nodeStatusReportFrequency",
        "nodeStatusUpdateFrequency",
        "podPidsLimit",
        "protectKernelDefaults",
        "rotateCertificates",
        "serializeImagePulls",
        "serverTLSBootstrap",
        "staticPodPath",
        "systemCgroups",
        SYSTEM_RESERVED.head,
        "systemReservedCgroup",
        "tlsCipherSuites",
        "tlsMinVersion",
        "volumePluginDir",
    }
)


#: Those that are the same in all releases.
_KNOWN = {
    "containerLogMaxSize": "50Mi",
    "kubeAPIBurst": 100,
    "kubeAPIQPS": 50,
    "maxPods": 250,
    "podPidsLimit": 4096,
}


_ENVELOPE = ("apiVersion", "kind")


class Cause(NamedTuple):
    """One part that differs, and the rule of its cost."""

    rule: Rule
    because: str
    origin: str


def reasons(
    change: Change,
    policies: Policies,
    kubelet_fields: "Fields",
    changes: Iterable[Changed],
    state: Expected | None,
) -> Iterator[Cause]:
    """What reboots the nodes, the strongest first: no policy can avoid the first ones."""
    impact, settings = change.impact, tuple(changes)
    if impact is None or change.before is None or change.after is None:
        return
    if "kernelArguments" in impact.sections:
        text = arguments(change.before.kernel_arguments, change.after.kernel_arguments)
        yield Cause(RULES["mco-kernel-arguments"], text, _origin(settings, kernel.NAME))
    if KERNEL_TYPE.key in impact.sections:
        text = f"{KERNEL_TYPE.key}: {change.before.kernel_type} -> {change.after.kernel_type}"
        yield Cause(RULES["mco-kernel-type"], text, _origin(settings, machineconfig.NAME))
    for section in ("osUpdate", "extensions"):
        if section in impact.sections:
            yield Cause(RULES["mco-os"], section, "")
    yield from _files(impact, policies, kubelet_fields, settings, state)


def _files(
    impact: Impact,
    policies: Policies,
    kubelet_fields: "Fields",
    settings: tuple[Changed, ...],
    state: Expected | None,
) -> Iterator[Cause]:
    files = [path for path in impact.files if REBOOT in (policies.for_file(path) or (REBOOT,))]
    if KUBELET_CONF in files:
        name = "mco-kubelet-default" if kubelet_fields.may_be_defaults else "mco-kubelet-config"
        because = f"KubeletConfig: {listed(kubelet_fields.names) or KUBELET_CONF}"
        yield Cause(RULES[name], because, _origin(settings, kubelet.NAME))
    others = [path for path in files if path != KUBELET_CONF]
    if others:
        components = [_component(path, state) for path in others]
        yield Cause(RULES["mco-file"], listed(others), _origin(settings, *components))
    units = [name for name in impact.units if REBOOT in policies.units.get(name, (REBOOT,))]
    if units:
        yield Cause(RULES["mco-unit"], listed(units), _origin(settings, "units"))


def origin_of_files(impact: Impact, changes: Iterable[Changed], state: Expected | None) -> str:
    """The statement behind changed files and units."""
    paths = (*impact.files, *(f"{UNIT_FOLDER}/{name}" for name in impact.units))
    return _origin(changes, *(_component(path, state) for path in paths))


def _component(path: str, state: Expected | None) -> str:
    file = state.files.get(path) if state else None
    return file.component if file else ""


def _origin(settings: Iterable[Changed], *components: str) -> str:
    return origin_of(setting for setting in settings if setting.component in components)


def arguments(before: Iterable[str], after: Iterable[str]) -> str:
    """Kernel arguments that go and come; their order where these are none."""
    old, new = list(before), list(after)
    gone = [f"-{argument}" for argument in _more_often(old, new)]
    come = [f"+{argument}" for argument in _more_often(new, old)]
    return f"kernelArguments: {' '.join((*gone, *come)) or 'another order'}"


def _more_often(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """What stands more often in `first`, each once and in its order."""
    return [word for word in dict.fromkeys(first) if first.count(word) > second.count(word)]


class Fields(NamedTuple):
    """The fields of a KubeletConfig that differ."""

    names: tuple[str, ...] = ()
    #: All of them are there on one side only, and the operator has defaults of them.
    may_be_defaults: bool = False


def fields(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Fields:
    """What differs between the specs of two KubeletConfigs for a pool."""
    old, new = _configuration(before), _configuration(after)
    names = tuple(name for name in unequal(old, new) if name not in _ENVELOPE)
    return Fields(names, bool(names) and all(_may_be_default(name, old, new) for name in names))


def _may_be_default(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a field that is on one side only may have the value that it has on the other."""
    if (name in old) == (name in new):
        return False
    value = old.get(name, new.get(name))
    return name in _DEFAULTED and _KNOWN.get(name, value) == value


def _configuration(spec: Mapping[str, Any] | None) -> Mapping[str, Any]:
    given = (spec or {}).get("kubeletConfig")
    try:
        return decode_kubelet_configuration(given) if given is not None else {}
    except McoError:
        return {}
