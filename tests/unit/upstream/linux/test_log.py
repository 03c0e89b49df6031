"""Lines of the kernel's log, in the forms in which it is kept."""

import pytest

from cpuplan.upstream.linux.evidence import parse_log

FIRST = "Linux version 6.1.0-56-amd64 (gcc-12)"


@pytest.mark.parametrize("stamp", ["[    0.000000] ", "<6>[    0.000000] ", ""])
def test_forms(stamp: str) -> None:
    log = parse_log(
        "\n".join(
            stamp + line
            for line in (
                FIRST,
                "Command line: ro nohz_full=4-17",
                "Housekeeping: nohz_full= or isolcpus= incorrect CPU range",
                'Unknown kernel command line parameters "quick vmroot=x", will be passed on.',
                "rcu: \tOffload RCU callbacks from CPUs: 4-7,10-13.",
            )
        )
    )
    assert log.is_whole
    assert log.command_line == "ro nohz_full=4-17"
    assert log.dropped == ("Housekeeping: nohz_full= or isolcpus= incorrect CPU range",)
    assert log.unknown == ("quick", "vmroot=x")
    assert log.callbacks == "4-7,10-13"


def test_a_log_without_its_beginning() -> None:
    log = parse_log("[  812.114] smpboot: CPU 14 is now offline\n")
    assert not log.is_whole
    assert log.cpus == ("smpboot: CPU 14 is now offline",)
    assert log.callbacks is None


def test_pages() -> None:
    text = "HugeTLB: allocating 64 of page size 2.00 MiB failed.  Only allocated 12 hugepages."
    assert parse_log(f"{FIRST}\n[    1.2] {text}\n").pages == (text,)
    assert parse_log(f"{FIRST}\nHugeTLB: registered 2.00 MiB page size\n").pages == ()
