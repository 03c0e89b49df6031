"""What the driver keeps in memory, and nowhere else.

Upstream: kubernetes-sigs/dra-driver-cpu pkg/store/cpu_allocation.go pkg/store/claim_tracker.go
  pkg/store/pod_config.go @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.dra.api import DraError
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.strconv import quote


class Allocations:
    """The CPUs of prepared claims, by their uids; all others are the shared pool."""

    def __init__(self, available: int, claims: Mapping[str, int] | None = None) -> None:
        self.available = available
        self.claims = dict(claims or {})

    @property
    def prepared(self) -> int:
        together = 0
        for cpus in self.claims.values():
            together |= cpus
        return together

    @property
    def shared(self) -> int:
        return self.available & ~self.prepared

    def reserve(self, uid: str, cpus: int) -> None:
        """Keep CPUs for a claim; DraError if others have them, or nobody can have them."""
        before = self.claims.get(uid)
        if before == cpus:
            return
        if before is not None:
            text = f"CPUs {quote(to_text(before))} (requested {quote(to_text(cpus))})"
            raise DraError(f"claim {quote(uid)} is already prepared with {text}")
        if cpus & ~self.shared:
            text = f"overlapping CPU assignment {quote(to_text(cpus))}"
            raise DraError(f"claim {quote(uid)} has {text}")
        self.claims[uid] = cpus

    def validate(self, expected: Mapping[str, int]) -> None:
        """DraError unless all of these claims are prepared with these CPUs."""
        for uid, cpus in expected.items():
            known = self.claims.get(uid)
            if known is None:
                raise DraError(f"claim {quote(uid)} is not prepared by this driver")
            if known != cpus:
                text = f"expected {quote(to_text(known))}, got {quote(to_text(cpus))}"
                raise DraError(
                    f"validation failed for claim {quote(uid)}: cpuset mismatch ({text})"
                )


class Owner(NamedTuple):
    """The one container that may use a claim."""

    pod: str
    container: str


class Owners:
    """The containers of claims, by their uids."""

    def __init__(self, owners: Mapping[str, Owner] | None = None) -> None:
        self.owners = dict(owners or {})

    def bind(self, owner: Owner, uids: Sequence[str]) -> list[str]:
        """Give claims to a container, and say which had none; DraError if another has one."""
        for uid in uids:
            other = self.owners.get(uid, owner)
            if other != owner:
                bound = f"pod {quote(other.pod)} container {quote(other.container)}"
                raise DraError(f"claimUID {quote(uid)} already bound to {bound}")
        new = [uid for uid in uids if uid not in self.owners]
        self.owners.update(dict.fromkeys(new, owner))
        return new

    def release(self, uids: Sequence[str]) -> None:
        for uid in uids:
            self.owners.pop(uid, None)


class Known(NamedTuple):
    """A container that runs; without claims it is in the shared pool."""

    id: str
    claims: tuple[str, ...] = ()
