"""Each annotation in each branch of CRI-O from 1.27 to 1.37, as their hooks read it.

Of each branch's head: internal/runtimehandlerhooks/high_performance_hooks*.go, the functions
should...BeDisabled, convertAnnotationToLatency, requestedSharedCPUs, setCPULoadBalancing,
getAnnotationValueForContainer and isRequestedHousekeepingCPUs.
"""

from typing import Any

import pytest

from cpuplan.facts.platforms import OPENSHIFT, Version
from cpuplan.upstream.crio import releases
from cpuplan.upstream.crio.cgmgr import UNLIMITED, Cgroups, Layout
from cpuplan.upstream.crio.high_performance_hooks import Effects, Sandbox, Settings, Spec
from cpuplan.upstream.crio.releases import (
    C_STATES,
    GOVERNOR,
    IRQ,
    IRQ_HOUSEKEEPING,
    LATENCY_BY_NUMBER,
    LOAD_BALANCING,
    QUOTA,
    SHARED,
    SWITCHES,
    Kind,
    Outcome,
    defects,
    outcome,
)
from cpuplan.upstream.kubernetes.bits import bits_of
from cpuplan.upstream.kubernetes.errors import KubeletError

RELEASES = [(1, minor) for minor in range(27, 38)]
POD = "kubepods.slice/kubepods-pod1_2.slice"
SCOPE = f"{POD}/crio-app-1.scope"
CHILD = f"{SCOPE}/cgroup-child"
ALL, NONE = "+" * 11, "." * 11
#: What becomes of it from 1.27 to 1.37: + done, . ignored, x the container does not start.
MATRIX = [
    (LOAD_BALANCING, "disable", 2, "x++++++++++"),
    (LOAD_BALANCING, "true", 2, "x++++++++++"),
    (LOAD_BALANCING, "disable", 1, ALL),
    (LOAD_BALANCING, "true", 1, ALL),
    (LOAD_BALANCING, "false", 2, NONE),
    (LOAD_BALANCING, "Disable", 2, NONE),
    (LOAD_BALANCING, "", 2, NONE),
    (f"{LOAD_BALANCING}/app", "disable", 2, ".........++"),
    (f"{LOAD_BALANCING}/app", "enable", 2, ".........++"),
    (f"{LOAD_BALANCING}/app", "off", 2, NONE),
    (QUOTA, "disable", 2, ALL),
    (QUOTA, "true", 2, ALL),
    (QUOTA, "off", 2, NONE),
    (f"{QUOTA}/app", "disable", 2, ".........++"),
    (f"{QUOTA}/app", "true", 2, ".........++"),
    (IRQ, "disable", 2, ALL),
    (IRQ, "true", 2, ALL),
    (IRQ, "housekeeping", 2, ".......++++"),
    (IRQ, "enable", 2, ALL),
    (QUOTA, "enable", 2, ALL),
    (LOAD_BALANCING, "enable", 2, ALL),
    (f"{IRQ}/app", "disable", 2, ".........++"),
    (f"{IRQ}/app", "housekeeping", 2, ".........++"),
    (C_STATES, "enable", 2, ALL),
    (C_STATES, "disable", 2, ALL),
    (C_STATES, "max_latency:10", 2, "x++++++++++"),
    (C_STATES, "max_latency:0", 2, "x" * 11),
    (C_STATES, "max_latency:ten", 2, "x" * 11),
    (C_STATES, "true", 2, "x" * 11),
    (C_STATES, "", 2, "x" * 11),
    (f"{C_STATES}/app", "disable", 2, NONE),
    (GOVERNOR, "performance", 2, ALL),
    (GOVERNOR, "", 2, NONE),
    (f"{GOVERNOR}/app", "performance", 2, NONE),
    (f"{SHARED}/app", "enable", 2, ".++++++++++"),
    (f"{SHARED}/app", "true", 2, NONE),
    (SHARED, "enable", 2, NONE),
    ("cpu-quota.crio.io.old", "disable", 2, NONE),
    ("example.com/cpu-quota", "disable", 2, NONE),
]
_SIGNS = {"+": Kind.DONE, ".": Kind.IGNORED, "x": Kind.REFUSED}
CELLS = [
    (name, value, cgroups, release, _SIGNS[sign])
    for name, value, cgroups, signs in MATRIX
    for release, sign in zip(RELEASES, signs, strict=True)
]


@pytest.mark.parametrize(("name", "value", "cgroups", "release", "kind"), CELLS)
def test_what_a_release_says_of_an_annotation(
    name: str, value: str, cgroups: int, release: Version, kind: Kind
) -> None:
    result = outcome(release, name, value, cgroups=cgroups)
    assert result.kind is kind
    assert bool(result.problem) == (kind is not Kind.DONE)
    # A later release that brings it does it; of what none does, nothing is promised.
    newest = outcome(releases.LATEST, name, value, cgroups=cgroups)
    if result.change is not None:
        assert (release < result.change.since, newest.kind) == (True, Kind.DONE)
        assert outcome(result.change.since, name, value, cgroups=cgroups).kind is Kind.DONE
    elif kind is not Kind.DONE:
        assert newest.kind is kind


@pytest.mark.parametrize(("name", "value", "cgroups", "release", "kind"), CELLS)
def test_what_the_hooks_of_a_release_do(
    name: str, value: str, cgroups: int, release: Version, kind: Kind
) -> None:
    """The same cells, as a container sees them."""
    sandbox = _sandbox(release, {name: value}, cgroups)
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    if kind is Kind.REFUSED:
        problem = outcome(release, name, value, cgroups=cgroups).problem
        with pytest.raises(KubeletError, match=f"^{problem}$"):
            sandbox.start(spec)
        return
    sandbox.start(spec)
    quota = sandbox.cgroups.quota(SCOPE)
    is_asking = not (name.startswith(SWITCHES) and value == "enable")
    is_seen = sandbox.effects(spec) != Effects() or quota == UNLIMITED or bool(spec.env)
    assert is_seen == (kind is Kind.DONE and is_asking)


def _sandbox(release: Version, annotations: dict[str, str], cgroups: int = 2) -> Sandbox:
    """A pod that may share CPUs 2-3, of a machine with the siblings 4-5."""
    layout = Layout(version=cgroups, online=bits_of(range(8)))
    siblings = {4: "4", 5: "5"}
    settings = Settings("2-3", release=release)
    return Sandbox(settings, Cgroups(layout, POD, "200000"), annotations, siblings)


def test_the_words_of_what_a_release_lacks() -> None:
    assert outcome((1, 33), IRQ, "housekeeping") == Outcome(
        Kind.IGNORED, "CRI-O knows the value since 1.34.3", IRQ_HOUSEKEEPING, "write disable"
    )
    assert outcome((1, 27), C_STATES, "max_latency:10") == Outcome(
        Kind.REFUSED,
        "invalid annotation value max_latency:10",
        LATENCY_BY_NUMBER,
        "write enable or disable",
    )
    assert outcome((1, 35), f"{QUOTA}/app", "disable").problem == (
        "CRI-O reads it for one container since 1.36.4"
    )
    assert outcome((1, 37), IRQ, "off").problem == ("CRI-O knows only disable, true, housekeeping")
    assert outcome((1, 33), IRQ, "off").problem == "CRI-O knows only disable, true"
    assert outcome((1, 27), f"{SHARED}/app", "yes").problem == "CRI-O knows only enable"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("value", ["enable", "off"])
def test_a_container_that_its_pod_does_not_speak_for(release: Version, value: str) -> None:
    """Any value of its own takes it out, from 1.36.4 on."""
    sandbox = _sandbox(release, {QUOTA: "disable", f"{QUOTA}/app": value})
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    sandbox.start(spec)
    assert sandbox.effects(spec).is_quota_off == (release < (1, 36))


@pytest.mark.parametrize("release", RELEASES)
def test_shared_cpus_by_release(release: Version) -> None:
    """The runtime gets them in the spec from 1.34.4 on; before, CRI-O writes them at the start."""
    sandbox = _sandbox(release, {f"{SHARED}/app": "enable", LOAD_BALANCING: "disable"})
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    if release == (1, 27):
        assert (spec.cpus, spec.env) == ("4-5", [])
        return
    sandbox.start(spec)
    in_spec = release >= (1, 34)
    assert spec.cpus == ("2-5" if in_spec else "4-5")
    assert spec.env == ["OPENSHIFT_ISOLATED_CPUS=4-5", "OPENSHIFT_SHARED_CPUS=2-3"]
    files = sandbox.cgroups.files
    assert files.get(f"{SCOPE}/cpuset.cpus") == (None if in_spec else "2-5")
    assert files[f"{CHILD}/cpuset.cpus"] == ("2-5" if release < (1, 30) else "4-5")
    assert files[f"{CHILD}/cpuset.cpus.exclusive"] == "4-5"
    assert sandbox.effects(spec).without_load_balancing == bits_of([4, 5])


@pytest.mark.parametrize("release", RELEASES)
def test_interrupts_of_shared_cpus(release: Version) -> None:
    """They stay where the spec has exclusive CPUs only."""
    sandbox = _sandbox(release, {f"{SHARED}/app": "enable", IRQ: "disable"})
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    sandbox.start(spec)
    own = bits_of([4, 5])
    moved = bits_of([2, 3, 4, 5]) if release >= (1, 34) else own
    assert sandbox.effects(spec).without_interrupts == moved


@pytest.mark.parametrize("release", RELEASES)
def test_exclusive_cpus_are_given_back_before_or_after_the_stop(release: Version) -> None:
    sandbox = _sandbox(release, {LOAD_BALANCING: "disable"})
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    if release == (1, 27):
        with pytest.raises(KubeletError, match="cgroupv2 not yet supported"):
            sandbox.start(spec)
        return
    sandbox.start(spec)
    path = f"{POD}/cpuset.cpus.exclusive"
    sandbox.pre_stop(spec)
    assert sandbox.cgroups.files[path] == ("4-5" if release == (1, 37) else "")
    sandbox.stop(spec)
    assert sandbox.cgroups.files[path] == ""


@pytest.mark.parametrize("release", RELEASES)
def test_the_exec_cgroup_came_with_1_34(release: Version) -> None:
    sandbox = _sandbox(release, {})
    sandbox.settings = Settings("2-3", "first" if release >= (1, 34) else "", release)
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    sandbox.start(spec)
    made = [path for path in sandbox.cgroups.files if "/exec/" in path]
    assert made == ([f"{SCOPE}/exec/cpuset.cpus"] if release >= (1, 34) else [])


#: (annotation, first release without the defect; empty where the branch has none)
DEFECTS: dict[Version, list[tuple[str, str]]] = {
    (1, 27): [(IRQ, "")],
    (1, 28): [(LOAD_BALANCING, "1.28.3"), (LOAD_BALANCING, ""), (IRQ, "")],
    (1, 29): [(LOAD_BALANCING, ""), (IRQ, "")],
    (1, 30): [(LOAD_BALANCING, ""), (IRQ, "")],
    (1, 31): [(LOAD_BALANCING, ""), (IRQ, "1.31.14")],
    (1, 32): [(LOAD_BALANCING, ""), (IRQ, "1.32.14")],
    (1, 33): [(LOAD_BALANCING, ""), (IRQ, "1.33.10")],
    (1, 34): [(LOAD_BALANCING, "1.34.4"), (LOAD_BALANCING, ""), (IRQ, "1.34.5")],
    (1, 35): [(LOAD_BALANCING, "")],
    (1, 36): [(LOAD_BALANCING, "")],
    (1, 37): [],
}


@pytest.mark.parametrize(("release", "expected"), DEFECTS.items())
def test_what_releases_break(release: Version, expected: list[tuple[str, str]]) -> None:
    assert [(defect.annotation, defect.until) for defect in defects(release)] == expected
    assert all(defect.source.startswith("cri-o/cri-o#") for defect in defects(release))


def test_every_release_of_openshift_has_a_branch() -> None:
    """OpenShift's CRI-O has the minor version of its Kubernetes: 4.14 has 1.27, 5.1 has 1.37."""
    assert set(OPENSHIFT.releases.values()) == set(RELEASES)
    assert (RELEASES[0], RELEASES[-1]) == (releases.FIRST, releases.LATEST)


def test_changes_say_where_they_came_from() -> None:
    changes: list[Any] = [
        value for value in vars(releases).values() if isinstance(value, releases.Change)
    ]
    assert len(changes) > 8
    for change in changes:
        assert releases.FIRST <= change.since <= releases.LATEST
        assert change.source.startswith(("cri-o/cri-o#", "release-1."))
