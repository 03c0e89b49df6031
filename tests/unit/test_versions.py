"""What depends on the release: the table's consequences, from the first release to the last."""

import pytest

from cpuplan import platforms
from cpuplan.backends import openshift
from cpuplan.backends.openshift import objects
from cpuplan.components import kernel
from cpuplan.components.openshift import tuned, units
from tests.machines.plans import plan

STALLD = "/etc/sysconfig/stalld-backend"
FIRMWARE = "service.service.fwupd-refresh.timer"
DELAY = "rcutree.nohz_full_patience_delay"


@pytest.mark.parametrize(
    ("version", "one_shot", "stalld", "firmware"),
    [
        ("4.14", False, False, False),
        ("4.16", False, False, False),
        ("4.17", True, False, False),
        ("4.21", True, False, False),
        ("4.22", True, True, False),
        ("5.0", True, True, False),
        ("5.1", True, True, True),
    ],
)
def test_files_units_and_options_of_openshift(
    version: str, one_shot: bool, stalld: bool, firmware: bool
) -> None:
    node = plan(version=version)
    systemd = node.settings.values(units.NAME)
    assert ("ocp-tuned-one-shot.service" in systemd) == one_shot
    assert (STALLD in systemd) == stalld
    assert ("/etc/systemd/system/stalld.service.d/stalld-backend.conf" in systemd) == stalld
    assert (FIRMWARE in node.settings.values(tuned.NAME)) == firmware
    assert (DELAY in node.settings.values(kernel.NAME)) == firmware


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
