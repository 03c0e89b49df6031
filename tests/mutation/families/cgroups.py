"""Control groups: partitions, foreign and planned, and the slices of pods."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation
from tests.mutation.values import other_cpus

ROOT = "sys/fs/cgroup"
THREADS = f"{ROOT}/isolcpus.slice/isolcpus-threads.slice"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of a node with cgroup v2 that shows its control groups."""
    if not case.image.names(ROOT):
        return
    isolated = case.expected.cpus("isolated CPUs")
    if isolated:
        yield _foreign(case, isolated)
        yield from _services(case, isolated)
        yield from _without_cpusets(case)
    if case.expected.settings.of("partitions"):
        yield from _partition(case)
    yield from _slices(case)


def _foreign(case: Case, isolated: CpuSet) -> Mutation:
    taken = CpuSet([(isolated & case.expected.cpus("online CPUs")).first])
    now = CpuSet.parse_kernel((case.image.text(f"{ROOT}/cpuset.cpus.isolated") or "").strip())
    effective = CpuSet.parse_kernel(
        (case.image.text(f"{ROOT}/cpuset.cpus.effective") or "").strip()
    )
    changes: dict[str, Content] = {
        f"{ROOT}/site.slice/cpuset.cpus": f"{taken}\n",
        f"{ROOT}/site.slice/cpuset.cpus.effective": f"{taken}\n",
        f"{ROOT}/site.slice/cpuset.cpus.exclusive": "\n",
        f"{ROOT}/site.slice/cpuset.cpus.exclusive.effective": f"{taken}\n",
        f"{ROOT}/site.slice/cpuset.cpus.partition": "isolated\n",
        f"{ROOT}/cpuset.cpus.isolated": f"{now | taken}\n",
        f"{ROOT}/cpuset.cpus.effective": f"{effective - taken}\n",
    }
    return Mutation(
        "cgroups", "a foreign partition", changes, "partition|isolated|site.slice", "kernel threads"
    )


def _services(case: Case, isolated: CpuSet) -> Iterator[Mutation]:
    """A group outside of pods that has isolated CPUs alone, and others than those of isolcpus."""
    taken = (isolated - case.expected.pool("isolcpus").cpus) & case.expected.cpus("online CPUs")
    if taken and case.expected.cpus("CPUs of system services"):
        changes: dict[str, Content] = {
            f"{ROOT}/site.slice/cpuset.cpus": f"{taken}\n",
            f"{ROOT}/site.slice/cpuset.cpus.effective": f"{taken}\n",
            f"{ROOT}/site.slice/cpuset.cpus.partition": "member\n",
        }
        yield Mutation("cgroups", "services on isolated CPUs", changes, "site.slice")


def _without_cpusets(case: Case) -> Iterator[Mutation]:
    path = f"{ROOT}/cgroup.controllers"
    words = (case.image.text(path) or "").split()
    if "cpuset" in words:
        left = " ".join(word for word in words if word != "cpuset")
        yield Mutation("cgroups", "no controller cpuset", {path: f"{left}\n"}, "controller")


def _partition(case: Case) -> Iterator[Mutation]:
    state = f"{THREADS}/cpuset.cpus.partition"
    for text in ("isolated invalid (Cpu list in cpuset.cpus not exclusive)", "member", "root"):
        yield Mutation(
            "cgroups", f"partition is {text}", {state: f"{text}\n"}, "partition|isolcpus"
        )
    cpus = case.image.text(f"{THREADS}/cpuset.cpus")
    if cpus:
        fewer = CpuSet.parse_kernel(cpus.strip())
        less = fewer - CpuSet([fewer.last])
        changes: dict[str, Content] = {
            f"{THREADS}/cpuset.cpus": f"{less}\n",
            f"{THREADS}/cpuset.cpus.effective": f"{less}\n",
            f"{THREADS}/cpuset.cpus.exclusive.effective": f"{less}\n",
            f"{ROOT}/cpuset.cpus.isolated": f"{less}\n",
        }
        yield Mutation("cgroups", "partition with fewer CPUs", changes, "partition|isolcpus")


def _slices(case: Case) -> Iterator[Mutation]:
    for setting in case.expected.settings.of("slices"):
        folder = _folder(setting.key)
        text = case.image.text(f"{folder}/cpuset.cpus")
        if text is None or not isinstance(setting.value, CpuSet):
            continue
        cpus = other_cpus(setting.value, case.expected.cpus("online CPUs"))
        changes: dict[str, Content] = {
            f"{folder}/cpuset.cpus": f"{cpus}\n",
            f"{folder}/cpuset.cpus.effective": f"{cpus}\n",
        }
        yield Mutation("cgroups", f"{setting.key} with other CPUs", changes, setting.key)
        unlimited: dict[str, Content] = {f"{folder}/cpuset.cpus": "\n"}
        yield Mutation("cgroups", f"{setting.key} without a limit", unlimited, setting.key)


def _folder(unit: str) -> str:
    """The control group of a slice: those whose name is longer are below the others."""
    stem, dot, kind = unit.rpartition(".")
    parts = stem.split("-")
    names = ["-".join(parts[: end + 1]) + dot + kind for end in range(len(parts))]
    return "/".join([ROOT, *names])
