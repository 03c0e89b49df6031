"""KubeletConfigurations: decoding, drop-ins, defaults, validation."""

from typing import Any

from cpuplan.upstream.kubelet.config.codec import DecodeError
from cpuplan.upstream.kubelet.server import StageError, load
from cpuplan.upstream.kubernetes.durations import duration_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.conformance.kubelet.shapes import Json, Op

#: The fields that the vectors show, if they say anything.
SHOWN = (
    *(
        "cgroupsPerQOS",
        "cpuCFSQuota",
        "cpuManagerPolicy",
        "cpuManagerPolicyOptions",
        "enforceNodeAllocatable",
    ),
    *(
        "evictionHard",
        "failCgroupV1",
        "failSwapOn",
        "featureGates",
        "kubeReserved",
        "kubeReservedCgroup",
        "maxPods",
    ),
    *(
        "memoryManagerPolicy",
        "podsPerCore",
        "reservedSystemCPUs",
        "systemReserved",
        "systemReservedCgroup",
    ),
    *("topologyManagerPolicy", "topologyManagerPolicyOptions", "topologyManagerScope"),
)
DURATIONS = ("cpuCFSQuotaPeriod", "cpuManagerReconcilePeriod")


def answer_config(given: Json) -> Json:
    openshift = given.get("flavor") == "openshift"
    try:
        loaded = load(
            given["yaml"],
            given.get("dropins", ()),
            is_openshift=openshift,
            cgroup_v1=bool(given.get("cgroupV1")),
        )
    except StageError as error:
        found: Json = {"failedStage": error.stage, "error": str(error)}
        cause = error.__cause__
        if isinstance(cause, DecodeError) and cause.strict_errors:
            found["strictErrors"] = cause.strict_errors
        return found
    except KubeletError as error:
        return {"error": str(error)}
    found = {"errors": loaded.errors, "config": _shown(loaded.config)}
    return found | ({"strictErrors": loaded.strict_errors} if loaded.strict_errors else {})


def _shown(config: dict[str, Any]) -> Json:
    shown: Json = {
        name: config[name]
        for name in SHOWN
        if isinstance(config.get(name), bool) or config.get(name)
    }
    shown.update({name: duration_text(config[name]) for name in DURATIONS})
    shown["memorySwap"] = {name: text for name, text in config["memorySwap"].items() if text}
    if reserved := config.get("reservedMemory"):
        shown["reservedMemory"] = [
            {
                "numaNode": entry.get("numaNode", 0),
                "limits": {kind: str(amount) for kind, amount in entry["limits"].items()}
                if "limits" in entry
                else None,
            }
            for entry in reserved
        ]
    return shown


OPS: dict[str, Op] = {"kubeletconfig-validate": answer_config}
