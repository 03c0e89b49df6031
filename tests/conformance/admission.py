"""What a real API server answered to pods that ask for shared CPUs (vectors/admission), against the
policies that cpuplan compiles and OpenShift's plugin as cpuplan models it.

The order is the API server's: what changes a pod, its own validation, what only judges it. Its own
validation (422) is not cpuplan's, so that such a pod only counts where something refuses it before.
"""

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.backends import admission, configure
from cpuplan.base.cpuset import CpuSet
from cpuplan.components.admission_rules import ALLOWED
from cpuplan.plan import NodePlan, Pool
from cpuplan.upstream.crio import mixedcpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import pod_qos
from tests.api_server import Request, admit
from tests.conformance.comparing import judge_lines
from tests.machines.plans import class_of, regular

Json = dict[str, Any]
VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "admission"
NAMESPACES: dict[str, dict[str, str]] = {
    "vran": {ALLOWED: ""},
    "saysfalse": {ALLOWED: "false"},
    "closed": {},
}
#: Annotations that the vectors tell.
_TOLD = "cpu-shared"
_ALONE = "openshift-plugin-alone"
_TAKEN, _FORBIDDEN, _INVALID = 201, 403, 422


class Setup(NamedTuple):
    """An API server: with OpenShift's plugin or not, and the policies of a release or none."""

    has_plugin: bool
    platform: str = ""
    version: str = ""
    runtime: dict[str, Any] = {}  # noqa: RUF012 - never changed
    #: Whether pods can have resources of their own there (gate PodLevelResources, on since 1.34).
    has_pod_resources: bool = True


SETUPS = {
    "kubernetes-1.36": Setup(False, "kubernetes", "1.36"),
    "kubernetes-1.33-emulated": Setup(
        False, "kubernetes", "1.33", {"annotatePods": True}, has_pod_resources=False
    ),
    _ALONE: Setup(True),
    "openshift-plugin-and-policies": Setup(True, "openshift", "4.21"),
}


class Verdict(NamedTuple):
    """What became of a pod; `text` is the plugin's refusal."""

    code: int
    annotations: dict[str, str]
    qos: str
    warnings: int
    text: str = ""


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) for the pods of the files or folders `paths`."""
    policies = {name: _objects(setup) for name, setup in SETUPS.items()}
    for path in sorted(paths) or [VECTORS]:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            yield from judge_lines(file, lambda case: _failures(case, policies))


def _objects(setup: Setup) -> list[Json]:
    """What is compiled for a cluster whose one class has shared CPUs."""
    if not setup.platform:
        return []
    # The class that the vectors' RuntimeClass `performance-du` is for.
    target = {"platform": setup.platform, "version": setup.version}
    layout = {"reserved": "0-1", "shared": "2-3", "isolated": "4-7"}
    given = {"targets": [target], "pools": layout, "runtime": setup.runtime}
    node_class = class_of(regular(), "du", given, hardware="server", nodes=("node",))
    pools = tuple(Pool(name, CpuSet.parse(cpus), ()) for name, cpus in layout.items())
    plan = configure(NodePlan(node_class, pools))
    return [manifest.data for manifest in admission.manifests([plan])]


def _failures(case: Json, policies: dict[str, list[Json]]) -> Iterator[str]:
    if case["verdicts"].keys() != SETUPS.keys():
        yield f"has the set-ups {', '.join(case['verdicts'])}"
    # What the API server itself warns of, without any policy.
    own = case["verdicts"][_ALONE].get("warnings", 0)
    for name, setup in SETUPS.items():
        expected = case["verdicts"][name]
        verdict = _verdict(case["pod"], setup, policies[name])
        # Where policies are in force too, refusals are in their words, which are not told.
        for what in _differences(expected, verdict, own, is_told=not setup.platform):
            yield f"{name}: {what}"


def _verdict(given: Json, setup: Setup, objects: list[Json]) -> Verdict:
    pod = copy.deepcopy(given)
    metadata = pod["metadata"]
    namespace = NAMESPACES[metadata["namespace"]]
    if not setup.has_pod_resources:
        pod["spec"].pop("resources", None)
    if setup.has_plugin:
        try:
            admitted = mixedcpus.admit(apply_defaults(read_pod(pod), Gates()), namespace)
        except KubeletError as error:
            return Verdict(_FORBIDDEN, {}, "", 0, str(error))
        metadata["annotations"] = dict(admitted.annotations)
    request = {"metadata": {"name": metadata["namespace"], "annotations": namespace}}
    answer = admit(objects, Request(pod, request))
    annotations = answer.pod["metadata"].get("annotations") or {}
    stored = apply_defaults(read_pod(answer.pod), Gates())
    return Verdict(
        _FORBIDDEN if answer.refusals else _TAKEN,
        {key: text for key, text in annotations.items() if key.startswith(_TOLD)},
        pod_qos(stored, Gates()),
        len(answer.warnings),
    )


def _differences(expected: Json, verdict: Verdict, own: int, *, is_told: bool) -> Iterator[str]:
    if expected["code"] == _INVALID:
        if verdict.text:
            yield f"is refused by the plugin ({verdict.text}); the API server lets that pass"
        return
    if verdict.code != expected["code"]:
        yield f"the code is {verdict.code}, not {expected['code']}"
        return
    warnings = expected.get("warnings", 0) - own
    # The plugin refuses before any policy is asked for hints.
    if warnings != verdict.warnings:
        yield f"{verdict.warnings} warnings of policies, not {warnings}"
    words = expected.get("message", "" if is_told else verdict.text)
    if words != verdict.text:
        yield f"the plugin says {verdict.text!r}, not {words!r}"
    if verdict.code == _TAKEN:
        if verdict.annotations != expected["annotations"]:
            yield f"the annotations are {verdict.annotations}, not {expected['annotations']}"
        if verdict.qos != expected["qosClass"]:
            yield f"the QoS class is {verdict.qos}, not {expected['qosClass']}"
