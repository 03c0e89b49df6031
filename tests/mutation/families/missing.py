"""A file that shows a fact is not there: then the fact is not held, whatever else is said."""

from collections import defaultdict
from collections.abc import Iterator

from cpuplan.plan.expected.evidence import Verdict
from tests.mutation.mutation import NOTHING, Case, Mutation

#: Above what a root shows: the start of paths in answers.
_ROOT = "/node/"
_CPUS = "sys/devices/system/cpu"
_CPU_0 = f"{_CPUS}/cpu0/"
_PAGES = "sys/kernel/mm/hugepages/"
#: Other files that show the same.
_SAME = {
    "boot/grub/grub.cfg": ("etc/default/grub", "etc/default/grub.d"),
    f"{_CPUS}/present": (f"{_CPUS}/possible",),
    "proc/1/status": ("proc/1/task",),
}


def mutations(case: Case) -> Iterator[Mutation]:
    """One for each file that an answer names as its evidence."""
    facts: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = defaultdict(set)
    for answer in case.clean:
        if answer.verdict is Verdict.HELD and answer.evidence.startswith(_ROOT):
            facts[answer.evidence.removeprefix(_ROOT)].add(answer.fact)
            others[answer.fact].add(answer.evidence)
    for path, held in sorted(facts.items()):
        # A fact that several files show may be held by the others.
        alone = tuple(sorted(fact for fact in held if len(others[fact]) == 1))
        if alone and case.image.text(path) is not None:
            yield Mutation("missing", path, dict.fromkeys(_all(case, path)), NOTHING, ".*", alone)


def _all(case: Case, path: str) -> list[str]:
    """The file, and those that say the same: of the other CPUs, and of a boot loader."""
    if path.startswith(_CPU_0):
        cpus = [name for name in case.image.names(_CPUS) if name[3:].isdecimal()]
        return [f"{_CPUS}/{cpu}/{path.removeprefix(_CPU_0)}" for cpu in cpus]
    if path.startswith(_PAGES):
        nodes = "sys/devices/system/node"
        below = path.removeprefix("sys/kernel/mm/")
        return [path, *(f"{nodes}/{node}/{below}" for node in case.image.names(nodes))]
    return [path, *_SAME.get(path, ())]
