"""What the CRI-O of a plan's release makes of a pod's annotations, for every release."""

from typing import Any

import pytest

from cpuplan.components.checks import hooks
from cpuplan.facts.platforms import OPENSHIFT, Version
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.crio.releases import C_STATES, IRQ, LOAD_BALANCING, QUOTA, SHARED
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.machines.plans import no_position, plan
from tests.unit.backends.test_admission import container


def pod(annotations: dict[str, str], *, handler: str = "performance-ran", **given: Any) -> Pod:
    """A Guaranteed pod with these annotations."""
    own = {"containers": [container("app", shared=None)], **given}
    spec = {"runtimeClassName": handler, **own} if handler else own
    return read_pod({"metadata": {"annotations": annotations}, "spec": spec})


def codes(on: ConfiguredPlan, made: Pod) -> list[str]:
    return [hooks.finding(on, fault, "p", None).code for fault in hooks.faults(on, made)]


#: By annotation and value, the findings from OpenShift 4.14 to 5.1 (4.23 and 5.0 are one branch).
FINDINGS = {
    (IRQ, "housekeeping"): ".......",
    (LOAD_BALANCING, "disable"): "x",
    (C_STATES, "max_latency:10"): "x",
    (f"{QUOTA}/app", "disable"): ".........",
    (f"{SHARED}/app", "enable"): ".",
    # Others are told of what the pod requests.
    (f"{SHARED}/app", "true"): "",
    (QUOTA, "off"): "............",
    (IRQ, "disable"): "",
    (IRQ, "enable"): "",
    (f"{IRQ}/app", "enable"): ".........",
    ("example.com/quota", "off"): "",
}
_CODES = {".": ["CP5360"], "x": ["CP5361"]}


@pytest.mark.parametrize(("asked", "signs"), FINDINGS.items())
def test_every_release_of_openshift(asked: tuple[str, str], signs: str) -> None:
    for number, version in enumerate(OPENSHIFT.releases):
        made = pod(dict([asked]))
        sign = signs[number : number + 1]
        assert codes(plan(version=version), made) == _CODES.get(sign, []), version


def test_a_container_can_be_taken_out_of_what_its_pod_asks_for() -> None:
    made = pod({QUOTA: "disable", f"{QUOTA}/app": "no"})
    assert codes(plan(version="5.1"), made) == []
    assert codes(plan(version="4.22"), made) == ["CP5360"]


@pytest.mark.parametrize(
    ("made", "on"),
    [
        # Without hooks nothing is refused, and so is nothing where CRI-O skips them.
        (pod({C_STATES: "fast"}, handler=""), plan()),
        (pod({C_STATES: "fast"}, containers=[{"name": "app"}]), plan()),
        (pod({C_STATES: "fast"}), plan(platform="kubernetes", version="1.33")),
        (
            pod({C_STATES: "fast", QUOTA: "off"}),
            plan(platform="kubernetes", version="1.33", target={"runtime": "containerd"}),
        ),
    ],
)
def test_a_refusal_needs_the_hooks(made: Pod, on: ConfiguredPlan) -> None:
    assert codes(on, made) == []


LATER = "or use OpenShift"


@pytest.mark.parametrize(
    ("on", "annotation", "value", "remedy"),
    [
        (
            plan(version="4.20"),
            IRQ,
            "housekeeping",
            "write disable, or use OpenShift 4.21 or later",
        ),
        (plan(), IRQ, "off", "write disable"),
        (
            plan(platform="kubernetes", version="1.35"),
            f"{IRQ}/app",
            "disable",
            f"write {IRQ}, for all containers of the pod, or use Kubernetes 1.36 or later",
        ),
    ],
)
def test_what_to_do(on: ConfiguredPlan, annotation: str, value: str, remedy: str) -> None:
    (fault,) = hooks.faults(on, pod({annotation: value}))
    assert hooks.finding(on, fault, "p", None).remedy == remedy


INIT = {"initContainers": [container("first", shared=None)]}


@pytest.mark.parametrize(
    ("version", "annotations", "given", "until"),
    [
        ("4.21", {LOAD_BALANCING: "disable"}, {}, ["1.34.4"]),
        ("4.21", {LOAD_BALANCING: "disable"}, INIT, ["1.34.4", ""]),
        ("4.21", {IRQ: "disable"}, {}, ["1.34.5"]),
        ("4.21", {IRQ: "off"}, {}, []),
        ("4.22", {LOAD_BALANCING: "disable"}, {}, []),
        ("5.1", {LOAD_BALANCING: "disable", IRQ: "disable"}, INIT, []),
        ("4.14", {LOAD_BALANCING: "disable"}, INIT, []),
        ("4.14", {IRQ: "true"}, {}, [""]),
    ],
)
def test_what_a_branch_breaks(
    version: str, annotations: dict[str, str], given: dict[str, Any], until: list[str]
) -> None:
    made = pod(annotations, **given)
    assert [defect.until for defect in hooks.defects(plan(version=version), made)] == until


def test_exec_works_without_an_affinity() -> None:
    on = plan(version="4.21", spec={"runtime": {"execCpuAffinity": "none"}})
    assert list(hooks.defects(on, pod({LOAD_BALANCING: "disable"}))) == []


@pytest.mark.parametrize("minor", range(27, 38))
def test_exec_affinity_needs_a_release(minor: int) -> None:
    release: Version = (1, minor)
    on = plan(
        platform="kubernetes",
        version=f"1.{minor}",
        spec={"runtime": {"execCpuAffinity": "first"}},
    )
    told = [finding.code for finding in hooks.check(on, no_position)]
    assert told == ([] if release >= (1, 34) else ["CP5362"])
