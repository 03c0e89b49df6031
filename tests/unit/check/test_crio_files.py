"""What CRI-O makes of the files of a node, at their lines."""

from pathlib import Path

import pytest

from cpuplan.check import crio_files
from cpuplan.check.root import Root


def found(root: Path) -> list[tuple[str, int]]:
    findings = [*crio_files.findings(Root(root), "etc/crio"), *crio_files.irqbalance(Root(root))]
    return [(one.code, one.position.line) for one in findings if one.position]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("[crio.runtime]\npids_limit = 5\nselinux = 1\n", [("CP847", 3)]),
        ('[crio.runtime]\ninfra_ctr_cpuset = "x"\n', [("CP847", 2)]),
        ("[crio.runtime]\n\n[crio.runtime.runtimes.rt]\n", [("CP848", 3)]),
        ("[crio.runtime]\nselinus = true\n", [("CP849", 2)]),
    ],
)
def test_each_finding_has_its_line(
    tmp_path: Path, text: str, expected: list[tuple[str, int]]
) -> None:
    folder = tmp_path / "etc" / "crio" / "crio.conf.d"
    folder.mkdir(parents=True)
    (folder / "10-site.conf").write_text(text)
    assert found(tmp_path) == expected


def test_irqbalance_of_debian_reads_another_file(tmp_path: Path) -> None:
    folder = tmp_path / "etc" / "crio" / "crio.conf.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc" / "default").mkdir()
    (tmp_path / "etc" / "default" / "irqbalance").write_text("")
    assert found(tmp_path) == [("CP850", 1)]
    own = '[crio.runtime]\nirqbalance_config_file = "/etc/default/irqbalance"\n'
    (folder / "10-site.conf").write_text(own)
    assert found(tmp_path) == []
