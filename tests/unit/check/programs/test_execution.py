"""The command of a unit, with its variables."""

import pytest

from cpuplan.check.processes import execution, variables
from cpuplan.check.services.systemd_units import unit_lines

FILES = {"/etc/default/kubelet": 'EXTRA="--v=4 --max-pods=20"\n# EXTRA=\nNODE=a\n'}


def words(text: str) -> list[str]:
    start = execution(list(unit_lines(text, "kubelet.service")), FILES.get)
    return list(start.words) if start else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ExecStart=/usr/bin/kubelet --v=2", ["/usr/bin/kubelet", "--v=2"]),
        ("ExecStart=-+/usr/bin/kubelet", ["/usr/bin/kubelet"]),
        ("ExecStart=@/usr/bin/kubelet other --v=2", ["/usr/bin/kubelet", "--v=2"]),
        ("ExecStart=/bin/a\nExecStart=\nExecStart=/bin/b 'c d'", ["/bin/b", "c d"]),
        (
            'Environment="A=b c" D=e\nExecStart=/bin/x $A ${D}f $G $$',
            ["/bin/x", "b", "c", "ef", "$"],
        ),
        ("Environment=A=b\nEnvironment=\nExecStart=/bin/x $A", ["/bin/x"]),
        (
            "Environment=EXTRA=--v=1\nEnvironmentFile=-/etc/default/kubelet\nExecStart=/x $EXTRA",
            ["/x", "--v=4", "--max-pods=20"],
        ),
        ("EnvironmentFile=/etc/gone\nExecStart=/bin/x $EXTRA", ["/bin/x"]),
        ("ExecStart=/bin/x \\\n  --v=2", ["/bin/x", "--v=2"]),
        ("Type=notify", []),
    ],
)
def test_words_of_a_unit(text: str, expected: list[str]) -> None:
    assert words(f"[Service]\n{text}\n") == expected


def test_a_line_of_another_section_runs_nothing() -> None:
    assert words("[Unit]\nExecStart=/bin/x\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=b c\n", {"A": "b c"}),
        ('A="b c"\n', {"A": "b c"}),
        ("#A=b\n;A=b\n\n", {}),
        ("A=b\\\nc\n", {"A": "bc"}),
    ],
)
def test_environment_file(text: str, expected: dict[str, str]) -> None:
    assert variables(text) == expected
