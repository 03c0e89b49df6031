"""How a kubelet refuses, and how it fails without meaning to."""

from collections.abc import Sequence


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


NIL_DEREFERENCE = "runtime error: invalid memory address or nil pointer dereference"


def out_of_range(index: int, length: int) -> PanicError:
    """What reading behind the end of a Go slice does."""
    return PanicError(f"runtime error: index out of range [{index}] with length {length}")


def refusal(error: KubeletError) -> tuple[str, str]:
    """The (reason, message) of a pod's status for an error (admission.GetPodAdmitResult)."""
    if isinstance(error, AdmissionError):
        return error.reason, str(error)
    return "UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected"
