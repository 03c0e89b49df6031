"""Boot arguments: each dropped, changed and given twice, and foreign ones."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import cmdline, kernel
from cpuplan.plan.setting import Setting
from cpuplan.upstream.linux import hugetlb
from tests.mutation.mutation import Case, Mutation, named
from tests.mutation.values import other_cpus, other_word

CMDLINE = "proc/cmdline"
#: What is wrong wherever a plan has isolated CPUs.
_FOREIGN = (
    "maxcpus=2",
    "nr_cpus=4",
    "possible_cpus=4",
    "cgroup_disable=cpuset",
    "cgroup_no_v1=all systemd.unified_cgroup_hierarchy=0",
    "numa=off",
    "idle=poll",
    "nohz=off",
    "noapic",
    "acpi=off",
    "hugepages=7",
    "rcu_nocbs=all",
    "systemd.cpu_affinity=0-3",
    "isolcpus=0",
)
_FLAGS = ("domain", "managed_irq", "nohz")


def mutations(case: Case) -> Iterator[Mutation]:
    """Of the running kernel's line alone: what the kernel shows elsewhere stays as it was."""
    line = (case.image.text(CMDLINE) or "").strip()
    if not line:
        return
    for setting in case.expected.settings.of(kernel.NAME):
        yield from _of_setting(case, line, setting)
    yield from _without_number(line)
    planned = {name for name, _ in cmdline.pairs(kernel.render(_settings(case)))}
    for words in _foreign(case):
        name = words.split()[-1].partition("=")[0]
        if name not in planned:
            yield Mutation(
                "arguments", f"foreign {words}", _line(f"{line} {words}"), named(name), CMDLINE
            )


def _without_number(line: str) -> Iterator[Mutation]:
    """A size of pages that no number follows sets none aside."""
    number = re.search(r"(hugepagesz=\S+) hugepages=\d+", line)
    if number:
        lone = _line(line.replace(number[0], number[1]))
        yield Mutation("arguments", f"{number[1]} without a number", lone, named("hugepagesz"))


def _settings(case: Case) -> list[Setting]:
    return list(case.expected.settings.of(kernel.NAME))


def _foreign(case: Case) -> Iterator[str]:
    yield from _FOREIGN
    topology = case.expected.topology
    if any(len(topology.siblings(cpu)) > 1 for cpu in topology.online):
        yield from ("nosmt", "mitigations=auto,nosmt")


def _line(text: str) -> dict[str, str]:
    return {CMDLINE: f"{text}\n"}


def _of_setting(case: Case, line: str, setting: Setting) -> Iterator[Mutation]:
    words = cmdline.words(setting.key, setting.value)
    text = " ".join(words)
    if text not in line:
        return
    movable = case.expected.topology.online - CpuSet([0])
    other = " ".join(_other(word, movable) for word in words)
    # The kernel takes the first size and count of huge pages, and drops what comes again.
    counts_once = setting.key.partition("=")[0] in hugetlb.NAMES
    if "=" not in text:
        yield Mutation(
            "arguments", f"{setting.key} dropped", _line(line.replace(f" {text}", "")), text
        )
        return
    for what, changed in (
        ("dropped", line.replace(f" {text}", "")),
        ("changed", line.replace(text, other)),
        ("doubled", line if counts_once else f"{line} {other}"),
    ):
        if changed == line:
            continue
        name, about = f"{setting.key} {what}", named(setting.key.partition("=")[0])
        yield Mutation("arguments", name, _line(changed), about, CMDLINE)


def _other(word: str, movable: CpuSet) -> str:
    """The argument with another value."""
    name, _, value = word.partition("=")
    if name == hugetlb.SIZE:
        return word
    if name == hugetlb.DEFAULT_SIZE:
        return f"{name}={'1G' if value == '2M' else '2M'}"
    if name == "tuned.non_isolcpus":
        return f"{name}={other_cpus(CpuSet.parse_mask(value), movable).mask()}"
    if cmdline.canonical(name) not in cmdline.CPU_LISTS:
        return f"{name}={other_word(value)}"
    flags = "".join(f"{flag}," for flag in value.split(",") if flag in _FLAGS)
    cpus = CpuSet.parse_kernel(value.removeprefix(flags))
    return f"{name}={flags}{other_cpus(cpus, movable)}"
