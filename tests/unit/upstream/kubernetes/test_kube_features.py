"""Feature gates by version."""

import pytest

from cpuplan.upstream.kubelet.config.defaults import set_defaults
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates, set_gates, specs

RESIZE = "InPlacePodLevelResourcesVerticalScaling"


@pytest.mark.parametrize(
    ("version", "given", "message"),
    [
        ((1, 36), {"Nope": True}, "unrecognized feature gate: Nope"),
        ((1, 36), {"MemoryManager": True}, "unrecognized feature gate: MemoryManager"),
        (
            (1, 36),
            {"CPUManagerPolicyOptions": False},
            "cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true",
        ),
        (
            (1, 36),
            {"PodLevelResources": False},
            f"{RESIZE} is enabled, but depends on features that are disabled: [PodLevelResources]",
        ),
        ((1, 33), {"CPUManager": True}, "unrecognized feature gate: CPUManager"),
    ],
)
def test_refused(version: tuple[int, int], given: dict[str, bool], message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        set_gates(given, version)
    assert str(caught.value) == message


def test_a_version_that_was_not_read_may_have_new_gates() -> None:
    assert not set_gates({"Nope": True}, (1, 37)).enabled("Nope")
    assert Gates({}, (1, 37)).enabled("MemoryQoS")
    with pytest.raises(KubeletError, match="unrecognized feature gate: MemoryManager"):
        set_gates({"MemoryManager": True}, (1, 37))


def test_gates_that_1_37_has_no_more() -> None:
    for name in ("SidecarContainers", "APIServerTracing", "PreventStaticPodAPIReferences"):
        set_gates({name: True}, (1, 36))
        with pytest.raises(KubeletError, match=f"unrecognized feature gate: {name}"):
            set_gates({name: True}, (1, 37))
    assert Gates({}, (1, 38)).enabled("SidecarContainers"), "gone because it is always on"


def test_stages_of_1_37() -> None:
    assert not Gates({}, (1, 37)).enabled("PodLevelResourceManagers")
    assert Gates({"AllBeta": True}, (1, 37)).enabled("PodLevelResourceManagers")
    assert not Gates({"AllBeta": True}, (1, 36)).enabled("PodLevelResourceManagers")
    set_gates({"DisableCPUQuotaWithExclusiveCPUs": False}, (1, 36))
    with pytest.raises(KubeletError, match="feature is locked to true"):
        set_gates({"DisableCPUQuotaWithExclusiveCPUs": False}, (1, 37))


def test_a_gate_s_name_is_known_as_long_as_it_exists() -> None:
    assert set_gates({"MemoryManager": True}, (1, 35)).enabled("MemoryManager")
    assert specs("MemoryManager") == ()
    assert Gates().enabled("MemoryManager"), "gone because it is always on"


def test_openshift_only_warns_of_unknown_gates() -> None:
    assert not set_gates({"Nope": True}, is_openshift=True).enabled("Nope")


def test_all_gates_of_a_stage() -> None:
    assert set_gates({"AllAlpha": True}).enabled("CPUManagerPolicyAlphaOptions")
    assert not set_gates({"AllBeta": False}).enabled("CPUManagerPolicyBetaOptions")
    assert set_gates({"AllBeta": False, "CPUManagerPolicyBetaOptions": True}).enabled(
        "CPUManagerPolicyBetaOptions"
    )


def test_gates_need_others_since_1_35() -> None:
    off = {"GracefulNodeShutdown": False}
    set_gates(off, (1, 34))
    with pytest.raises(KubeletError, match="depends on features that are disabled"):
        set_gates(off, (1, 35))


@pytest.mark.parametrize(("version", "fails"), [((1, 34), False), ((1, 35), True)])
def test_cgroup_v1_keeps_the_kubelet_from_starting_since_1_35(
    version: tuple[int, int], *, fails: bool
) -> None:
    assert set_defaults({}, Gates(version=version))["failCgroupV1"] is fails
