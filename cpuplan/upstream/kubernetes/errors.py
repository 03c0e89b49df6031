"""How a kubelet refuses, and how it fails without meaning to.

Upstream: kubernetes/kubernetes staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go
  pkg/kubelet/cm/admission/errors.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class KubeletError(Exception):
    """An error that the kubelet returns; the message is its exact text."""


class AdmissionError(KubeletError):
    """An error with its own reason for the pod's status (pkg/kubelet/cm/admission/errors.go)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class AggregateError(KubeletError):
    """Several errors at once, printed as Go's aggregates are."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        self.texts = tuple(texts)


class PanicError(Exception):
    """The kubelet crashes: a Go run-time panic, with its text."""


class HangError(Exception):
    """The kubelet loops for ever."""


#: From so many sets of NUMA nodes on the kubelet does not come to an end: with a microsecond for
#: each, and 24 bytes for each that suffices (topologymanager, TopologyHint), a pod takes hours and
#: more memory than nodes reserve for it.
ENDLESS = 1 << 30
#: From so many combinations of hints on it does not, either: 2^32 of them took 21 minutes
#: (kubernetes/kubernetes#131738), these take six hours for each pod.
ENDLESS_COMBINATIONS = 1 << 36


class TooManySetsError(HangError):
    """The kubelet looks at more sets of NUMA nodes than are looked at here.

    Whether it comes to an end is another question: see `is_endless`.
    """

    def __init__(self, sets: int, nodes: int) -> None:
        self.is_endless = sets >= ENDLESS
        self._say(f"looks at {_about(sets)} sets of {nodes} NUMA nodes for one pod")

    def _say(self, what: str) -> None:
        end = "and does not come to an end"
        unknown = "which can take it hours: what it then does is not simulated"
        self.words = f"{what}, {end if self.is_endless else unknown}"
        super().__init__(f"the kubelet {self.words}")


class TooManyCombinationsError(TooManySetsError):
    """The topology manager compares more combinations of hints than end in time."""

    def __init__(self, combinations: int, nodes: int) -> None:
        self.is_endless = combinations >= ENDLESS_COMBINATIONS
        hints = f"{_about(combinations)} combinations of sets of {nodes} NUMA nodes"
        self._say(f"compares {hints} for one pod")


def _about(number: int) -> str:
    """A large number in words: `2^36`."""
    return f"{number:,}" if number < ENDLESS else f"2^{number.bit_length() - 1}"


NIL_DEREFERENCE = "runtime error: invalid memory address or nil pointer dereference"


def out_of_range(index: int, length: int) -> PanicError:
    """What reading behind the end of a Go slice does."""
    return PanicError(f"runtime error: index out of range [{index}] with length {length}")


def refusal(error: KubeletError) -> tuple[str, str]:
    """The (reason, message) of a pod's status for an error (admission.GetPodAdmitResult)."""
    if isinstance(error, AdmissionError):
        return error.reason, str(error)
    return "UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected"


class Trap(NamedTuple):
    """What will go wrong; `path` is the file, `key` a word of the line.

    What to do is said with the problem, or follows from its kind.
    """

    path: str
    key: str
    problem: str
    remedy: str = ""
    kind: Enum | None = None
