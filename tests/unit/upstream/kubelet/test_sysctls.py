"""allowedUnsafeSysctls of the configuration."""

import pytest

from cpuplan.upstream.kubelet.allowlist import check_allowlist
from cpuplan.upstream.kubernetes.errors import KubeletError


def test_known() -> None:
    names = ["kernel.msg*", "kernel.sem", "fs.mqueue.*", "net.ipv4.conf.eno2/100.rp_filter"]
    check_allowlist([*names, "net/ipv4/conf/eno2.100/rp_filter", "net.*"])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("kernel.*", 'the sysctls "kernel." are not known to be namespaced'),
        ("vm/swappiness", 'the sysctls "vm.swappiness" are not known to be namespaced'),
        ("netfilter.a", 'the sysctls "netfilter.a" are not known to be namespaced'),
        ("net.*.a", 'sysctl "net.*.a" must have at most 253 characters and match regex'),
        ("Net.a", 'sysctl "Net.a" must have at most 253'),
        ("net." + "a" * 250, "must have at most 253"),
        ("", 'sysctl "" must have'),
    ],
)
def test_refused(pattern: str, text: str) -> None:
    with pytest.raises(KubeletError) as refused:
        check_allowlist(["net.core.somaxconn", pattern])
    assert text in str(refused.value)
