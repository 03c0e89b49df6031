"""`cpuplan explain`: why a CPU, pool or setting is what it is; what a code or a rule means."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cpuplan.base.text import nearest
from cpuplan.cli.output import echo, settings, time_limit_option
from cpuplan.cli.recorded import answered
from cpuplan.diagnostics import CpuplanError, diagnose

if TYPE_CHECKING:
    from cpuplan.base.cpuset import CpuSet
    from cpuplan.diagnostics.source import Locate
    from cpuplan.plan import ConfiguredPlan, Plan
    from cpuplan.plan.setting import Setting

#: Asks for the objects of a node's MachineConfigPool.
_MACHINE_CONFIGS = "machineConfigs"
_KERNEL = "kernel"


@click.command()
@click.argument("subject", metavar="NODE|CODE|RULE")
@click.argument("what", required=False, metavar="[CPU|POOL|SETTING]")
@click.option(
    "--no-alternatives",
    "only_why",
    is_flag=True,
    help="Do not search for the next best layout. This needs no solver and takes at most half "
    "the time.",
)
@time_limit_option
def command(subject: str, what: str | None, only_why: bool) -> int:
    """Explain a CPU, pool or setting of NODE, or a diagnostic CODE, or a built-in RULE.

    The CPU, pool, partition, QoS set or setting is shown with the file and line of every statement
    behind it. RULE is a built-in rule, goal or default.

    For CPUs, the layout is solved again with the present choice forbidden. The cost is shown as the
    goals that get worse, or as the statements that allow no other layout.

    \b
    cpuplan explain worker-3 17
    cpuplan explain worker-3 isolated.dpdk
    cpuplan explain worker-3 reservedSystemCPUs
    cpuplan explain worker-3 kernel.isolcpus      the setting, if there is also a pool isolcpus
    cpuplan explain worker-3 machineConfigs       what its MachineConfigPool gets, object by object
    cpuplan explain worker-3 kernel               what the kernel makes of its boot arguments
    cpuplan explain CP213
    cpuplan explain cpu0-reserved
    """
    if what is not None:
        return answered(lambda: _explain_node(subject, what, only_why=only_why))
    if re.fullmatch(r"(?i)CP\d{3,4}", subject):
        return _explain_code(subject.upper())
    return _explain_rule(subject)


def _explain_code(code: str) -> int:
    from cpuplan.diagnostics.codes import successors
    from cpuplan.render.explain.codes import explain_code

    if not successors(code):
        raise click.UsageError(f"unknown code {code}; docs/diagnostics.md lists all codes")
    echo(explain_code(code), nl=False)
    return 0


def _explain_rule(name: str) -> int:
    from cpuplan.facts.settings.table import DEFAULTS
    from cpuplan.language.model.vocabulary import EXPERT_RULES, FIXED_RULES, GOALS

    defaults_by_name = dict.fromkeys(row.name for row in DEFAULTS)
    known = (*EXPERT_RULES, *FIXED_RULES, *GOALS, *defaults_by_name)
    if name not in known:
        if near := nearest(name, known):
            raise click.UsageError(f"unknown rule {name}; did you mean {near}?")
        raise click.UsageError(
            "missing CPU, pool or setting; give it after the node, as in cpuplan explain "
            "worker-3 17"
        )
    from cpuplan.render.explain.reasons import explain_default, explain_rule

    if name in (*EXPERT_RULES, *FIXED_RULES, *GOALS):
        echo(explain_rule(name), nl=False)
    if name in defaults_by_name:
        echo(explain_default(name), nl=False)
    return 0


def _explain_node(subject: str, what: str, *, only_why: bool) -> int:
    from cpuplan.cli.nodes import find_node, load_plan
    from cpuplan.solve import budget

    loaded = load_plan(settings().root)
    if loaded is None:
        return 1
    project, plan = loaded
    node_plan, node = find_node(plan, subject, project)
    if what == _MACHINE_CONFIGS:
        echo(_machine_configs(plan, node_plan, node, project.locate), nl=False)
        return 0
    if what == _KERNEL:
        from cpuplan.render.explain.reasons import explain_kernel

        echo(explain_kernel(node_plan, node), nl=False)
        return 0
    explain = _cpu if re.fullmatch(r"[0-9]{1,9}", what) else _named
    with budget.limited(settings().time_limit):
        texts = list(explain(node_plan, node, what, project.locate, only_why=only_why))
    echo("\n".join(texts), nl=False)
    return 0


def _machine_configs(plan: "Plan", of: "ConfiguredPlan", node: str, locate: "Locate") -> str:
    from cpuplan.backends.openshift import merged
    from cpuplan.render.explain.machine_configs import explain_machine_configs

    cluster = of.node_class.cluster
    plans = [other for other in plan.nodes if other.node_class.cluster == cluster]
    for pool in merged.of_cluster(plans):
        if pool.plan is of:
            return explain_machine_configs(pool, node, locate)
    hint = "only nodes of OpenShift's MachineConfigPools have MachineConfigs"
    raise CpuplanError([diagnose("CP253", node=node, name=_MACHINE_CONFIGS, hint=hint)])


def _cpu(
    plan: "ConfiguredPlan", node: str, what: str, locate: "Locate", *, only_why: bool
) -> "Iterator[str]":
    from cpuplan.plan.setting import names_cpu
    from cpuplan.render.explain.reasons import explain_cpu

    cpu, present = int(what), plan.topology.online | plan.topology.offline
    if cpu not in present:
        raise CpuplanError([diagnose("CP252", node=node, cpu=cpu, cpus=present)])
    named = [setting for setting in plan.settings if names_cpu(setting.value, cpu)]
    others = []
    if not only_why:
        from cpuplan.solve import alternatives

        others = list(filter(None, [alternatives.cpu_elsewhere(plan, cpu)]))
    yield explain_cpu(plan, node, cpu, locate, named, others)


def _named(
    plan: "ConfiguredPlan", node: str, what: str, locate: "Locate", *, only_why: bool
) -> "Iterator[str]":
    """A pool of the name, and settings: `isolcpus` may be both."""
    every = list(plan.settings)
    names = [pool.name for pool in (*plan.pools, *plan.sets)]
    wanted = [
        setting
        for setting in every
        if _is_meant(what, setting.key) or _is_meant(what, f"{setting.component}.{setting.key}")
    ]
    if what in names:
        yield _pool(plan, node, what, locate, every, only_why=only_why)
    for setting in wanted:
        yield _setting(plan, node, setting, locate, only_why=only_why)
    if what not in names and not wanted:
        near = nearest(what, [*names, *(setting.key for setting in every)])
        pools = (
            f"its pools are {', '.join(names)}; "
            "`settings` in out/.cpuplan/classes/ has the keys of its settings"
        )
        hint = _not_set(plan, what) or (f"did you mean {near!r}?" if near else pools)
        raise CpuplanError([diagnose("CP253", node=node, name=what, hint=hint)])


def _is_meant(what: str, key: str) -> bool:
    """A setting, or a mapping that it is in: `field` has `field.key`."""
    return key == what or key.startswith(f"{what}.")


def _not_set(plan: "ConfiguredPlan", what: str) -> str:
    """How to have a setting that is a default elsewhere; empty for what is none."""
    from cpuplan.facts.settings.table import ROWS
    from cpuplan.render.explain.reasons import on_switch

    platform = plan.node_class.platform
    named = (row for row in ROWS if row.is_named(what))
    defaults = (default for row in named for default in row.defaults)
    for default in defaults:
        if default.is_off_but_possible(platform):
            problem = f"it is not set, because it is not a default of {platform.name}"
            return f"{problem}; to set it: {on_switch(default)}"
    return ""


def _pool(
    plan: "ConfiguredPlan",
    node: str,
    name: str,
    locate: "Locate",
    every: "list[Setting]",
    *,
    only_why: bool,
) -> str:
    from cpuplan.render.explain.reasons import explain_pool

    cpus = plan.pool(name).cpus
    holding = [setting for setting in every if cpus and _contains(setting, cpus)]
    others = []
    if not only_why:
        from cpuplan.solve import alternatives

        others = [alternatives.other_cpus(plan, [name]), alternatives.other_part(plan, name)]
    return explain_pool(plan, node, name, locate, holding, [other for other in others if other])


def _contains(setting: "Setting", cpus: "CpuSet") -> bool:
    from cpuplan.plan.setting import cpu_sets

    return any(cpus <= listed_cpus for listed_cpus in cpu_sets(setting.value))


def _setting(
    plan: "ConfiguredPlan", node: str, setting: "Setting", locate: "Locate", *, only_why: bool
) -> str:
    from cpuplan.change.impact.setting_rules import rule_on
    from cpuplan.plan.setting import cpu_sets
    from cpuplan.render.explain.reasons import explain_setting

    sets = list(cpu_sets(setting.value))
    names = plan.pools_with(sets[0]) if len(sets) == 1 else ()
    others = []
    if names and not only_why:
        from cpuplan.solve import alternatives

        others = [alternatives.other_cpus(plan, names)]
    rule = rule_on(plan.node_class.platform, plan.settings, setting)
    return explain_setting(setting, node, locate, names, others, rule)
