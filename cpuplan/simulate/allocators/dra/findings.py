"""What is wrong with the containers that run beside the driver."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cpuplan.simulate.allocators.dra.claims import Held
from cpuplan.simulate.allocators.dra.containers import Key, container_of
from cpuplan.upstream.dra.driver import Driver
from cpuplan.upstream.kubernetes.bits import to_text


class Now(NamedTuple):
    """The driver, allocated claims, the CPUs of running containers, and those with a claim."""

    driver: Driver
    held: Mapping[str, Held]
    running: Mapping[Key, int]
    owners: Collection[Key]


def findings(now: Now) -> Iterator[tuple[str, str]]:
    """The first of each kind of what is wrong with the containers that run now."""
    for find in (_strays, _intruders, _forgotten):
        yield from list(find(now))[:1]


def _strays(now: Now) -> Iterator[tuple[str, str]]:
    """Claims with CPUs outside of their devices (bug: core ids that repeat)."""
    known = now.driver.chooser.devices
    for uid, cpus in now.driver.store.claims.items():
        results = now.held[uid].claim.own_results
        within = 0
        for result in results:
            within |= known[result.device].cpus
        if stray := cpus & ~within:
            device = ", ".join(dict.fromkeys(result.device for result in results))
            text = f"claim {uid} of {device} gets CPUs {to_text(cpus)}"
            yield "CP722", f"{text}, of which {to_text(stray)} are elsewhere"


def _intruders(now: Now) -> Iterator[tuple[str, str]]:
    """Containers without a claim that run on CPUs of claims, or on reserved ones."""
    store = now.driver.store
    for (pod, name), cpus in now.running.items():
        if (pod, name) in now.owners:
            continue
        others = {"of claims": cpus & store.prepared, "reserved": cpus & ~store.available}
        shown = [f"{to_text(own)} ({what})" for what, own in others.items() if own]
        if shown:
            yield "CP723", f"container {name} of {pod} runs on CPUs {' and '.join(shown)}"


def _forgotten(now: Now) -> Iterator[tuple[str, str]]:
    """Claims that no running container has: a restart of the driver gives their CPUs away."""
    left = _restarted(now)
    for uid, cpus in now.driver.store.claims.items():
        if uid not in left:
            text = f"no running container has claim {uid}: when the driver restarts, its CPUs "
            yield "CP723", f"{text}{to_text(cpus)} are others' as well"


def _restarted(now: Now) -> Collection[str]:
    """The claims that the driver knows after it has restarted."""
    moment, owners = now.driver.take(), now.driver.owners.owners
    containers = [
        container_of(key, now.driver.environment(uid for uid in owners if owners[uid] == key))
        for key in now.running
    ]
    now.driver.synchronize(containers)
    left = set(now.driver.store.claims)
    now.driver.restore(moment)
    return left
