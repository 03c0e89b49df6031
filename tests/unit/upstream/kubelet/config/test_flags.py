"""The kubelet's flags, and that they win over its files."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet import server
from cpuplan.upstream.kubelet.config.options import Flags, parse_flags
from cpuplan.upstream.kubernetes.errors import KubeletError

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_files_and_folder_of_a_command() -> None:
    flags = parse_flags(
        [
            "--config=/a.yaml",
            "--config-dir",
            "/b",
            "-v=2",
            "--root_dir",
            "/c",
            "--exit-on-lock-contention",
        ]
    )
    assert flags == Flags(
        "/a.yaml", "/b", "/c", {"logging": {"verbosity": 2}}, {"logging.verbosity": "--v"}
    )


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (["--reserved-cpus=0-1"], {"reservedSystemCPUs": "0-1"}),
        (["--cpu-manager-policy", "static"], {"cpuManagerPolicy": "static"}),
        (["--fail-swap-on"], {"failSwapOn": True}),
        (["--fail-swap-on=false"], {"failSwapOn": False}),
        (["--max_pods=0x10"], {"maxPods": 16}),
        (["--kube-reserved=cpu=1,memory=1Gi"], {"kubeReserved": {"cpu": "1", "memory": "1Gi"}}),
        (["--eviction-hard=memory.available<1Gi"], {"evictionHard": {"memory.available": "1Gi"}}),
        (
            ["--cpu-manager-policy-options=a=b,c=d", "--cpu-manager-policy-options=e=f"],
            {"cpuManagerPolicyOptions": {"a": "b,c=d", "e": "f"}},
        ),
        (["--feature-gates=A=true,B=false"], {"featureGates": {"A": True, "B": False}}),
        (
            ["--allowed-unsafe-sysctls=a,b", "--allowed-unsafe-sysctls=c"],
            {"allowedUnsafeSysctls": ["a", "b", "c"]},
        ),
        (
            ["--reserved-memory=0:memory=1Gi;1:memory=2Gi"],
            {
                "reservedMemory": [
                    {"numaNode": 0, "limits": {"memory": "1Gi"}},
                    {"numaNode": 1, "limits": {"memory": "2Gi"}},
                ]
            },
        ),
        (
            ["--register-with-taints=a=b:NoSchedule"],
            {"registerWithTaints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        ),
        (["--anonymous-auth=false"], {"authentication": {"anonymous": {"enabled": False}}}),
        (["--hostname-override=a"], {}),
    ],
)
def test_flag_as_a_field(words: list[str], fields: dict[str, Any]) -> None:
    assert parse_flags(words).fields == fields


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run"], "unknown command run"),
        (["--config"], "flag needs an argument: --config"),
        (["--max-pods=many"], 'strconv.ParseInt: parsing "many": invalid syntax'),
        (["--kube-reserved=1Gi"], "malformed pair, expect string=string"),
        (["--reserved-memory=memory=1Gi"], "expected numaNodeID:type=quantity"),
        (["--register-with-taints=a"], "invalid taint spec: a"),
    ],
)
def test_command_that_a_kubelet_refuses(words: list[str], problem: str) -> None:
    with pytest.raises(KubeletError) as refused:
        parse_flags(words)
    assert problem in str(refused.value)


def test_flags_win_over_files() -> None:
    main = (
        HEAD
        + "cpuManagerPolicy: none\nkubeReserved: {cpu: 500m}\nfeatureGates: {MemoryQoS: true}\n"
    )
    drop_in = HEAD + "cpuManagerPolicy: static\n"
    flags = parse_flags(
        [
            "--cpu-manager-policy=none",
            "--kube-reserved=memory=1Gi",
            "--feature-gates=SidecarContainers=true",
        ]
    )
    loaded = server.load(main, [drop_in], flags=flags.fields)
    assert loaded.errors == []
    assert loaded.config["cpuManagerPolicy"] == "none"
    assert loaded.config["kubeReserved"] == {"memory": "1Gi"}
    assert loaded.config["featureGates"] == {"MemoryQoS": True, "SidecarContainers": True}


def test_value_of_a_flag_that_no_kubelet_takes() -> None:
    with pytest.raises(server.StageError) as refused:
        server.load(HEAD, flags=parse_flags(["--sync-frequency=often"]).fields)
    assert (refused.value.stage, str(refused.value)) == ("flags", 'time: invalid duration "often"')
