"""Boot arguments that a kernel would drop, or of which it makes something else."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.components import chosen, cmdline, hugepages, isolation, kernel
from cpuplan.components.chosen import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kernel import ISOLCPUS, NOHZ_FULL
from cpuplan.plan import ConfiguredPlan, NodePlan, boot_arguments
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.linux import hugetlb, kernel_parameters
from cpuplan.upstream.linux.cmdline import Argument
from cpuplan.upstream.linux.isolation import REDUNDANT, UNKNOWN, Remark
from cpuplan.upstream.linux.kernel_parameters import Cpu, Harm, Needs

_FLAGS = re.compile(r"^(?:[a-z_]+,)+")


def check_effects(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP536 to CP538, and CP600."""
    given = _given(plan)
    for remark in kernel.remarks_of(plan):
        if not _is_new(plan, remark, own=remark.key in given):
            continue
        code = "CP537" if remark.kind == REDUNDANT else "CP536"
        field = given.get(remark.key, "isolation")
        position = locate(plan.node_class.place(field))
        yield diagnose(
            code, position, argument=_argument(plan, remark), reason=remark.text, linux=kernel.LINUX
        )
    yield from _check_managed(plan, locate)
    yield from _check_old_kernels(plan, locate)


def _is_new(plan: ConfiguredPlan, remark: Remark, *, own: bool) -> bool:
    """Whether no other finding is about it.

    CP520 judges CPU lists among extra arguments, and CP214 a CPU 0 that is not reserved, unless its
    rule is off. Computed arguments say some things twice, as the node tuning operator does.
    """
    if own:
        return remark.key not in cmdline.CPU_LISTS
    has_rule = all(rule.disable != "cpu0-reserved" for rule in plan.spec.rules)
    return remark.key == NOHZ_FULL.key and not has_rule


def _given(plan: ConfiguredPlan) -> dict[str, str]:
    """The fields of extra arguments, by key."""
    fields = {}
    for index, argument in enumerate(plan.spec.kernel.extra_arguments):
        key = cmdline.canonical(argument.partition("=")[0])
        fields[key] = f"kernel.extraArguments.{index}"
    return fields


def _argument(plan: ConfiguredPlan, remark: Remark) -> str:
    settings = plan.settings.of(kernel.NAME)
    for setting in settings:
        if cmdline.canonical(setting.key) == remark.key:
            return kernel.argument(setting)
    return remark.key


def _check_managed(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """managed_irq that is asked for by name, with nothing else that isolates a CPU."""
    values = plan.settings.values(kernel.NAME)
    switches = plan.spec.isolation
    others = (isolation.switch(switches, key) for key in ("domain", "nohzFull"))
    is_alone = switches.managed_irq and not any(others)
    asked = is_written(plan, "isolation.managedIrq")
    if "isolcpus" in values and is_alone and asked:
        position = locate(plan.node_class.place("isolation.managedIrq"))
        yield diagnose("CP538", position, linux=kernel.LINUX)


def _check_old_kernels(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """Lists that differ from the first one of the ticks and isolcpus=, where kernels may be old.

    Before Linux 5.18 there was one list for all (kernel/sched/isolation.c, housekeeping_setup).
    """
    keys = {NOHZ_FULL.key, "isolcpus"}
    # CP520 judges lists among extra arguments.
    if plan.node_class.platform.ships_kernel or keys & _given(plan).keys():
        return
    lists = list(_lists(plan))
    for (_, first), (setting, word) in zip(lists[:1] * len(lists), lists, strict=True):
        if _cpus(word) != _cpus(first):
            reasons = (reason for reason in reversed(setting.reasons) if locate(reason.origin))
            origin = next((reason.origin for reason in reasons), "")
            yield diagnose("CP600", locate(origin), argument=word, first=first)


def _lists(plan: ConfiguredPlan) -> Iterator[tuple[Setting, str]]:
    for setting in plan.settings.of(kernel.NAME):
        if setting.key in (NOHZ_FULL.key, "isolcpus"):
            yield from ((setting, word) for word in cmdline.words(setting.key, setting.value))


def _cpus(word: str) -> str:
    """The list of an argument without its flags."""
    return _FLAGS.sub("", word.partition("=")[2])


#: COMMAND_LINE_SIZE of the kernel (arch/*/include/uapi/asm/setup.h), the end included.
LINE_SIZES = {"x86_64": 2048, "aarch64": 2048, "ppc64le": 2048, "riscv64": 1024, "s390x": 4096}
#: What boot loader and installer put before it: BOOT_IMAGE=, root=, ostree=, console=.
OTHERS_SHARE = 256


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """Arguments against the plan, hints that exclude each other, a line that is too long."""
    return [
        *_check_extra(plan, locate),
        *_check_hints(plan, locate),
        *_check_length(plan, locate),
        *_check_vendor(plan, locate),
    ]


def _check_extra(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP521, and what `problems` has of the intent's own arguments.

    It may choose some by naming them; CP536 has those that no kernel knows.
    """
    own = boot_arguments.own(plan.node_class)
    if not own:
        return
    passed = kernel_parameters.CHOICES | frozenset(UNKNOWN)
    judged = [argument for argument in own if argument.name not in passed]
    wrong = list(problems(plan, judged))
    yield from diagnostics(wrong, locate)
    told = {problem.argument for problem in wrong}
    computed = kernel.computed(plan)
    words = {cmdline.canonical(key): cmdline.words(key, value) for key, value in computed.items()}
    known = {cmdline.canonical(key): value for key, value in computed.items()}
    for argument in own:
        ((key, value),) = cmdline.keyed(argument.text).items()
        name = cmdline.canonical(key)
        if argument.name in cmdline.CPU_LISTS | hugetlb.NAMES or argument in told:
            continue
        if name in known and known[name] != value:
            planned = " ".join(words[name])
            yield diagnose("CP521", locate(argument.place), argument=argument.text, planned=planned)
        # Further arguments are compared with this one.
        if name not in known:
            known[name], words[name] = value, [argument.text]


#: What leaves the plan whole.
_WARNINGS = frozenset(("CP522", "CP5301", "CP5303"))


class Problem(NamedTuple):
    """What is wrong with an argument, by its code, with further values of the message."""

    code: str
    argument: Argument
    values: Mapping[str, Any]

    @property
    def is_error(self) -> bool:
        """Whether the plan does not hold with the argument."""
        return self.code not in _WARNINGS

    @property
    def effect(self) -> str:
        """What the argument does, in words; "" where it only has another value."""
        cpus = self.values.get("cpus")
        return f"{cpus} would not come up" if cpus else self.values.get("effect", "")


def problems(plan: NodePlan, arguments: Sequence[Argument]) -> Iterator[Problem]:
    """What boot arguments that the plan does not compute do to it, wherever they come from.

    They are in the order of the command line: own ones of the intent, of a profile, of objects of
    the cluster. Of huge pages `components.hugepages` counts, and says what does not fit.
    """
    if not arguments:
        return
    needs, own = needs_of(plan), kernel.computed(plan)
    for argument in arguments:
        if argument.name in cmdline.CPU_LISTS:
            yield from _of_list(argument, own)
        elif argument.name in hugetlb.NAMES:
            yield from _beside_pages(plan, argument)
    for undone in kernel_parameters.undoing(arguments, needs):
        if undone.name in cmdline.CPU_LISTS or undone.name in hugetlb.NAMES:
            continue
        if undone.harm is Harm.BREAKS and undone.cpus:
            yield Problem("CP523", undone.argument, {"cpus": cpus_text(undone.cpus)})
        else:
            code = "CP5300" if undone.harm is Harm.BREAKS else "CP5301"
            yield Problem(code, undone.argument, {"effect": undone.effect})


def diagnostics(wrong: Iterable[Problem], locate: Locate) -> Iterator[Diagnostic]:
    """Each at the place of its argument."""
    for problem in wrong:
        argument = problem.argument
        position = locate(argument.place)
        yield diagnose(problem.code, position, argument=argument.text, **problem.values)


def needs_of(plan: NodePlan) -> Needs:
    """What a plan needs of the kernel, for arguments that it does not compute itself."""
    topology, node_class = plan.topology, plan.node_class
    memory = list(hugepages.memory_nodes(node_class.topology).values())
    known = [size for size in memory if size is not None]
    return Needs(
        cpus=topology.online - plan.pool("offlined").cpus,
        present=topology.online | topology.offline,
        first_threads=CpuSet(topology.cores),
        numa_nodes=len(topology.numa_nodes),
        is_cgroup_v1=chosen.are_cgroups_v1_planned(plan),
        has_huge_pages=any(hugepages.per_node(plan).values()),
        has_isolated=bool(isolation.isolated(plan).cpus),
        is_real_time_kernel=plan.spec.kernel.real_time,
        system=isolation.system_cpus(plan),
        memory=sum(known) if known and len(known) == len(memory) else None,
        cpu=Cpu(node_class.architecture, node_class.cpu_vendor, node_class.cpu_model_number),
    )


def _of_list(argument: Argument, own: Mapping[str, Value]) -> Iterator[Problem]:
    """CP520, or CP5303 where the CPUs are those of the plan and only flags differ."""
    ((key, value),) = cmdline.keyed(argument.text).items()
    planned = own.get(key)
    if planned is None:
        yield Problem("CP520", argument, {"planned": f"no {key}="})
    elif planned != value:
        is_same = key == ISOLCPUS.key and _flagged_cpus(value) == _flagged_cpus(planned)
        words = " ".join(cmdline.words(key, planned))
        yield Problem("CP5303" if is_same else "CP520", argument, {"planned": words})


def _flagged_cpus(value: Value) -> set[str]:
    """The lists of isolcpus= without their flags."""
    return {str(words[-1]) for words in cmdline.lists(value) if isinstance(words, tuple) and words}


def _beside_pages(plan: NodePlan, argument: Argument) -> Iterator[Problem]:
    """CP522 and CP5302: huge pages by arguments beside those of hugePages."""
    spec = plan.spec.huge_pages
    if not (spec.pages or spec.default_size):
        return
    effect, is_contradiction = hugepages.beside(plan, argument)
    yield Problem("CP5302" if is_contradiction else "CP522", argument, {"effect": effect})


def _check_hints(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """The pairs that the node tuning operator's webhook refuses, and kernels that do not exist."""
    hints, wanted = plan.spec.workload_hints, plan.spec.kernel
    power, pods = "workloadHints.highPowerConsumption", "workloadHints.perPodPowerManagement"
    pairs = [
        (
            hints.high_power_consumption and hints.per_pod_power_management,
            pods,
            "true",
            f"{power} true",
        ),
        (
            hints.real_time is False and wanted.real_time,
            "workloadHints.realTime",
            "false",
            "kernel.realTime true",
        ),
        (
            wanted.page_size == "64k" and wanted.real_time,
            "kernel.pageSize",
            "64k",
            "kernel.realTime true",
        ),
        (
            wanted.page_size == "64k" and plan.node_class.architecture not in ("aarch64", ""),
            "kernel.pageSize",
            "64k",
            f"hardware of architecture {plan.node_class.architecture}",
        ),
    ]
    for wrong, field, value, other in pairs:
        if wrong:
            position = locate(plan.node_class.place(field))
            yield diagnose("CP524", position, field=field, value=value, other=other)


def _check_length(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    limit = LINE_SIZES.get(plan.node_class.architecture, 2048) - OTHERS_SHARE
    length = len(plan.settings.text(kernel.NAME, kernel.render))
    if length > limit:
        position = locate(plan.node_class.place("pools"))
        yield diagnose("CP525", position, length=length, limit=limit, name=plan.node_class.name)


def _check_vendor(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CPUs on which nothing is tuned."""
    node_class = plan.node_class
    if not kernel.is_tunable(plan):
        position = locate(node_class.hardware_place("vendor"))
        version = node_class.target.version
        yield diagnose("CP572", position, vendor=node_class.cpu_vendor, version=version)
