"""RKE2 and K3s: what differs from a plain node with CRI-O."""

from typing import Any

import pytest

from cpuplan.backends import check, of
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import no_position, plan

EACH = pytest.mark.parametrize("platform", ["rke2", "k3s"])


def planned(platform: str, **further: Any) -> ConfiguredPlan:
    return plan(platform=platform, version="1.35", **further)


def codes(made: ConfiguredPlan) -> list[str]:
    return [finding.code for finding in check(made, no_position)]


@EACH
def test_files_are_where_it_reads_them(platform: str) -> None:
    files = of(planned(platform).node_class).node_files(planned(platform, offlined="3"))
    assert f"var/lib/rancher/{platform}/agent/etc/kubelet.conf.d/90-cpuplan.conf" in files
    waiting = files[f"etc/systemd/system/{platform}-agent.service.d/50-cpuplan.conf"].decode()
    assert "Requires=set-cpus-offline.service\n" in waiting
    assert "--config-dir" not in waiting
    assert not any("crio" in path for path in files)


def test_the_unit_of_a_server() -> None:
    made = planned("rke2", offlined="3", target={"kubeletUnit": "rke2-server.service"})
    files = of(made.node_class).node_files(made)
    assert "etc/systemd/system/rke2-server.service.d/50-cpuplan.conf" in files


@EACH
def test_what_only_crio_can(platform: str) -> None:
    assert codes(planned(platform)) == ["CP599"]
    assert codes(planned(platform, shared="2")) == ["CP598"]
    handler = {"runtime": {"handler": "fast", "containersLimit": 3}}
    assert codes(planned(platform, spec=handler)) == ["CP598", "CP598"]


@EACH
def test_a_default_that_is_off_is_not_listed(platform: str) -> None:
    off = {"defaults": [{"disable": "infra-containers", "because": "no pods of others"}]}
    assert codes(planned(platform, spec=off)) == []
