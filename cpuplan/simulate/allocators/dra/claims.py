"""The claims of pods: what they ask for, and the devices that they get."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.simulate.dra.inputs import Inputs
from cpuplan.upstream.dra.allocator_incubating import SchedulerError, Search, Spec, Usage
from cpuplan.upstream.dra.driver import Claim, Result
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim

_NO_DEVICES = "cannot allocate all claims"


class Held(NamedTuple):
    """An allocated claim, and the pods that it is reserved for."""

    claim: Claim
    pods: tuple[str, ...]


def allocate(pod: Pod, held: Mapping[str, Held], inputs: Inputs) -> dict[str, Claim]:
    """The pod's claims that are not `held` yet, with their devices, by their names.

    Raises SchedulerError, and StoppedError where the search is too long.
    """
    asked = {uid_of(pod, claim): claim for claim in pod.claims}
    for uid in asked if inputs.is_mapped else ():
        if uid in held:
            text = f"node allocatable resource claim {uid} has a mapped device"
            raise SchedulerError(f"{text} and cannot be shared across pods")
    asked = {uid: claim for uid, claim in asked.items() if uid not in held}
    specs = [_spec_of(claim) for claim in asked.values()]
    search = Search(inputs.devices, usage(held.values()), inputs.classes)
    found = search.allocate([spec for spec in specs if spec.results is None])
    if found is None:
        raise SchedulerError(_NO_DEVICES)
    results = iter(found)
    claims = {}
    for (uid, claim), spec in zip(asked.items(), specs, strict=True):
        own = next(results) if spec.results is None else spec.results
        name = claim.claim or f"{pod.name}-{claim.name}"
        claims[uid] = Claim(uid, name, own, spec.configs, pod.namespace or "default")
    return claims


def usage(held: Iterable[Held]) -> Usage:
    """The devices that allocated claims have, prepared or not."""
    devices, consumed = set(), dict[str, int]()
    for each in held:
        for result in each.claim.own_results:
            if result.consumed is None:
                devices.add(result.device)
            else:
                nano = quantity.parse(result.consumed).nano
                consumed[result.device] = consumed.get(result.device, 0) + nano
    return Usage(frozenset(devices), consumed)


def uid_of(pod: Pod, claim: PodClaim) -> str:
    """The claim's own name, or that of the pod for which it is made of a template."""
    return (
        f"{pod.namespace or 'default'}/{claim.claim}" if claim.claim else f"{pod.uid}/{claim.name}"
    )


def _spec_of(claim: PodClaim) -> Spec:
    if isinstance(claim.spec, Spec):
        return claim.spec
    what = (
        f"ResourceClaim {claim.claim}" if claim.claim else f"ResourceClaimTemplate {claim.template}"
    )
    raise SchedulerError(f"the files have no {what}")


def cpus_of(claim: Claim) -> int:
    """The CPUs of a claim in billionths, as its devices map them."""

    def of(result: Result) -> int:
        return quantity.parse(result.consumed or "1").nano

    return sum(map(of, claim.own_results))
