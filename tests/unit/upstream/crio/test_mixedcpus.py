"""Mixed CPUs; every case of the vectors is run by `python -m tests.conformance crio`."""

import pytest

from cpuplan.upstream.crio.cgmgr import Cgroups, Layout
from cpuplan.upstream.crio.high_performance_hooks import Sandbox, Settings, Spec, update_cpus
from cpuplan.upstream.crio.mixedcpus import (
    ALLOWED,
    RESOURCE,
    MixedPod,
    Node,
    admit,
    containers_limit,
    pod_cgroup,
    shares_to_weight,
    start_pod,
)
from cpuplan.upstream.kubernetes.bits import bits_of
from cpuplan.upstream.kubernetes.errors import AdmissionError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod
from cpuplan.upstream.openshift.managed import milli_cpu_to_shares

POD = "kubepods.slice/kubepods-pod1_2.slice"
V1, V2 = Layout(version=1), Layout(version=2)


def make_pod(**containers: dict[str, str]) -> Pod:
    """A pod whose requests equal its limits; `asks` is a request for shared CPUs."""
    made = []
    for name, given in containers.items():
        limits = {"memory": "1Gi", **given}
        if asks := limits.pop("asks", ""):
            limits[RESOURCE] = asks
        made.append({"name": name, "resources": {"limits": limits}})
    metadata = {"name": "p", "namespace": "team", "uid": "1-2"}
    return apply_defaults(read_pod({"metadata": metadata, "spec": {"containers": made}}), Gates())


def start(
    pod: Pod,
    cpus: dict[str, int],
    layout: Layout,
    *,
    quota: bool = True,
    period: int | None = 100_000,
) -> MixedPod:
    """Start an admitted pod beside the shared CPUs 3-4; `quota`: exclusive CPUs have one too."""
    gates = Gates({"DisableCPUQuotaWithExclusiveCPUs": not quota})
    node = Node(Settings("3-4"), layout, period, pool=0xFF)
    return start_pod(admit(pod, {ALLOWED: ""}), cpus, node, gates)


@pytest.mark.parametrize(
    ("layout", "outer", "file"),
    [
        (V1, 400_000, (f"cpu/{POD}/crio-app-1.scope/cpu.cfs_quota_us", "400000")),
        # Version 2: the quota of the scope around the child is not raised, so the container is
        # throttled at 2 CPUs.
        (V2, 200_000, (f"{POD}/crio-app-1.scope/cgroup-child/cpu.max", "400000 100000")),
    ],
)
def test_the_seeds_numeric_example(layout: Layout, outer: int, file: tuple[str, str]) -> None:
    """mixed-cpu-node-plugin.txt: shared 3,4; exclusive 5,6; quota 200,000 to 400,000."""
    started = start(make_pod(app={"cpu": "2", "asks": "1"}), {"app": bits_of((5, 6))}, layout)
    (app,) = started.containers
    assert app.cpus == bits_of((3, 4, 5, 6))
    assert app.exclusive == bits_of((5, 6))
    assert app.env == ("OPENSHIFT_ISOLATED_CPUS=5-6", "OPENSHIFT_SHARED_CPUS=3-4")
    assert (app.quota, app.outer_quota, started.quota) == (400_000, outer, 400_000)
    assert (app.shares, started.shares) == (2048, 2048)
    assert file in started.files.items()


@pytest.mark.parametrize(("layout", "container"), [(V1, 400_000), (V2, 400_000)])
def test_bug_no_quota_of_the_kubelet_is_undone_for_the_container(
    layout: Layout, container: int
) -> None:
    started = start(
        make_pod(app={"cpu": "2", "asks": "1"}), {"app": bits_of((5, 6))}, layout, quota=False
    )
    assert (started.containers[0].quota, started.quota) == (container, -1)


def test_cpu_cfs_quota_off() -> None:
    started = start(
        make_pod(app={"cpu": "2", "asks": "1"}), {"app": bits_of((5, 6))}, V2, period=None
    )
    assert (started.containers[0].quota, started.quota) == (-1, -1)


def test_bug_the_pods_quota_grows_with_every_container() -> None:
    pod = make_pod(a={"cpu": "1", "asks": "1"}, b={"cpu": "1", "asks": "1"}, c={"cpu": "1"})
    started = start(pod, {"a": 1 << 5, "b": 1 << 6, "c": 1 << 7}, V2)
    assert [container.quota for container in started.containers] == [300_000, 300_000, 100_000]
    assert started.quota == 300_000 + 2 * 200_000
    assert started.containers[2].env == ()


def test_bug_another_period_shrinks_the_container() -> None:
    started = start(
        make_pod(app={"cpu": "2", "asks": "1"}), {"app": bits_of((5, 6))}, V2, period=10_000
    )
    assert started.files[f"{POD}/crio-app-1.scope/cgroup-child/cpu.max"] == "40000 100000"


def test_without_exclusive_cpus_the_hooks_do_nothing() -> None:
    started = start(make_pod(app={"cpu": "1500m", "asks": "1"}), {}, V2)
    assert (started.containers[0].cpus, started.containers[0].exclusive) == (bits_of(range(8)), 0)
    assert started.containers[0].env == ()


NOT_ALLOWED = f"pod p namespace team is not allowed for {RESOURCE} resource request"
NOT_GUARANTEED = f'p/app requests for "{RESOURCE}" resource but pod is not Guaranteed QoS class'
NOT_ONE = (
    f'p/app more than a single "{RESOURCE}" resource is forbiden, '
    "please set the request to 1 or remove it"
)


@pytest.mark.parametrize(
    ("pod", "namespace", "what"),
    [
        (make_pod(app={"cpu": "2", "asks": "1"}), {}, NOT_ALLOWED),
        (make_pod(app={"cpu": "2", "asks": "1"}, side={}), {ALLOWED: ""}, NOT_GUARANTEED),
        # The seed: 1 is fine, 2 is wrong.
        (make_pod(app={"cpu": "2", "asks": "2"}), {ALLOWED: ""}, NOT_ONE),
        (make_pod(app={"cpu": "2", "asks": "1500m"}), {ALLOWED: ""}, NOT_ONE),
    ],
)
def test_refused(pod: Pod, namespace: dict[str, str], what: str) -> None:
    with pytest.raises(AdmissionError) as refused:
        admit(pod, namespace)
    assert refused.value.reason == "Forbidden"
    assert str(refused.value) == f'pods "p" is forbidden: autoscaling.openshift.io/MixedCPUs {what}'


def test_containers_that_ask_are_annotated() -> None:
    pod = make_pod(app={"cpu": "2", "asks": "1"}, side={"cpu": "1"})
    assert admit(pod, {ALLOWED: "false"}).annotations == {"cpu-shared.crio.io/app": "enable"}


@pytest.mark.parametrize(
    ("settings", "cpus", "problem"),
    [
        (
            "",
            bits_of((5, 6)),
            'shared CPUs were requested for container "app" but none are defined',
        ),
        ("x", bits_of((5, 6)), 'failed to parse shared cpus: strconv.Atoi: parsing "x"'),
        ("5-6", bits_of((5, 6)), 'no exclusive CPUs found, all CPUs: "5-6", shared CPUs: "5-6"'),
    ],
)
def test_the_runtime_refuses(settings: str, cpus: int, problem: str) -> None:
    pod = admit(make_pod(app={"cpu": "2", "asks": "1"}), {ALLOWED: ""})
    (app,) = start_pod(pod, {"app": cpus}, Node(Settings(settings), V2), Gates()).containers
    assert problem in app.problem


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ('{"shared_cpus": {"containers_limit": 256}}', 256),
        # The seed writes a string, which the kubelet cannot read.
        ('{"shared_cpus": {"containers_limit": "15"}}', None),
        ("{}", 0),
        ('{"shared_cpus": {"containers_limit": 9223372036854775807}}', (1 << 63) - 1),
        ('{"shared_cpus": {"containers_limit": 9223372036854775808}}', None),
        ('{"shared_cpus": {"containers_limit": -9223372036854775809}}', None),
    ],
)
def test_containers_limit(text: str, limit: int | None) -> None:
    assert containers_limit(text) == limit


def test_update_takes_the_shared_cpus_from_the_environment() -> None:
    assert update_cpus("4-5", ["A=b", "OPENSHIFT_SHARED_CPUS=2-3"]) == "2-5"
    assert update_cpus("4-5", []) == "4-5"
    assert update_cpus("4-5", ["OPENSHIFT_SHARED_CPUS=2-3"], (1, 27)) == "4-5"
    with pytest.raises(PanicError):
        update_cpus("4-5", ["OPENSHIFT_SHARED_CPUS"])


@pytest.mark.parametrize(
    ("driver", "cpu", "path"),
    [
        ("systemd", {"cpu": "2"}, POD),
        ("systemd", {}, "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice"),
        ("cgroupfs", {"cpu": "2"}, "kubepods/pod1-2"),
        ("cgroupfs", {}, "kubepods/burstable/pod1-2"),
    ],
)
def test_pod_cgroup(driver: str, cpu: dict[str, str], path: str) -> None:
    assert pod_cgroup(make_pod(app=cpu), Layout(driver=driver), Gates()) == path


@pytest.mark.parametrize(
    ("milli", "shares", "weight"),
    [(0, 2, 1), (1, 2, 1), (1000, 1024, 39), (2127, 2178, 84), (10**9, 262144, 10000)],
)
def test_shares(milli: int, shares: int, weight: int) -> None:
    assert milli_cpu_to_shares(milli) == shares
    assert shares_to_weight(shares) == weight


@pytest.mark.parametrize(
    ("mask", "crashes"), [("ff", True), ("00ff", False), ("0000,000000ff", False), (None, False)]
)
def test_bug_a_cpu_beyond_the_interrupt_mask_crashes_the_runtime(
    mask: str | None, crashes: bool
) -> None:
    sandbox = Sandbox(
        Settings(),
        Cgroups(V2, POD, "max"),
        {"irq-load-balancing.crio.io": "disable"},
        irq_mask=mask,
    )
    spec = Spec("app", "8-9", 2048, -1)
    sandbox.create(spec)
    if crashes:
        with pytest.raises(PanicError, match=r"index out of range \[1\] with length 1"):
            sandbox.start(spec)
    else:
        sandbox.start(spec)


@pytest.mark.parametrize(
    ("siblings", "env"),
    [({}, "2"), ({2: "2-3"}, "2-3"), ({2: "2,10"}, "2")],
)
def test_housekeeping_is_the_first_core_of_shared_and_exclusive_cpus(
    siblings: dict[int, str], env: str
) -> None:
    annotations = {"irq-load-balancing.crio.io": "housekeeping", "cpu-shared.crio.io/app": "enable"}
    sandbox = Sandbox(Settings("2-3"), Cgroups(V2, POD, "max"), annotations, siblings)
    spec = Spec("app", "4-7", 4096, -1)
    sandbox.create(spec)
    assert spec.env[-1] == f"OPENSHIFT_HOUSEKEEPING_CPUS={env}"


def test_load_balancing_off_isolates_exclusive_cpus_only() -> None:
    layout = Layout(online=bits_of(range(8)))
    annotations = {"cpu-load-balancing.crio.io": "disable", "cpu-shared.crio.io/app": "enable"}
    sandbox = Sandbox(Settings("2-3"), Cgroups(layout, POD, "max"), annotations)
    spec = Spec("app", "4-5", 2048, -1)
    sandbox.create(spec)
    sandbox.start(spec)
    files = sandbox.cgroups.files
    assert files["kubepods.slice/cpuset.cpus"] == "0-7"
    assert files["kubepods.slice/cpuset.cpus.exclusive"] == "4-5"
    assert files[f"{POD}/crio-app-1.scope/cgroup-child/cpuset.cpus.partition"] == "isolated"
    sandbox.stop(spec)
    assert files["kubepods.slice/cpuset.cpus.exclusive"] == ""


@pytest.mark.parametrize(("name", "is_taken"), [("cpu", True), ("memory", False)])
def test_a_request_of_nothing(name: str, is_taken: bool) -> None:
    """The plugin passes over a request of 0 CPUs, and of no memory."""
    resources = {
        "limits": {"cpu": "2", "memory": "1Gi", RESOURCE: "1"},
        "requests": {"cpu": "2", "memory": "1Gi", RESOURCE: "1", name: "0"},
    }
    spec = {"containers": [{"name": "app", "resources": resources}]}
    pod = read_pod({"metadata": {"name": "p", "namespace": "team"}, "spec": spec})
    if is_taken:
        assert admit(pod, {ALLOWED: ""}).annotations == {"cpu-shared.crio.io/app": "enable"}
    else:
        with pytest.raises(AdmissionError, match="not Guaranteed"):
            admit(pod, {ALLOWED: ""})
