"""The order and the errors of CRI-O's hooks; every recorded pod is run by the conformance suite."""

import pytest

from cpuplan.upstream.crio.cgmgr import Cgroups, Layout
from cpuplan.upstream.crio.high_performance_hooks import Sandbox, Settings, Spec
from cpuplan.upstream.crio.releases import C_STATES, GOVERNOR, IRQ, LOAD_BALANCING, QUOTA, SHARED
from cpuplan.upstream.kubernetes.bits import bits_of
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

POD = "kubepods.slice/kubepods-pod1_2.slice"
SCOPE = f"{POD}/crio-app-1.scope"
V1, V2 = Layout(version=1), Layout(online=bits_of(range(8)))
V1_CRUN = Layout(version=1, has_crun_child=True)
V2_CRUN = Layout(has_crun_child=True)
SHARES = {f"{SHARED}/app": "enable"}


def make(
    layout: Layout, annotations: dict[str, str], *, affinity: str = "", mask: str | None = None
) -> Sandbox:
    """A pod with the shared CPUs 2-3."""
    quota = "200000"
    return Sandbox(
        Settings("2-3", affinity), Cgroups(layout, POD, quota), annotations, irq_mask=mask
    )


def run(sandbox: Sandbox, cpus: str = "4-5") -> Spec:
    """Create and start the container `app`."""
    spec = Spec("app", cpus, 2048, 200_000)
    sandbox.create(spec)
    sandbox.start(spec)
    return spec


@pytest.mark.parametrize(
    ("layout", "annotations", "path"),
    [
        (V2, {}, f"{SCOPE}/exec/cpuset.cpus"),
        (V2_CRUN, {}, f"{SCOPE}/container/exec/cpuset.cpus"),
        # A process in shared CPUs can run in any cgroup of the container.
        (V2, SHARES, None),
        (V1, {}, None),
    ],
)
def test_exec_cgroup(layout: Layout, annotations: dict[str, str], path: str | None) -> None:
    sandbox = make(layout, annotations, affinity="first")
    spec = run(sandbox)
    assert spec.exec_cpu == (2 if annotations else 4)
    made = {file: text for file, text in sandbox.cgroups.files.items() if "/exec/" in file}
    assert made == ({path: "4"} if path else {})


def test_exec_without_a_cpu_to_take_fails_the_start() -> None:
    with pytest.raises(KubeletError, match="ExecCPUAffinity not set in container spec"):
        run(make(V2, {}, affinity="first"), cpus="")
    run(make(V1, {}, affinity="first"), cpus="")
    run(make(V2, {}), cpus="")


def test_on_version_1_the_child_of_crun_has_a_quota_and_a_flag() -> None:
    sandbox = make(V1_CRUN, SHARES)
    spec = run(sandbox)
    files = sandbox.cgroups.files
    assert files[f"cpu/{SCOPE}/container/cpu.cfs_quota_us"] == "400000"
    assert files[f"cpu/{SCOPE}/cpu.cfs_quota_us"] == "200000"
    assert files[f"cpu/{POD}/cpu.cfs_quota_us"] == "400000"
    sandbox.stop(spec)
    assert files[f"cpuset/{SCOPE}/container/cpuset.sched_load_balance"] == "0"
    assert files[f"cpuset/{SCOPE}/cpuset.sched_load_balance"] == "0"


def test_quota_off_reaches_the_child_of_crun() -> None:
    sandbox = make(V1_CRUN, {**SHARES, QUOTA: "disable"})
    run(sandbox)
    quotas = {text for path, text in sandbox.cgroups.files.items() if "cfs_quota" in path}
    assert quotas == {"-1"}


def test_bug_a_pod_without_a_quota_gets_the_default_period() -> None:
    sandbox = Sandbox(Settings("2-3"), Cgroups(V2, POD, "max", 10_000), SHARES)
    run(sandbox)
    assert sandbox.cgroups.files[f"{POD}/cpu.max"] == "max 100000"


def exclusive(sandbox: Sandbox) -> str:
    return sandbox.cgroups.files[f"{POD}/cpuset.cpus.exclusive"]


def test_a_stop_that_fails_at_interrupts_gives_nothing_else_back() -> None:
    sandbox = make(V2, {IRQ: "disable", LOAD_BALANCING: "disable"}, mask="ff")
    spec = run(sandbox)
    sandbox.irq_mask = ""
    with pytest.raises(PanicError):
        sandbox.stop(spec)
    assert exclusive(sandbox) == "4-5"
    # The container counts as restored, so that the next stop passes over its interrupts.
    sandbox.stop(spec)
    assert exclusive(sandbox) == ""


def test_on_version_1_the_flag_comes_last() -> None:
    sandbox = make(V1, {IRQ: "disable"}, mask="ff")
    spec = run(sandbox)
    sandbox.irq_mask = ""
    flag = f"cpuset/{SCOPE}/cpuset.sched_load_balance"
    with pytest.raises(PanicError):
        sandbox.stop(spec)
    assert sandbox.cgroups.files[flag] == "1"
    sandbox.stop(spec)
    assert sandbox.cgroups.files[flag] == "0"


def test_a_second_stop_does_nothing() -> None:
    sandbox = make(V2, {IRQ: "disable", LOAD_BALANCING: "disable"}, mask="ff")
    spec = run(sandbox)
    sandbox.stop(spec)
    sandbox.remove(spec)
    before = dict(sandbox.cgroups.files)
    sandbox.irq_mask = ""
    sandbox.stop(spec)
    assert sandbox.cgroups.files == before


def test_a_container_that_never_started_has_no_interrupts_to_give_back() -> None:
    sandbox = make(V2, {IRQ: "disable"}, mask="")
    spec = Spec("app", "4-5", 2048, 200_000)
    sandbox.create(spec)
    sandbox.stop(spec)


def test_cpus_are_parsed_only_for_an_annotation() -> None:
    spec = Spec("app", "x", 2048, 200_000)
    with pytest.raises(KubeletError, match='failed to parse container "app" cpus'):
        make(V2, {}).create(spec)
    make(V2, {}).start(spec)
    make(V2, {}).stop(spec)
    for annotations in ({IRQ: "disable"}, {LOAD_BALANCING: "disable"}):
        with pytest.raises(KubeletError, match="strconv"):
            make(V2, annotations).start(spec)


@pytest.mark.parametrize(
    ("annotations", "step"),
    [
        ({IRQ: "disable"}, "set IRQ load balancing"),
        ({C_STATES: "enable"}, "set CPU PM QOS resume latency"),
        ({GOVERNOR: "performance"}, "set CPU scaling governor"),
    ],
)
def test_containers_without_cpus(annotations: dict[str, str], step: str) -> None:
    with pytest.raises(KubeletError, match=f"^{step}: find container app CPUs$"):
        run(make(V2, annotations), cpus="")


def test_an_empty_list_of_siblings_stands_for_the_cpu_alone() -> None:
    annotations = {IRQ: "housekeeping"}
    sandbox = Sandbox(Settings(), Cgroups(V2, POD, "max"), annotations, {4: "\n"})
    spec = Spec("app", "4-5", 2048, -1)
    sandbox.create(spec)
    assert spec.env == ["OPENSHIFT_HOUSEKEEPING_CPUS=4"]


def test_housekeeping_keeps_the_interrupts_of_the_first_core() -> None:
    annotations = {IRQ: "housekeeping"}
    sandbox = Sandbox(Settings(), Cgroups(V2, POD, "max"), annotations, {4: "4,6"}, irq_mask="ff")
    spec = run(sandbox, "4-7")
    assert sandbox.effects(spec).without_interrupts == bits_of((5, 7))


@pytest.mark.parametrize("qos", ["burstable", "besteffort"])
def test_no_hooks_below_the_cgroup_of_a_lower_qos_class(qos: str) -> None:
    pod = f"kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod1.slice"
    sandbox = Sandbox(Settings("2-3"), Cgroups(V2, pod, "max"), {LOAD_BALANCING: "disable"})
    spec = run(sandbox)
    assert not sandbox.runs_hooks(spec)
    assert sandbox.effects(spec).without_load_balancing == 0


def test_effects_of_annotations() -> None:
    effects = make(V2, {**SHARES, LOAD_BALANCING: "disable", GOVERNOR: "performance"})
    spec = run(effects)
    assert effects.effects(spec).without_load_balancing == bits_of((4, 5))
    assert effects.effects(spec).governor == "performance"
    assert make(V2, {}).effects(Spec("app", "4-5", 2048, -1)).governor == ""


def test_a_mask_holds_four_cpus_in_each_digit() -> None:
    """CPU 7 is in the last byte of ff, CPU 8 is beyond: CRI-O crashes."""
    run(make(V2, {IRQ: "disable"}, mask="ff"), "7")
    with pytest.raises(PanicError):
        run(make(V2, {IRQ: "disable"}, mask="ff"), "7-8")
    run(make(V2, {IRQ: "disable"}, mask="ff,ffffffff"), "32-39")


@pytest.mark.parametrize(
    ("quota", "written"), [(None, "max"), (-1, "max"), (0, "max"), (1000, "1000")]
)
def test_no_quota_is_the_highest_on_version_2(quota: int | None, written: str) -> None:
    sandbox = make(V2, {})
    sandbox.create(Spec("app", "4-5", 2048, quota))
    assert sandbox.cgroups.files[f"{SCOPE}/cpu.max"] == f"{written} 100000"
