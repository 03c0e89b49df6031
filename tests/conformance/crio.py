"""CRI-O's hooks, its updates and OpenShift's admission of mixed CPUs (vectors/crio) against
`cpuplan.simulate`.

Interrupt masks, irqbalance and the files of power settings are not simulated, so they are not
compared; error texts are compared as to whether there is one, as the vectors' README says.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.upstream.crio import high_performance_hooks, mixedcpus, releases
from cpuplan.upstream.crio.cgmgr import Cgroups, Layout
from cpuplan.upstream.crio.high_performance_hooks import Settings, Spec
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import apply_defaults, read_pod
from tests.conformance import crio_config, kernel
from tests.conformance.comparing import judge_lines
from tests.conformance.kubelet import differ

Json = dict[str, Any]
VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "crio"
_FILES = (
    "mixed.jsonl",
    "update.jsonl",
    "admission.jsonl",
    "power.jsonl",
    "config.jsonl",
    "kernel-bootargs.jsonl",
    "kernel-cpuset.jsonl",
    "systemd-cpulist.jsonl",
)
#: What a step does beyond CPU cgroups.
_NOT_SIMULATED = ("irq_changes", "sys_cpu_changes", "commands")


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) for the cases of the kinds that are simulated."""
    for path in sorted(paths) or [VECTORS]:
        for file in (
            [path / name for name in _FILES if (path / name).exists()] if path.is_dir() else [path]
        ):
            yield from judge_lines(file, _check)


def _check(case: Json) -> list[str] | None:
    compare = KINDS.get(case["kind"])
    difference = compare(case["in"], case["out"]) if compare else None
    return None if difference is None else [difference] * bool(difference)


def _mixed(given: Json, expected: Json) -> str | None:
    """None where it depends on the governors that a machine has."""
    if releases.GOVERNOR in given["annotations"]:
        return None
    layout = Layout(
        int(given["cgroup"][1:]),
        given["driver"],
        given.get("crun_subcgroup", False),
        parse_cpus(given["online"]),
    )
    cgroups = Cgroups(
        layout, given["cgroup_parent"], given["pod_quota"], given.get("pod_period", 100_000)
    )
    settings = Settings(given["shared_cpuset"], given.get("exec_cpu_affinity", ""))
    siblings = {int(cpu): text for cpu, text in given.get("siblings", {}).items()}
    mask = given.get("irq", {}).get("default_smp_affinity")
    sandbox = high_performance_hooks.Sandbox(
        settings, cgroups, given["annotations"], siblings, mask
    )
    specs: dict[str, Spec] = {}
    steps = []
    for step in given["steps"]:
        action, _, name = step.partition(":")
        if action == "create":
            container = next(entry for entry in given["containers"] if entry["name"] == name)
            specs[name] = Spec(
                name,
                container["cpus"],
                container.get("shares"),
                container.get("quota"),
                container.get("period"),
            )
        steps.append({"step": step, **_step(sandbox, action, specs[name])})
    return differ([_compared(step) for step in expected["steps"]], steps, "")


def _step(sandbox: high_performance_hooks.Sandbox, action: str, spec: Spec) -> Json:
    found: Json = {}
    before = dict(sandbox.cgroups.files)
    try:
        actions: dict[str, Callable[[Spec], None]] = {
            "create": sandbox.create,
            "start": sandbox.start,
            "stop": sandbox.stop,
            "prestop": sandbox.pre_stop,
        }
        actions[action](spec)
    except (KubeletError, PanicError):
        found["error"] = True
    if action == "create":
        if not sandbox.runs_hooks(spec):
            found["hooks_skipped"] = True
        if spec.cpus:
            found["spec_cpus"] = spec.cpus
        if spec.env:
            found["env"] = spec.env
        if spec.exec_cpu is not None:
            found["exec_cpu"] = str(spec.exec_cpu)
    else:
        after = sandbox.cgroups.files
        if changes := {
            path: text for path, text in after.items() if before.get(path, _fresh(path)) != text
        }:
            found["cgroup_changes"] = changes
    if action == "stop":
        sandbox.remove(spec)
    return found


def _fresh(path: str) -> str:
    """What the kernel says in a file of a new cgroup."""
    return "max 100000" if path.endswith("cpu.max") else ""


def _compared(step: Json) -> Json:
    kept = {key: value for key, value in step.items() if key not in _NOT_SIMULATED}
    return {**kept, "error": True} if "error" in kept else kept


def _update(given: Json, expected: Json) -> str:
    try:
        found: Json = {"cpus": high_performance_hooks.update_cpus(given["cpus"], given["env"])}
    except (KubeletError, PanicError) as error:
        text = f"panic: {error}" if isinstance(error, PanicError) else str(error)
        found = {"cpus": given["cpus"], "error": text}
    return differ(expected, found, "")


def _admission(given: Json, expected: Json) -> str | None:
    """None for what is no new pod, and for namespaces that do not exist."""
    handled = (
        given.get("operation", "CREATE") == "CREATE" and given.get("resource", "pods") == "pods"
    )
    if not handled or given.get("subresource") or "not found" in expected.get("error", ""):
        return None
    pod = apply_defaults(read_pod(given["pod"]), Gates())
    try:
        annotations = dict(mixedcpus.admit(pod, given["ns_annotations"]).annotations)
    except KubeletError as error:
        verdict = {"admitted": expected["admitted"], "error": expected.get("error", "nothing")}
        return differ(verdict, {"admitted": False, "error": str(error)}, "")
    wanted = (
        expected["pod"].get("annotations", {}) if expected.get("mutated") else dict(pod.annotations)
    )
    found = {"admitted": True, "annotations": annotations}
    return differ({"admitted": expected["admitted"], "annotations": wanted}, found, "")


def _config(given: Json, expected: Json) -> str:
    limit = mixedcpus.containers_limit(given["data"])
    return differ(
        {"enabled": expected["enabled"], "limit": expected["containers_limit"]},
        {"enabled": limit is not None, "limit": limit or 0},
        "",
    )


def _latency(given: Json, expected: Json) -> str:
    try:
        found = {"latency": releases.resume_latency(given["value"])}
    except KubeletError as error:
        found = {"error": str(error)}
    return differ(expected, found, "")


def _gomaxprocs(given: Json, expected: Json) -> str:
    number = high_performance_hooks.gomaxprocs(
        "Burstable", given["shares"], -1, (), {}, given["floor"]
    )
    return differ(expected, {"gomaxprocs": number}, "")


KINDS: dict[str, Callable[[Json, Json], str | None]] = {
    "mixed": _mixed,
    "update": _update,
    "mixedcpus": _admission,
    "sharedcpus-config": _config,
    "latency": _latency,
    "gomaxprocs": _gomaxprocs,
    "config": crio_config.compare,
    "config-query": crio_config.compare,
    "kernel-bootargs": kernel.bootargs,
    "kernel-cpuset": kernel.cpusets,
    "systemd-cpulist": kernel.systemd_lists,
}
