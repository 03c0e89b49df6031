"""Taking whole packages, whole cores and single threads."""

from functools import cmp_to_key

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.cpuallocator.priorities import NONE
from cpuplan.upstream.nri.cpuallocator.request import Request, Topology

#: In a comparison: any number of CPUs.
_ANY = -1


def take_idle_packages(request: Request) -> None:
    """Packages all of whose CPUs of the wished class are free."""
    system = request.topology.system
    idle: dict[int, int] = {}
    for package in system.packages.values():
        cpus = package.cpus & ~system.offline
        if request.wish != NONE:
            cpus &= request.topology.priorities[request.wish]
        if not cpus & ~request.free:
            idle[package.package] = cpus

    def compare(package_id: int, rival: int) -> int:
        packages = system.packages
        better = request.prefers(packages[package_id].cpus, packages[rival].cpus, _ANY)
        return -better or package_id - rival

    for package_id in sorted(idle, key=cmp_to_key(compare)):
        if request.count >= idle[package_id].bit_count():
            request.take(idle[package_id])
        if not request.count:
            break


def take_idle_cores(request: Request) -> None:
    """Cores all of whose threads are free."""
    system = request.topology.system
    idle: dict[int, int] = {}
    for cpu in system.cpus.values():
        threads = cpu.threads & ~system.offline
        if threads and not threads & ~request.free and members(threads)[0] == cpu.cpu:
            idle[cpu.cpu] = threads

    def compare(cpu_id: int, rival: int) -> int:
        cpus = system.cpus
        better = request.prefers(cpus[cpu_id].threads, cpus[rival].threads, _ANY)
        return -better or cpu_id - rival

    for cpu_id in sorted(idle, key=cmp_to_key(compare)):
        if request.count >= idle[cpu_id].bit_count():
            request.take(idle[cpu_id])
        if not request.count:
            break


def take_idle_threads(request: Request) -> None:
    """Single CPUs, in an order that is made once."""
    system = request.topology.system
    packages = {
        package.package: (
            -(package.cpus & request.taken).bit_count(),
            package.cpus & request.free,
        )
        for package in system.packages.values()
    }

    def compare(cpu: int, rival: int) -> int:
        mine, theirs = system.cpus[cpu], system.cpus[rival]
        (near, free), (their_near, their_free) = packages[mine.package], packages[theirs.package]
        if near != their_near:
            return near - their_near
        if better := request.prefers(free, their_free, request.count):
            return -better
        if mine.package != theirs.package:
            return mine.package - theirs.package
        if better := request.prefers(1 << cpu, 1 << rival, 0):
            return -better
        used = (mine.threads & request.free).bit_count()
        their_used = (theirs.threads & request.free).bit_count()
        return used - their_used or cpu - rival

    candidates = members(request.free & ~system.offline)
    for cpu in sorted(candidates, key=cmp_to_key(compare)):
        request.take(1 << cpu)
        if not request.count:
            break


def split(topology: Topology, wish: int, group: int, count: int) -> int:
    """`count` CPUs of a group: whole cores first; none if it has too few."""
    part = Request(topology, wish, group, count)
    take_idle_cores(part)
    if part.count > 0:
        take_idle_threads(part)
    return part.taken if not part.count else 0
