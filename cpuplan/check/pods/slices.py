"""The steps about slices: limits that the plan gives, and limits that it does not."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.pods.cgroups import Tree, above
from cpuplan.check.pods.container_cpus import View, view
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject, line_of
from cpuplan.check.threads.tasks import cpu_list
from cpuplan.components import derived
from cpuplan.components import slices as component
from cpuplan.components.host import systemd
from cpuplan.components.koordinator import node
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.setting import Setting
from cpuplan.upstream.kubelet.qossets import ALL_PODS

ALLOWED_CPUS = "AllowedCPUs"


def cgroup(name: str) -> str:
    """The control group of a slice or scope, below the mount point."""
    return f"{ALL_PODS}/{name}" if name.startswith("kubepods-") else name


def narrowed(tree: Tree, planned: Iterable[str], online: CpuSet) -> list[tuple[str, CpuSet]]:
    """(control group, CPUs) of all pods, or of a QoS class, from which CPUs are taken away.

    Those that the plan limits have their own check.
    """
    limited = {cgroup(name) for name in planned}
    tops = tree.all_pods()
    classes = [path for top in tops for path in tree.below(top) if _is_class(path, top)]
    cpus_by_path = ((path, tree.cpus(path)) for path in (*tops, *classes) if path not in limited)
    return [(path, cpus) for path, cpus in cpus_by_path if cpus and online - cpus]


def _is_class(path: str, top: str) -> bool:
    """Whether a control group is directly below the one of all pods, and not a pod's."""
    above, _, name = path.rpartition("/")
    return above == top and name.removesuffix(".slice").endswith(("burstable", "besteffort"))


NARROWED, SERVICES = "limits of slices of pods", "limits of services"


def limits(subject: Subject) -> Iterator[Answer]:
    """Every planned slice has its CPUs after all drop-ins, and in the kernel where it exists."""
    for setting in _planned(subject):
        answers = list(_files(subject, setting))
        yield from answers
        if not any(answer.finding for answer in answers):
            yield from _kernel(subject, setting)


def _planned(subject: Subject) -> list[Setting]:
    """Those of pods, and those of system services."""
    settings = subject.expected.settings
    system = [setting for setting in settings.of(systemd.NAME) if setting.key in systemd.SLICES]
    return [*settings.of(component.NAME), *system]


def _files(subject: Subject, setting: Setting) -> Iterator[Answer]:
    """CP860 and CP861: the drop-ins do not give the slice its CPUs."""
    own = component.path(setting.key).lstrip("/")
    paths = unit_files(subject).drop_ins(setting.key)
    texts = [subject.root.read(path) or "" for path in paths]
    if subject.root.refused:
        yield subject.unverifiable(setting, own, "not all drop-ins can be read")
        return
    limiting = [path for path, text in zip(paths, texts, strict=True) if ALLOWED_CPUS in text]
    if not limiting:
        yield _differs(subject, setting, "CP860", own, CpuSet())
        return
    actual = component.allowed(texts)
    if actual != setting.value:
        place = line_of(subject, limiting[-1], ALLOWED_CPUS)
        yield _differs(subject, setting, "CP861", place, actual)
    else:
        yield subject.held(setting, limiting[-1])


def _kernel(subject: Subject, setting: Setting) -> Iterator[Answer]:
    """CP862: a program wrote over the slice, or systemd was not reloaded."""
    tree = view(subject).tree
    path = cgroup(setting.key)
    evidence = f"{tree.folder(path)}/cpuset.cpus"
    wish, in_force = tree.cpus(path), tree.effective(path)
    has_wish = "cpuset.cpus" in tree.groups.get(path, ())
    if not has_wish and in_force is None:
        reason = tree.problem or "systemd has not made its control group, or gave it no cpuset"
        yield subject.unverifiable(setting, evidence, reason)
    elif has_wish and wish != setting.value:
        yield _differs(subject, setting, "CP862", evidence, wish)
    elif in_force and isinstance(setting.value, CpuSet) and in_force - setting.value:
        yield _differs(subject, setting, "CP862", f"{evidence}.effective", in_force)
    else:
        yield subject.held(setting, evidence)


def _differs(
    subject: Subject, setting: Setting, code: str, where: str | Position, actual: CpuSet
) -> Answer:
    return subject.differs(
        setting,
        code,
        where,
        observed=str(actual) or "all CPUs",
        expected=str(setting.value),
        slice=setting.key,
    )


def unplanned(subject: Subject) -> Iterator[Answer]:
    """CP862: pods of all kinds, or of a QoS class, have CPUs taken away that no plan takes."""
    seen = view(subject)
    if subject.expected.settings.of(node.NAME):
        return  # koordlet writes them by itself
    if not seen.tree.all_pods():
        reason = seen.tree.problem or "there is no control group of pods"
        yield subject.unverifiable(NARROWED, seen.tree.folder(""), reason)
        return
    planned = [setting.key for setting in subject.expected.settings.of(component.NAME)]
    narrowed_groups = narrowed(seen.tree, planned, seen.online)
    for path, cpus in narrowed_groups:
        evidence = f"{seen.tree.folder(path)}/cpuset.cpus"
        yield _narrowed(subject, path, evidence, str(cpus), "all CPUs")
    others = [*_of_memory(subject, seen), *_of_pods(subject, seen)]
    yield from others
    if not narrowed_groups and not others:
        yield subject.held(NARROWED, seen.tree.folder(seen.tree.all_pods()[0]))


def _of_memory(subject: Subject, seen: View) -> Iterator[Answer]:
    """The kubelet gives memory to containers alone."""
    for path in seen.tree.all_pods():
        nodes = seen.tree.read(path, "cpuset.mems")
        known = CpuSet(subject.expected.topology.numa_nodes)
        if nodes and known - cpu_list(nodes):
            evidence = f"{seen.tree.folder(path)}/cpuset.mems"
            yield _narrowed(subject, path, evidence, f"NUMA nodes {nodes}", f"NUMA nodes {known}")


def _of_pods(subject: Subject, seen: View) -> Iterator[Answer]:
    """A pod whose own limit takes CPUs from a container that the kubelet gave them."""
    limits = {pair.running.container.pod_path: EMPTY for pair in seen.pairs}
    for pair in seen.pairs:
        limits[pair.running.container.pod_path] |= pair.wanted & seen.online
    for path, wanted in limits.items():
        limit = seen.tree.cpus(path)
        if limit and wanted - limit:
            evidence = f"{seen.tree.folder(path)}/cpuset.cpus"
            yield _narrowed(subject, path, evidence, str(limit), f"all CPUs, or {wanted} and more")


def _narrowed(subject: Subject, path: str, where: str, observed: str, expected: str) -> Answer:
    name = path.rpartition("/")[2]
    return subject.differs(
        NARROWED,
        "CP862",
        where,
        observed=observed,
        expected=expected,
        heals=Heals.LIVE,
        slice=name,
    )


def services(subject: Subject) -> Iterator[Answer]:
    """CP862: a control group outside of pods leaves its services isolated CPUs alone.

    An affinity that has none of the CPUs of a cpuset counts for nothing.
    """
    seen, expected = view(subject), subject.expected
    system, isolated = expected.cpus(derived.SYSTEM), expected.cpus(derived.ISOLATED)
    planned = {cgroup(setting.key) for setting in _planned(subject)}
    own = {partition.path for partition in seen.partitions} | planned | set(seen.tree.all_pods())
    is_any_judged = False
    for path in sorted(seen.tree.groups):
        if any(group in own for group in (path, *above(path))):
            continue
        cpus = seen.tree.cpus(path) & seen.online
        if cpus & isolated and not cpus & system and not cpus <= expected.pool("isolcpus").cpus:
            is_any_judged = True
            evidence = f"{seen.tree.folder(path)}/cpuset.cpus"
            yield _narrowed(subject, path, evidence, str(cpus), str(system))._replace(fact=SERVICES)
    if not is_any_judged and isolated and not seen.tree.problem:
        yield subject.held(SERVICES, seen.tree.folder(""))
