"""The options of a proposal; docs/openshift.md compares them with the profile creator's."""

from typing import Literal, NamedTuple, TypeAlias

Power: TypeAlias = Literal["default", "low-latency", "ultra-low-latency"]
POWER: tuple[Power, ...] = ("default", "low-latency", "ultra-low-latency")
#: `none` is left out, as in the creator: it makes a profile for alignment.
TOPOLOGY_POLICIES = ("single-numa-node", "best-effort", "restricted")

#: As `intent.Target.version`.
RELEASE_PATTERN = r"^[1-9][0-9]?\.[0-9]{1,2}$"


class Request(NamedTuple):
    """The options. Numbers are CPUs (hardware threads); frequencies are in kHz."""

    pool: str
    reserved: int
    offlined: int = 0
    split: bool = False
    disable_smt: bool = False
    real_time: bool = False
    power: Power = "default"
    per_pod_power: bool = False
    topology_policy: str = "restricted"
    user_level_networking: bool = False
    frequencies: tuple[int, int] | None = None
    name: str = ""  # of the Intent; the pool's if empty
    release: str = ""  # of OpenShift, if the must-gather does not contain it
    cluster: str = ""


def contradiction(request: Request) -> str | None:
    """Options that exclude each other, by the rules of the creator and of the webhook."""
    if request.split and request.topology_policy == "single-numa-node":
        return (
            "--split spreads reserved CPUs over NUMA nodes and cannot be used with "
            "--topology-policy single-numa-node"
        )
    if request.real_time and request.power == "default":
        return "--rt-kernel needs --power low-latency or ultra-low-latency"
    if request.per_pod_power and request.power == "ultra-low-latency":
        return "--per-pod-power saves power and cannot be used with --power ultra-low-latency"
    return None
