"""Containers with exclusive CPUs, sandboxes, and the state that says who has which CPUs."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.kubepods import MOUNT, PODS
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation
from tests.mutation.values import other_cpus

_SCOPE = re.compile(r"(crio|cri-containerd)-[0-9a-f]+\.scope\Z")


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each container that is pinned."""
    online = case.expected.cpus("online CPUs")
    for place in _scopes(case, f"{MOUNT}/{PODS}"):
        text = (case.image.text(f"{place}/cpuset.cpus") or "").strip()
        if not text:
            continue
        cpus = CpuSet.parse_kernel(text)
        other = other_cpus(cpus, online)
        name = place.rpartition("/")[2]
        about = f"{re.escape(name)}|{name.partition('-')[2].partition('.')[0]}|container|pod"
        changes: dict[str, Content] = {
            f"{place}/cpuset.cpus": f"{other}\n",
            f"{place}/cpuset.cpus.effective": f"{other}\n",
        }
        yield Mutation("containers", f"{name} has CPUs {other}", changes, about)
        quota: dict[str, Content] = {f"{place}/cpu.max": "50000 100000\n"}
        if "besteffort" not in place and not cpus & case.expected.pool("reserved").cpus:
            yield Mutation("containers", f"{name} has a quota", quota, f"{about}|quota|cpu.max")


def _scopes(case: Case, folder: str) -> Iterator[str]:
    for name in case.image.names(folder):
        if _SCOPE.search(name):
            yield f"{folder}/{name}"
        elif name.endswith(".slice"):
            yield from _scopes(case, f"{folder}/{name}")
