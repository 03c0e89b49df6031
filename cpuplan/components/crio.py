"""CRI-O: a drop-in for crio.conf(5), and what the files of a node add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.emit import to_toml
from cpuplan.components import chosen, isolation, mixedcpus
from cpuplan.components.koordinator import names
from cpuplan.components.openshift import pool
from cpuplan.components.reasons import is_written, of_mechanism, stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Cost, Effect, Setting, Value, plain
from cpuplan.platforms import versions
from cpuplan.platforms.features import Feature
from cpuplan.upstream.crio.config import decode
from cpuplan.upstream.koordinator.extension.releases import Span
from cpuplan.upstream.nri.api import TOLERATION

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = "crio"
EFFECT: Effect | None = Effect("crio status config", Cost.CRIO_RESTART)
CPU_SETS = ("infra_ctr_cpuset", "shared_cpuset")
QUOTA_HOOK = "cpu-quota.crio.io"
#: Hooks that pods of the handler may ask for (CRI-O: pkg/annotations). One that CRI-O does not know
#: drops the handler.
HOOKS = (
    "cpu-load-balancing.crio.io",
    QUOTA_HOOK,
    "irq-load-balancing.crio.io",
    "cpu-c-states.crio.io",
    "cpu-freq-governor.crio.io",
)
SHARED_HOOK = "cpu-shared.crio.io"
#: GOMAXPROCS that CRI-O gives to containers without exclusive CPUs: Go would count the machine's
#: CPUs otherwise.
MIN_GOMAXPROCS = 4
#: The names by which plugins register (nri-plugins, pkg/resmgr/flags.go; dra-driver-cpu,
#: cmd/dracpu), by mechanism.
PLUGINS: Mapping[str, str] = {
    "balloons": "resource-manager",
    "topology-aware": "resource-manager",
    "dra": "dra.cpu",
}
#: Keys that the node tuning operator writes, by release.
_OPERATORS: dict[str, Feature] = {
    "crio.default_annotations": "crio.default_annotations",
    "crio.exec_cpu_affinity": "crio.exec_cpu_affinity",
    "crio.inherit_default_runtime": "crio.inherit_default_runtime",
    "crio.min_injected_gomaxprocs": "crio.min_injected_gomaxprocs",
    "crio.shared_cpuset": "crio.shared_cpuset",
}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Keys of [crio.runtime]."""
    target, reserved, shared = plan.node_class.target, plan.pool("reserved"), plan.pool("shared")
    if target.runtime != NAME:
        return
    if reserved.cpus and chosen.is_on(plan, "infra-containers"):
        reason = unasked(plan, "infra-containers", NAME, "infra_ctr_cpuset")
        cpus = reserved.cpus - isolation.interrupts_alone(plan)
        because = (*reserved.because, *isolation.because_alone(plan), reason)
        yield Setting(NAME, "infra_ctr_cpuset", cpus, because)
    if mixed := shares(plan):
        yield Setting(NAME, "shared_cpuset", shared.cpus, (*shared.because, mixedcpus.reason(plan)))
    if _knows(target, "crio.min_injected_gomaxprocs") and chosen.is_on(plan, "gomaxprocs"):
        reason = unasked(plan, "gomaxprocs", NAME, "min_injected_gomaxprocs")
        yield Setting(NAME, "min_injected_gomaxprocs", MIN_GOMAXPROCS, (reason,))
    if has_hooks(plan):
        yield from _irqbalance(plan)
    if has_handler(plan):
        yield from _handler(plan, mixed=mixed)
    if needs_nri(target) and plan.node_class.platform.has_runtime_choice:
        yield from _nri(plan)


def _irqbalance(plan: NodePlan) -> Iterator[Setting]:
    """The file that the hook of interrupts rewrites, and the one that keeps what it had."""
    target = plan.node_class.target
    if target.os_family == "debian":
        field = plan.node_class.target_field("osFamily")
        because = (plan.node_class.reason("irqbalance reads its file from there", field),)
        yield Setting(NAME, "irqbalance_config_file", "/etc/default/irqbalance", because)
        kept = "/etc/default/orig_irq_banned_cpus"
        yield Setting(NAME, "irqbalance_config_restore_file", kept, because)


def _nri(plan: NodePlan) -> Iterator[Setting]:
    """NRI, and the validator that refuses containers while the mechanism's plugin is away.

    Pods that must start before it, static ones and its own, tolerate that by an annotation.
    """
    target = plan.node_class.target
    yield Setting(NAME, "crio.nri.enable_nri", True, (of_nri(plan),))
    if target.mechanism not in PLUGINS or not _knows(target, "crio.nri_validator"):
        return
    table = "crio.nri.default_validator."
    required = of_mechanism(plan, "no container starts unpinned while the plugin is away")
    values: dict[str, Value] = {
        "nri_enable_default_validator": True,
        "nri_validator_required_plugins": (PLUGINS[target.mechanism],),
        "nri_validator_tolerate_missing_plugins_annotation": TOLERATION,
    }
    for key, value in values.items():
        yield Setting(NAME, table + key, value, (required,))


def needs_nri(target: Target) -> bool:
    """Whether a program changes containers by NRI; koordlet does from 1.3 on."""
    by_koordlet = target.has_koordinator and names.reads(target, Span((1, 3)))
    return target.mechanism in PLUGINS or by_koordlet


def of_nri(plan: NodePlan) -> Reason:
    """Why a runtime lets plugins change containers; koordlet would else mend cpusets later."""
    if plan.node_class.target.has_koordinator:
        return of_mechanism(plan, "koordlet sets the CPUs of containers before they start")
    if plan.node_class.target.has_dra:
        return of_mechanism(plan, "the DRA CPU driver sets the CPUs of containers")
    return of_mechanism(plan)


def shares(plan: NodePlan) -> bool:
    """Whether CRI-O gives out shared CPUs."""
    return mixedcpus.are_used(plan) and _knows(plan.node_class.target, "crio.shared_cpuset")


def has_handler(plan: NodePlan) -> bool:
    """Whether CRI-O has a handler for pods with exclusive CPUs: for hooks, or for sharing."""
    return has_hooks(plan) or shares(plan)


def has_hooks(plan: NodePlan) -> bool:
    """Whether pods may ask for CRI-O's CPU hooks: the intent names the handler, or by default."""
    if plan.node_class.target.runtime != NAME:
        return False
    asked = is_written(plan, "runtime.handler") or plan.spec.runtime.exec_cpu_affinity == "first"
    return asked or chosen.is_on(plan, "handler")


def why_handler(plan: NodePlan) -> tuple[Reason, ...]:
    """Why there is one."""
    name = plan.spec.runtime.handler
    default = unasked(
        plan, "handler" if has_hooks(plan) else "sharing-handler", "runtimeclass", "handler"
    )
    field = "runtime.handler" if is_written(plan, "runtime.handler") else "runtime.execCpuAffinity"
    return (stated_or(plan, f"pods ask for the handler {name}", field, default),)


def _handler(plan: NodePlan, *, mixed: bool) -> Iterator[Setting]:
    target, handler = plan.node_class.target, plan.spec.runtime.handler
    named = why_handler(plan)
    table = f"runtimes.{handler}."
    if _knows(target, "crio.inherit_default_runtime"):
        yield Setting(NAME, table + "inherit_default_runtime", True, named)
    else:
        yield from _runtime(plan, named)
    if _knows(target, "crio.exec_cpu_affinity") and _probes_stay_off(plan):
        key = table + "exec_cpu_affinity"
        text = "exec probes stay off the CPUs that workloads spin on"
        reason = stated_or(
            plan, text, "runtime.execCpuAffinity", unasked(plan, "exec-affinity", NAME, key)
        )
        yield Setting(NAME, key, "first", (*named, reason))
    annotations = "default_annotations" if target.is_profile else "inherit_default_runtime"
    if _knows(target, f"crio.{annotations}"):
        # crun then makes no cgroup below the container's, which the CPU hooks would miss.
        yield Setting(NAME, table + "default_annotations", {"run.oci.systemd.subgroup": ""}, named)
    because = (*named, mixedcpus.reason(plan)) if mixed else named
    yield Setting(NAME, table + "allowed_annotations", tuple(_allowed(plan, mixed=mixed)), because)


def _knows(target: Target, key: str) -> bool:
    """Whether CRI-O knows a key; of a PerformanceProfile, whether the operator writes it."""
    if target.is_profile:
        return versions.ships(target, _OPERATORS[key])
    return versions.has(target, key)


def _runtime(plan: NodePlan, named: tuple[Reason, ...]) -> Iterator[Setting]:
    """The default runtime, where a handler cannot inherit it."""
    target = plan.node_class.target
    runtime, reason = _default_runtime(plan)
    because = (*named, reason)
    values = {
        "runtime_path": f"/usr/bin/{runtime}",
        "runtime_type": "oci",
        "runtime_root": f"/run/{runtime}",
    }
    if target.is_profile:
        # The operator repeats the handler runc, and names another path of it.
        own = {**values, "runtime_path": "", "runtime_root": "/run/runc"}
        for key, value in own.items():
            yield Setting(NAME, f"runtimes.runc.{key}", value, because)
        values["runtime_path"] = "/bin/runc" if runtime == "runc" else "/usr/bin/crun"
    for key, value in values.items():
        yield Setting(NAME, f"runtimes.{plan.spec.runtime.handler}.{key}", value, because)


def _default_runtime(plan: NodePlan) -> tuple[str, Reason]:
    """The default runtime of CRI-O, and what says so.

    Of ContainerRuntimeConfigs with this setting, the one that was created last counts.
    """
    node_class = plan.node_class
    target, labels = node_class.target, pool.all_labels(node_class.target)
    if target.oci_runtime:
        text = f"{target.oci_runtime} is the default runtime of the pool"
        return target.oci_runtime, stated(plan, text, node_class.target_field("ociRuntime"))
    configs = list(enumerate(node_class.cluster_facts.container_runtime_configs))
    for index, config in reversed(configs):
        if config.default_runtime and config.machine_config_pool_selector.selects(labels):
            place = node_class.cluster_place(f"containerRuntimeConfigs.{index}.defaultRuntime")
            text = (
                f"ContainerRuntimeConfig {config.name} makes {config.default_runtime} the default"
            )
            return config.default_runtime, Reason(text, place)
    usual = "crun" if versions.has(target, "crio.crun") else "runc"
    text = f"{usual} is the default runtime of CRI-O {target.version}"
    return usual, stated(plan, text, node_class.target_field("version"))


def _probes_stay_off(plan: NodePlan) -> bool:
    wanted = plan.spec.runtime.exec_cpu_affinity
    return chosen.is_on(plan, "exec-affinity") if wanted is None else wanted == "first"


def _allowed(plan: NodePlan, *, mixed: bool) -> Iterator[str]:
    """Hooks that pods of the handler may ask for; who shares CPUs should do without a quota."""
    yield from HOOKS if has_hooks(plan) else (QUOTA_HOOK,)
    if mixed:
        yield SHARED_HOOK


def render(settings: Sequence[Setting]) -> str:
    """The drop-in's TOML."""
    tables: dict[str, Any] = {}
    for setting in settings:
        own = "" if setting.key.startswith("crio.") else "crio.runtime."
        *parents, key = f"{own}{setting.key}".split(".")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        table[key] = plain(setting.value)
    return to_toml(tables) if tables else ""


def parse(text: str) -> dict[str, Value]:
    """The keys that one file gives. ValueError for what stops CRI-O: no TOML, or another type."""
    return flat(decode("", text).tables)


def flat(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Value]:
    """Keys as settings have them, of merged tables or those of one file.

    Keys of [crio.runtime] stand by themselves, those of other tables with their table
    (`crio.image.pause_image`). Keys that CRI-O passes over are left out.
    """
    values: dict[str, Value] = {}
    for name, table in tables.items():
        path = () if name == "runtime" else ("crio", *filter(None, [name]))
        values |= dict(_leaves(table, path))
    return values


def _leaves(table: Mapping[str, Any], parents: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    """(key, value); tables of a handler or workload are values, and so are empty ones."""
    for name, value in table.items():
        path = (*parents, name)
        is_inner = len(path) > 2 and path[0] in ("runtimes", "workloads")
        if isinstance(value, dict) and value and not is_inner:
            yield from _leaves(value, path)
        else:
            yield ".".join(path), _value(name, value)


def _value(name: str, value: Any) -> Value:
    if isinstance(value, list):
        return tuple(_value("", item) for item in value)
    if isinstance(value, dict):
        return {key: _value("", item) for key, item in value.items()}
    if name in CPU_SETS and isinstance(value, str):
        try:
            return CpuSet.parse(value)
        except CpuSetError:
            return value
    return value if isinstance(value, bool | int | str) else str(value)
