"""What depends on the release: the table's consequences, from the first release to the last."""

import pytest

from cpuplan.backends import configure, openshift
from cpuplan.backends.openshift import checks, objects
from cpuplan.base.cpuset import CpuSet
from cpuplan.components import crio, kernel
from cpuplan.components.host import rps
from cpuplan.components.openshift import machineconfig, operator_units, tuned
from cpuplan.facts import platforms, versions
from cpuplan.language.model.cluster import ClusterSpec
from tests.machines.plans import no_position, plan, regular

STALLD = "/etc/sysconfig/stalld-backend"
FIRMWARE = "service.service.fwupd-refresh.timer"
PROFILE = {"mode": "performanceProfile"}
DELAY = "rcutree.nohz_full_patience_delay"


@pytest.mark.parametrize(
    ("version", "stalld", "firmware"),
    [
        ("4.14", False, False),
        ("4.21", False, False),
        ("4.22", True, False),
        ("4.23", True, True),
        ("5.1", True, True),
    ],
)
def test_files_units_and_options_of_openshift(version: str, stalld: bool, firmware: bool) -> None:
    node = plan(version=version)
    systemd = node.settings.values(operator_units.NAME)
    assert (STALLD in systemd) == stalld
    assert ("/etc/systemd/system/stalld.service.d/stalld-backend.conf" in systemd) == stalld
    assert (FIRMWARE in node.settings.values(tuned.NAME)) == firmware
    assert (DELAY in node.settings.values(kernel.NAME)) == (version == "5.1")


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ("4.14", ["Restart=no", "ExecStart=/usr/bin/podman", '"openshift-tuned"']),
        ("4.16", ["Restart=on-failure", "ExecStart=/usr/bin/podman", '"openshift-tuned"']),
        ("4.17", ["ExecStart=-/usr/bin/podman", "/var/lib/ocp-tuned:/var/lib", '"ocp-tuned"']),
        ("4.18", ["ExecStart=/usr/bin/true", "/var/lib/tuned:/host/var/lib/tuned"]),
    ],
)
def test_the_unit_that_tunes_once(version: str, lines: list[str]) -> None:
    settings = plan(version=version).settings.of(operator_units.NAME)
    text = operator_units.units(settings)["ocp-tuned-one-shot.service"]
    assert [line for line in lines if line not in text] == []
    assert operator_units.parse(operator_units.render(settings)) == {
        each.key: each.value for each in settings
    }


#: What the operator's TuneD profile gives on a CPU, beside what it gives in every release.
VENDORS: list[tuple[str, str, str, dict[str, str | None]]] = [
    ("4.14", "AuthenticAMD", "x86_64", {"intel_iommu": "on", "intel_pstate": "disable"}),
    ("4.15", "Ampere", "aarch64", {"mce": "off", "rcupdate.rcu_normal_after_boot": None}),
    ("4.16", "AuthenticAMD", "x86_64", {"intel_iommu": None, "amd_pstate": "guided"}),
    ("4.16", "ARM", "aarch64", {"iommu.passthrough": "1", "mce": None}),
    ("4.19", "ARM", "aarch64", {"iommu.passthrough": None}),
    ("4.16", "GenuineIntel", "x86_64", {"rcupdate.rcu_normal_after_boot": "1"}),
]


@pytest.mark.parametrize(("version", "vendor", "architecture", "expected"), VENDORS)
def test_boot_arguments_of_the_operator(
    version: str, vendor: str, architecture: str, expected: dict[str, str | None]
) -> None:
    node = plan(version=version, vendor=vendor, architecture=architecture, target=PROFILE)
    found = node.settings.values(kernel.NAME)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("version", "vendor", "architecture", "expected"),
    [
        ("4.15", "HygonGenuine", "x86_64", True),
        ("4.16", "HygonGenuine", "x86_64", False),
        ("4.17", "Ampere", "aarch64", False),
        ("4.18", "Ampere", "aarch64", True),
        ("5.1", "", "x86_64", True),
    ],
)
def test_no_boot_arguments_where_tuned_fails(
    version: str, vendor: str, architecture: str, expected: bool
) -> None:
    node = plan(version=version, vendor=vendor, architecture=architecture, target=PROFILE)
    files = {manifest.file for manifest in objects.predicted_manifests(node)}
    assert any("50-nto" in file for file in files) == expected


@pytest.mark.parametrize("mode", ["mco", "performanceProfile"])
@pytest.mark.parametrize("version", ["4.22", "4.23"])
@pytest.mark.parametrize("real_time", [True, False])
def test_ticks_stop_for_real_time_only_before_4_23(
    mode: str, version: str, real_time: bool
) -> None:
    spec = {"workloadHints": {"realTime": real_time}}
    found = plan(version=version, target={"mode": mode}, spec=spec).settings.values(kernel.NAME)
    assert ("nohz_full" in found) == (real_time or version == "4.23" or mode == "mco")


@pytest.mark.parametrize(("tuned_on_nodes", "expected"), [("2.24", False), ("2.28", True)])
def test_boot_arguments_of_the_tuned_on_the_nodes(tuned_on_nodes: str, expected: bool) -> None:
    node = plan(version="4.20", target=PROFILE | {"tuned": tuned_on_nodes})
    assert (DELAY in node.settings.values(kernel.NAME)) == expected


@pytest.mark.parametrize(
    ("version", "feature_set", "expected"),
    [
        ("4.15", "TechPreviewNoUpgrade", True),
        ("4.15", "DevPreviewNoUpgrade", False),
        ("4.16", "DevPreviewNoUpgrade", True),
        ("5.1", "CustomNoUpgrade", True),
        ("5.1", "Default", False),
        ("5.1", "OKD", False),
    ],
)
def test_the_operator_shares_cpus_by_a_gate(version: str, feature_set: str, expected: bool) -> None:
    node = plan(version=version, shared="2", target=PROFILE | {"featureSet": feature_set})
    assert ("shared_cpuset" in node.settings.values(crio.NAME)) == expected
    assert ("2" in str(node.settings.values("kubelet")["reservedSystemCPUs"])) == expected
    profile = objects.performance_profile(node)
    assert profile["spec"]["workloadHints"]["mixedCpus"] is True


@pytest.mark.parametrize(
    ("version", "ignored", "expected"),
    [("4.15", False, True), ("4.15", True, False), ("4.16", False, False)],
)
def test_the_operator_changes_the_cgroups_of_the_cluster(
    version: str, ignored: bool, expected: bool
) -> None:
    node = plan(version=version, target=PROFILE | {"ignoreCgroupsVersion": ignored})
    kinds = {manifest.data["kind"] for manifest in objects.predicted_manifests(node)}
    assert ("Node" in kinds) == expected
    annotations = objects.performance_profile(node)["metadata"]["annotations"]
    assert ("performance.openshift.io/ignore-cgroups-version" in annotations) == ignored


#: What the operator writes for CRI-O: of the handler, and of the runtime.
CRIO: list[tuple[str, set[str]]] = [
    ("4.17", {"runtime_path", "runtime_type", "runtime_root"}),
    ("4.18", {"inherit_default_runtime"}),
    ("4.21", {"inherit_default_runtime", "exec_cpu_affinity", "default_annotations"}),
]


@pytest.mark.parametrize(("version", "expected"), CRIO)
def test_the_handler_of_the_operator(version: str, expected: set[str]) -> None:
    found = plan(version=version, target=PROFILE).settings.values(crio.NAME)
    prefix = "runtimes.high-performance."
    keys = {key.removeprefix(prefix) for key in found if key.startswith(prefix)}
    assert keys == expected | {"allowed_annotations"}
    assert ("runtimes.runc.runtime_root" in found) == (version == "4.17")


@pytest.mark.parametrize(
    ("runtime", "path"), [(None, "/bin/runc"), ("runc", "/bin/runc"), ("crun", "/usr/bin/crun")]
)
def test_the_handler_repeats_the_runtime_of_the_pool(runtime: str | None, path: str) -> None:
    target = PROFILE | ({"ociRuntime": runtime} if runtime else {})
    found = plan(version="4.16", target=target).settings.values(crio.NAME)
    assert found["runtimes.high-performance.runtime_path"] == path


def test_the_runtime_of_the_pools_last_containerruntimeconfig() -> None:
    """Of those that select the pool; the target's own word counts more."""
    configs = [
        {"name": name, "machineConfigPoolSelector": {"matchLabels": labels}, **stated}
        for name, labels, stated in (
            ("first", {machineconfig.ROLE: "worker-cnf"}, {"defaultRuntime": "runc"}),
            ("second", {machineconfig.ROLE: "worker-cnf"}, {"defaultRuntime": "crun"}),
            ("silent", {machineconfig.ROLE: "worker-cnf"}, {}),
            ("of-others", {machineconfig.ROLE: "infra"}, {"defaultRuntime": "runc"}),
            ("of-nobody", {}, {"defaultRuntime": "runc"}),
        )
    ]
    paths = []
    for target in (PROFILE, PROFILE | {"ociRuntime": "runc"}):
        one = plan(version="4.16", target=target)
        one.node_class.cluster_facts = ClusterSpec.model_validate(
            {"containerRuntimeConfigs": configs}
        )
        found = configure(one).settings.values(crio.NAME)
        paths.append(found["runtimes.high-performance.runtime_path"])
    assert paths == ["/usr/bin/crun", "/bin/runc"]


#: Whether packets are steered: release, what is asked for, real-time workloads, and the result.
STEERING = [
    ("4.18", None, True, True),
    ("4.18", None, False, False),
    ("4.18", True, False, True),
    ("4.19", None, True, False),
    ("4.19", True, True, True),
    ("4.20", None, True, False),
]


@pytest.mark.parametrize(("version", "asked", "real_time", "expected"), STEERING)
def test_packets_are_steered_by_release(
    version: str, asked: bool | None, real_time: bool, expected: bool
) -> None:
    net = {} if asked is None else {"receivePacketSteering": asked}
    spec = {"net": net, "workloadHints": {"realTime": real_time}}
    node = plan(version=version, target=PROFILE, spec=spec)
    assert bool(node.settings.of(rps.NAME)) == expected
    assert not plan(version=version, spec=spec | {"net": {}}).settings.of(rps.NAME)


def test_steering_that_no_profile_switches_off() -> None:
    spec = {"net": {"receivePacketSteering": False}}
    for version, codes in (("4.18", ["CP548"]), ("4.19", [])):
        node = plan(version=version, target=PROFILE, spec=spec)
        assert [each.code for each in checks.check_profile(node, no_position)] == codes


@pytest.mark.parametrize(("version", "is_right"), [("4.15", False), ("4.16", True)])
def test_bug_masks_of_many_cpus_lose_digits(version: str, is_right: bool) -> None:
    reserved = CpuSet([0, 1, 256, 257, 258])
    node = plan(regular(cores=512), version=version, target=PROFILE, reserved=str(reserved))
    _, text = rps.files(node.settings.of(rps.NAME))[rps.SYSCTL_PATH]
    words = text.partition(" = ")[2].strip().split(",")
    assert (CpuSet.parse_mask(",".join(words)) == reserved) == is_right
    assert len(words) == (9 if is_right else 8)


@pytest.mark.parametrize(
    ("version", "real_time", "expected"),
    [("4.19", False, "1"), ("4.20", False, None), ("4.21", True, "1"), ("4.22", False, "1")],
)
def test_timers_migrate(version: str, real_time: bool, expected: str | None) -> None:
    spec = {"kernel": {"realTime": real_time}}
    node = plan(version=version, target=PROFILE, spec=spec)
    assert node.settings.values(tuned.NAME).get("sysctl.kernel.timer_migration") == expected
    without = plan(version=version, spec=spec).settings.values(tuned.NAME)
    assert without["sysctl.kernel.timer_migration"] == "1"


@pytest.mark.parametrize(("version", "expected"), [("4.21", {"net", "net_1"}), ("4.22", set())])
def test_sections_with_the_size_of_the_connection_table(version: str, expected: set[str]) -> None:
    devices = [{"interfaceName": "ens1"}, {"interfaceName": "ens2"}]
    spec = {"net": {"userLevelNetworking": True, "devices": devices}}
    found = plan(version=version, target=PROFILE, spec=spec).settings.values(tuned.NAME)
    option = ".nf_conntrack_hashsize"
    assert {key.removesuffix(option) for key in found if key.endswith(option)} == expected


def test_the_kernel_of_kubernetes_is_not_known_by_its_release() -> None:
    node = plan(platform="kubernetes", version="1.27", spec={"workloadHints": {"realTime": True}})
    assert DELAY in node.settings.values(kernel.NAME)


@pytest.mark.parametrize(
    ("version", "wanted", "annotation"),
    [
        ("4.19", False, "false"),
        ("4.20", False, None),
        ("4.19", True, "true"),
        ("4.20", True, "true"),
    ],
)
def test_receive_packet_steering_in_a_profile(
    version: str, wanted: bool, annotation: str | None
) -> None:
    """Up to 4.19, the operator steers packets of real-time workloads unless it is told not to."""
    mode = {"mode": "performanceProfile"}
    node = plan(version=version, target=mode, spec={"net": {"receivePacketSteering": wanted}})
    found = objects.performance_profile(node)["metadata"]["annotations"]
    assert found.get("performance.openshift.io/enable-rps") == annotation


@pytest.mark.parametrize("version", platforms.OPENSHIFT.releases)
def test_every_release_has_objects(version: str) -> None:
    assert [each.data["kind"] for each in openshift.manifests(plan(version=version))]


@pytest.mark.parametrize(("text", "version"), [("1.33", (1, 33)), ("4.9", (4, 9))])
def test_a_release_as_numbers(text: str, version: tuple[int, int]) -> None:
    assert versions.from_text(text) == version
    assert versions.to_text(version) == text
