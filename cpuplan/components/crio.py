"""CRI-O: a drop-in for crio.conf(5), and what the files of a node add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.base.emit import to_toml
from cpuplan.components import chosen, isolation, mixedcpus
from cpuplan.components.chosen import asked_or, is_written, of_mechanism, stated, stated_or, unasked
from cpuplan.components.emission import by_default, emit
from cpuplan.components.koordinator import release_names
from cpuplan.components.openshift import pool
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import crio as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, cpus_or_text, plain
from cpuplan.upstream.crio import releases
from cpuplan.upstream.crio.config import decode, default_runtime
from cpuplan.upstream.koordinator.extension.releases import Span
from cpuplan.upstream.nri.api import TOLERATION

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = rows.NAME
CPU_SETS = (rows.INFRA_CTR_CPUSET.key, rows.SHARED_CPUSET.key)
#: Hooks that pods of the handler may ask for; who shares CPUs may ask for those too. One that CRI-O
#: does not know drops the handler.
HOOKS = tuple(name for name in releases.HOOKS if name != releases.SHARED)
MIN_GOMAXPROCS = int(rows.MIN_INJECTED_GOMAXPROCS.usually)
#: The names by which plugins register (nri-plugins, pkg/resmgr/flags.go; dra-driver-cpu,
#: cmd/dracpu), by mechanism.
PLUGINS: Mapping[str, str] = {
    "balloons": "resource-manager",
    "topology-aware": "resource-manager",
    "dra": "dra.cpu",
}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Keys of [crio.runtime]."""
    target, reserved, shared = plan.node_class.target, plan.pool("reserved"), plan.pool("shared")
    if target.runtime != NAME:
        return
    if reserved.cpus:
        cpus = reserved.cpus - isolation.interrupts_alone(plan)
        cpus = chosen.as_listed(plan, "reserved", cpus)
        because = (*reserved.because, *isolation.because_alone(plan))
        yield from by_default(plan, rows.INFRA_CTR_CPUSET, cpus, because)
    if shares(plan):
        because = (*shared.because, asked_or(plan, rows.MIXED_CPUS))
        cpus = chosen.as_listed(plan, "shared", shared.cpus)
        yield from emit(plan, rows.SHARED_CPUSET, cpus, because)
    yield from by_default(plan, rows.MIN_INJECTED_GOMAXPROCS, MIN_GOMAXPROCS)
    if has_hooks(plan) and target.os_family == "debian":
        because = (stated(plan, "irqbalance reads its file from there", _os_family(plan)),)
        yield from emit(plan, rows.IRQBALANCE_CONFIG_FILE, "/etc/default/irqbalance", because)
        kept = "/etc/default/orig_irq_banned_cpus"
        yield from emit(plan, rows.IRQBALANCE_RESTORE_FILE, kept, because)
    if has_handler(plan):
        yield from _handler(plan)
    if needs_nri(target) and plan.node_class.platform.has_runtime_choice:
        yield from _nri(plan)


def _os_family(plan: NodePlan) -> str:
    return plan.node_class.target_field("osFamily")


def _nri(plan: NodePlan) -> Iterator[Setting]:
    """NRI, and the validator. Pods that must start before the plugin tolerate that it is away."""
    yield from emit(plan, rows.ENABLE_NRI, True, (of_nri(plan),))
    if plugin := PLUGINS.get(plan.node_class.target.mechanism):
        because = (of_mechanism(plan, "no container starts unpinned while the plugin is away"),)
        yield from emit(plan, rows.VALIDATOR, True, because)
        yield from emit(plan, rows.REQUIRED_PLUGINS, (plugin,), because)
        yield from emit(plan, rows.TOLERATION, TOLERATION, because)


def release(target: Target) -> versions.Version:
    """The branch of CRI-O, whose minor versions are those of Kubernetes."""
    return versions.kubernetes_version(target) or releases.LATEST


def needs_nri(target: Target) -> bool:
    """Whether a program changes containers by NRI; koordlet does from 1.3 on."""
    by_koordlet = target.has_koordinator and release_names.reads(target, Span((1, 3)))
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
    return mixedcpus.are_used(plan) and rows.SHARED_CPUSET.is_known(plan.node_class.target)


def has_handler(plan: NodePlan) -> bool:
    """Whether CRI-O has a handler for pods with exclusive CPUs: for hooks, or for sharing."""
    return has_hooks(plan) or shares(plan)


def has_hooks(plan: NodePlan) -> bool:
    """Whether pods may ask for CRI-O's CPU hooks: the intent names the handler, or by default."""
    if plan.node_class.target.runtime != NAME:
        return False
    asked = is_written(plan, "runtime.handler") or chosen.exec_affinity(plan) == "first"
    return asked or chosen.is_on(plan, rows.HANDLER)


def why_handler(plan: NodePlan) -> tuple[Reason, ...]:
    """Why there is one."""
    name = plan.spec.runtime.handler
    default = unasked(plan, rows.HANDLER if has_hooks(plan) else rows.SHARING_HANDLER)
    field = "runtime.handler" if is_written(plan, "runtime.handler") else "runtime.execCpuAffinity"
    return (stated_or(plan, f"pods ask for the handler {name}", field, default),)


def _handler(plan: NodePlan) -> Iterator[Setting]:
    handler, named = plan.spec.runtime.handler, why_handler(plan)
    if rows.INHERIT_DEFAULT_RUNTIME.is_known(plan.node_class.target):
        yield from emit(plan, rows.INHERIT_DEFAULT_RUNTIME, True, named, handler=handler)
    else:
        yield from _runtime(plan, named)
    if _probes_stay_off(plan):
        because = (*named, asked_or(plan, rows.EXEC_AFFINITY))
        yield from emit(plan, rows.EXEC_CPU_AFFINITY, "first", because, handler=handler)
    # crun then makes no cgroup below the container's, which the CPU hooks would miss.
    subgroup: Value = {"run.oci.systemd.subgroup": ""}
    yield from emit(plan, rows.DEFAULT_ANNOTATIONS, subgroup, named, handler=handler)
    because = (*named, asked_or(plan, rows.MIXED_CPUS)) if shares(plan) else named
    allowed = tuple(_allowed(plan))
    yield from emit(plan, rows.ALLOWED_ANNOTATIONS, allowed, because, handler=handler)


def _runtime(plan: NodePlan, named: tuple[Reason, ...]) -> Iterator[Setting]:
    """The default runtime, where a handler cannot inherit it."""
    runtime, reason = _default_runtime(plan)
    handler, because, path = plan.spec.runtime.handler, (*named, reason), f"/usr/bin/{runtime}"
    if plan.node_class.target.is_profile:
        # The operator repeats the handler runc, and names another path of it.
        yield from _paths(plan, "runc", "", because)
        path = "/bin/runc" if runtime == "runc" else path
    yield from _paths(plan, handler, path, because, f"/run/{runtime}")


def _paths(
    plan: NodePlan, handler: str, path: str, because: tuple[Reason, ...], root: str = "/run/runc"
) -> Iterator[Setting]:
    yield from emit(plan, rows.RUNTIME_PATH, path, because, handler=handler)
    yield from emit(plan, rows.RUNTIME_TYPE, "oci", because, handler=handler)
    yield from emit(plan, rows.RUNTIME_ROOT, root, because, handler=handler)


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
    usual, _ = default_runtime(release(target))
    text = f"{usual} is the default runtime of CRI-O {versions.to_text(release(target))}"
    return usual, stated(plan, text, node_class.target_field("version"))


def _probes_stay_off(plan: NodePlan) -> bool:
    wanted = chosen.exec_affinity(plan)
    return chosen.is_on(plan, rows.EXEC_AFFINITY) if wanted is None else wanted == "first"


def _allowed(plan: NodePlan) -> Iterator[str]:
    """Hooks that pods of the handler may ask for; who shares CPUs should do without a quota."""
    yield from HOOKS if has_hooks(plan) else (releases.QUOTA,)
    if shares(plan):
        yield releases.SHARED


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
        return cpus_or_text(value)
    return value if isinstance(value, bool | int | str) else str(value)
