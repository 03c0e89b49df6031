"""Interrupts: the default mask, one that is moved to isolated CPUs, and irqbalance's bans."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.mutation.mutation import Case, Mutation, named
from tests.mutation.values import other_cpus

IRQ = "proc/irq"
DEFAULT = f"{IRQ}/default_smp_affinity"
LATER = "cpuplan/interrupts.later"
UNMOVABLE = "run/cpuplan-unmovable-interrupts"


def mutations(case: Case) -> Iterator[Mutation]:
    """Where the plan says which CPUs take interrupts."""
    settings = case.expected.settings
    online, isolated = case.expected.topology.online, case.expected.cpus("isolated CPUs")
    text = case.image.text(DEFAULT)
    if text is not None and settings.values("kernel").get("irqaffinity"):
        mask = other_cpus(CpuSet.parse_mask(text), online).short_mask()
        yield Mutation(
            "interrupts",
            "default mask",
            {DEFAULT: f"{mask}\n"},
            f"{named('irqaffinity')}|{DEFAULT}",
        )
    if settings.of("interrupts") and isolated:
        yield from _moved(case, isolated)
    yield from _balancer(case, isolated)


def _moved(case: Case, isolated: CpuSet) -> Iterator[Mutation]:
    """The first interrupt of a device that can be moved."""
    unmovable = (case.image.text(UNMOVABLE) or "").split()
    devices = _of_devices(case)
    for irq in case.image.names(IRQ):
        allowed = case.image.text(f"{IRQ}/{irq}/smp_affinity_list")
        if irq in unmovable or not allowed or irq not in devices:
            continue
        target = CpuSet([(isolated & case.expected.cpus("online CPUs")).first])
        changes = {
            f"{IRQ}/{irq}/smp_affinity_list": f"{target}\n",
            f"{IRQ}/{irq}/effective_affinity_list": f"{target}\n",
            f"{IRQ}/{irq}/smp_affinity": f"{target.short_mask()}\n",
            f"{IRQ}/{irq}/effective_affinity": f"{target.short_mask()}\n",
        }
        yield Mutation("interrupts", f"{irq} moved", changes, "interrupt")
        yield from _counted(case, irq, target.first)
        return


def _counted(case: Case, irq: str, cpu: int) -> Iterator[Mutation]:
    """The interrupt came to an isolated CPU, whatever its affinity says."""
    lines = (case.image.text(LATER) or "").splitlines()
    online = list(case.expected.cpus("online CPUs"))
    for at, line in enumerate(lines):
        name, colon, rest = line.partition(":")
        if name.strip() == irq:
            counts = rest.split()
            counts[online.index(cpu)] = str(int(counts[online.index(cpu)]) + 7)
            lines[at] = f"{name}{colon} {' '.join(counts[: len(online)])}   {_behind(rest, online)}"
            yield Mutation("interrupts", f"{irq} counted", {LATER: "\n".join(lines)}, "interrupt")


def _behind(rest: str, online: list[int]) -> str:
    """What a row has behind its counts, with its blanks."""
    return rest.split(None, len(online))[-1]


def _of_devices(case: Case) -> list[str]:
    """The interrupts that devices of PCI have asked for."""
    rows = (case.image.text("proc/interrupts") or "").splitlines()
    return [row.split(":")[0].strip() for row in rows if "-MSI" in row and "nvme" not in row]


def _balancer(case: Case, isolated: CpuSet) -> Iterator[Mutation]:
    """irqbalance runs with another ban than its file says."""
    for pid in case.image.names("proc"):
        if (case.image.text(f"proc/{pid}/comm") or "").strip() == "irqbalance" and isolated:
            environ = f"proc/{pid}/environ"
            for what, text in (
                ("another ban", "IRQBALANCE_BANNED_CPULIST=1\0"),
                ("no ban", "IRQBALANCE_BANNED_CPUS=0\0"),
            ):
                yield Mutation(
                    "interrupts", f"irqbalance: {what}", {environ: text}, "irqbalance|IRQBALANCE"
                )
            return
