"""Performance and efficient cores (checkCoreKinds)."""

from collections.abc import Mapping

from cpuplan.upstream.kubelet.bits import members, to_text
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.sysfs.files import Files
from cpuplan.upstream.nri.sysfs.system import E_CORE, P_CORE, Cpu


def of_machine(files: Files, cpus: Mapping[int, Cpu]) -> dict[str, int]:
    """The CPUs of each kind that the machine has; NriError where they do not make sense."""
    kinds = _listed(files)
    if not kinds:
        kinds[P_CORE] = files.online
    elif len(kinds) == 1:
        kinds = _completed(kinds, files.online, cpus)
    _check(kinds, files.online, cpus)
    return kinds


def of_cpu(cpu: int, kinds: Mapping[str, int]) -> str:
    """A CPU's kind; one in no list is a performance core."""
    return E_CORE if kinds.get(E_CORE, 0) >> cpu & 1 else P_CORE


def _listed(files: Files) -> dict[str, int]:
    """The lists of the hybrid PMUs; without that of performance cores all are."""
    performance = files.online if files.core_cpus is None else files.core_cpus
    lists = {P_CORE: performance, E_CORE: files.atom_cpus or 0}
    return {kind: cpus for kind, cpus in lists.items() if cpus}


def _completed(kinds: dict[str, int], online: int, cpus: Mapping[int, Cpu]) -> dict[str, int]:
    """With one list only, all other CPUs are of the other kind."""
    ((given, listed),) = kinds.items()
    whole = _threads(listed, cpus)
    if whole == online:
        return kinds
    other = E_CORE if given == P_CORE else P_CORE
    return {given: whole, other: online & ~whole}


def _check(kinds: Mapping[str, int], online: int, cpus: Mapping[int, Cpu]) -> None:
    seen = 0
    for kind, listed in kinds.items():
        if missing := _threads(listed, cpus) & ~listed:
            raise NriError(f"{kind} CPUs ({to_text(listed)}) miss threads ({to_text(missing)})")
        if common := listed & seen:
            other = next(name for name in kinds if kinds[name] & common)
            raise NriError(
                f"{kind} CPUs ({to_text(listed)}) and {other} CPUs ({to_text(kinds[other])}) "
                f"overlap ({to_text(common)})"
            )
        seen |= listed
    if missing := online & ~seen:
        raise NriError(f"some CPUs ({to_text(missing)}) are neither marked to be of any core type")


def _threads(listed: int, cpus: Mapping[int, Cpu]) -> int:
    threads = 0
    for cpu in members(listed):
        if cpu in cpus:
            threads |= cpus[cpu].threads
    return threads
