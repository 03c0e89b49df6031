"""Lines of unit files as systemd reads them."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.services.unitlines import Line, added, cpus, flag, last, lines

TEXT = """\
# a comment
[Unit]
Description=two \\
# a comment within
  words

[Service]
CPUAffinity=0-1
CPUAffinity=
CPUAffinity=2 3
CPUAffinity=5,numa
ExecStart=/bin/true
ExecStart=
; another
no assignment
"""
PATH = "etc/systemd/system/a.service"


def test_lines() -> None:
    found = list(lines(TEXT, PATH))
    assert found[0] == Line("Unit", "Description", "two words", PATH, 3)
    assert [line.number for line in added(found, "CPUAffinity")] == [10, 11]
    assert cpus(added(found, "CPUAffinity")) == CpuSet((2, 3))
    assert last(found, "ExecStart") is None
    assert last(found, "Description") == found[0]


def test_switches() -> None:
    assert flag(Line("Service", "RemainAfterExit", "Yes", PATH, 1))
    assert not flag(Line("Service", "RemainAfterExit", "no", PATH, 1))
    assert not flag(None)
