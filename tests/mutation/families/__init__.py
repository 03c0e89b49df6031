"""What can be changed on a node, by what it is a part of."""

from collections.abc import Callable, Iterator, Mapping

from tests.mutation.families import (
    arguments,
    cgroups,
    containers,
    files,
    interrupts,
    kubelet,
    loader,
    machine,
    missing,
    pages,
    running,
    shown,
    tasks,
    units,
)
from tests.mutation.mutation import Case, Mutation

FAMILIES: Mapping[str, Callable[[Case], Iterator[Mutation]]] = {
    "arguments": arguments.mutations,
    "cgroups": cgroups.mutations,
    "containers": containers.mutations,
    "evidence": shown.mutations,
    "files": files.mutations,
    "interrupts": interrupts.mutations,
    "kubelet": kubelet.mutations,
    "loader": loader.mutations,
    "machine": machine.mutations,
    "missing": missing.mutations,
    "pages": pages.mutations,
    "running": running.mutations,
    "tasks": tasks.mutations,
    "units": units.mutations,
}
