"""What the plan needs of a node and no file of the plan sets: CP894."""

from collections.abc import Iterator

from cpuplan.check.kernel import arguments, effects
from cpuplan.check.kernel.kernel_log import CMDLINE, log_of_boot
from cpuplan.check.pods.container_cpus import view
from cpuplan.check.subject import Subject
from cpuplan.components import kernel
from cpuplan.components.derived import CGROUPS, HUGE_PAGES
from cpuplan.components.openshift import pinning as component
from cpuplan.facts.settings.kernel import NOHZ_FULL, RCU_NOCBS
from cpuplan.plan.expected.evidence import Answer

GROUPS, COMPLAINTS = "version of control groups", "complaints of the kernel"
_CONTROLLERS = "sys/fs/cgroup/cgroup.controllers"
#: Without them the kubelet does not start (cm/container_manager_linux.go).
_NEEDED = ("cpuset", "cpu", "memory", "pids")
_PINNING = "workload pinning"


def control_groups(subject: Subject) -> Iterator[Answer]:
    """The planned version, with the controllers that the kubelet needs."""
    wanted = str(subject.expected.facts.get(CGROUPS, ""))
    tree = view(subject).tree
    if not tree.present:
        if wanted:
            yield subject.unverifiable(GROUPS, tree.folder(""), tree.problem)
        return
    version = "v1" if tree.is_v1 else "v2"
    if wanted and version != wanted:
        where = tree.folder("")
        yield subject.differs(GROUPS, "CP8220", where, observed=version, expected=wanted)
        return
    needed = [*_NEEDED, *(["hugetlb"] if subject.expected.facts.get(HUGE_PAGES) else [])]
    listed = (subject.root.read(_CONTROLLERS) or "").split()
    lost = [name for name in needed if listed and name not in listed]
    if lost:
        yield subject.differs(
            GROUPS,
            "CP8221",
            _CONTROLLERS,
            observed=" ".join(listed),
            expected=", ".join(needed),
            missing=", ".join(lost),
        )
    else:
        yield subject.held(GROUPS, tree.folder(""))


def complaints(subject: Subject) -> Iterator[Answer]:
    """The kernel took no offence at a list of CPUs; what it dropped may show nowhere else."""
    settings = subject.expected.settings.of(kernel.NAME)
    lists = [
        setting for setting in settings if setting.key in ("isolcpus", NOHZ_FULL.key, RCU_NOCBS.key)
    ]
    if not lists:
        return
    kernel_log = log_of_boot(subject)
    if kernel_log.log is None:
        yield subject.unverifiable(COMPLAINTS, kernel_log.path, kernel_log.problem)
    elif not kernel_log.log.dropped:
        yield subject.held(COMPLAINTS, kernel_log.path)
    elif not all(arguments.as_planned(subject, setting) for setting in lists):
        reason = "the node was booted with other lists of CPUs"
        yield subject.unverifiable(COMPLAINTS, CMDLINE, reason)
    elif any(answer.finding for answer in effects.effects(subject)):
        reason = "what the kernel made of its arguments is told by itself"
        yield subject.unverifiable(COMPLAINTS, kernel_log.path, reason)
    else:
        path, words = kernel_log.path, kernel_log.log.dropped[0]
        expected = "no complaint"
        yield subject.differs(COMPLAINTS, "CP8222", path, observed=words, expected=expected)


def pinning(subject: Subject) -> Iterator[Answer]:
    """OpenShift's kubelet keeps a file's CPUs from all pods, whoever wrote it."""
    path = component.PATH
    if not subject.expected.platform.forks_kubelet or path in subject.expected.files:
        return
    where, observed, expected = path.lstrip("/"), "a file", "no file"
    if subject.root.is_file(where):
        yield subject.differs(
            _PINNING, "CP8223", where, observed=observed, expected=expected, path=path
        )
