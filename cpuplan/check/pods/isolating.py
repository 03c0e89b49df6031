"""The steps about partitions: the planned one, those of others, and what has leaked."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.check.pods.partitions import FILE, troubles
from cpuplan.check.pods.tree import MOUNT, Tree
from cpuplan.check.pods.view import view
from cpuplan.check.subject import Subject
from cpuplan.check.threads.task import cpu_list
from cpuplan.components import derived
from cpuplan.components.host import partitions as component
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Setting

_PATH = component.CGROUP.removeprefix(f"{MOUNT}/")
_BOOTED = "sys/devices/system/cpu/isolated"
FACT = "CPUs that control groups keep for themselves"


def planned(subject: Subject) -> Iterator[Answer]:
    """CP863: the partition of isolcpus is there and valid; reading it is the only way to know."""
    setting = _setting(subject)
    if setting is None:
        return
    tree = view(subject).tree
    evidence = f"{tree.folder(_PATH)}/{FILE}"
    if tree.problem or tree.is_v1:
        reason = tree.problem or "control groups of version 1 have no partitions"
        yield subject.unverifiable(setting, evidence, reason)
        return
    state = tree.read(_PATH, FILE) or "missing"
    others = [cpus for cpus in _cpus(tree) if cpus != setting.value]
    if state == "isolated" and not others:
        yield subject.held(setting, evidence)
        return
    shown = state if state != "isolated" else f"{state} with {cpus_text(others[0])}"
    yield subject.differs(
        setting, "CP863", evidence, observed=shown, expected=str(setting.value), state=shown
    )


def _cpus(tree: Tree) -> list[CpuSet]:
    """The CPUs of the planned partition, as far as they are shown: its own ones first."""
    own = cpu_list(tree.read(_PATH, "cpuset.cpus.exclusive.effective"))
    others = (tree.cpus(_PATH), tree.effective(_PATH))
    return [own, *(cpus for cpus in others if cpus)]


def _setting(subject: Subject) -> Setting | None:
    found = subject.expected.settings.of(component.NAME)
    return next((one for one in found if one.key == component.THREADS), None)


def foreign(subject: Subject) -> Iterator[Answer]:
    """CP839: partitions of others and invalid ones, and CPUs that are isolated for nobody."""
    seen = view(subject)
    tree = seen.tree
    if tree.problem or tree.is_v1:
        if not tree.is_v1:
            yield subject.unverifiable(FACT, tree.folder(""), tree.problem)
        return
    own = _PATH if _setting(subject) else ""
    by_plan = subject.expected.cpus(derived.UNBALANCED)
    booted = cpu_list(subject.root.read(_BOOTED) or "") | by_plan
    # What runs though it should not is no loss.
    online = seen.online & subject.expected.cpus(derived.ONLINE)
    found = list(troubles(tree, seen.partitions, own, online, booted))
    for each in found:
        yield subject.differs(
            FACT,
            "CP839",
            each.path,
            observed=each.problem,
            expected="no partition but those of the plan and of containers",
            heals=Heals.REBOOT if each.is_leak else Heals.LIVE,
        )
    if found:
        return
    if tree.effective("") is None:
        yield subject.unverifiable(FACT, tree.folder(""), "the CPUs of the root group are not here")
    else:
        yield subject.held(FACT, f"{tree.folder('')}/cpuset.cpus.effective")
