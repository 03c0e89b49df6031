"""Lines of unit files as systemd reads them."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.services.systemd_units import (
    Line,
    added_lines,
    cpus_of_lines,
    is_on,
    last_line,
    unit_lines,
)

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
    lines = list(unit_lines(TEXT, PATH))
    assert lines[0] == Line("Unit", "Description", "two words", PATH, 3)
    assert [line.number for line in added_lines(lines, "CPUAffinity")] == [10, 11]
    assert cpus_of_lines(added_lines(lines, "CPUAffinity")) == CpuSet((2, 3))
    assert last_line(lines, "ExecStart") is None
    assert last_line(lines, "Description") == lines[0]


def test_switches() -> None:
    assert is_on(Line("Service", "RemainAfterExit", "Yes", PATH, 1))
    assert not is_on(Line("Service", "RemainAfterExit", "no", PATH, 1))
    assert not is_on(None)
