"""What CRI-O makes of the files of a node, at their lines."""

from pathlib import Path

import pytest

from cpuplan.check.roots.root import Root
from cpuplan.check.runtimes import crio_files
from cpuplan.check.runtimes.crio import traps
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan

DROP_IN = "crio.conf.d/10-site.conf"


def findings_of(root: Path) -> list[tuple[str, int]]:
    node = Root(root)
    given = crio_files.read(node, {DROP_IN: f"etc/crio/{DROP_IN}"})
    findings = [*crio_files.findings(node, "etc/crio"), *crio_files.irqbalance(node, given)]
    return [(finding.code, finding.position.line) for finding in findings if finding.position]


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
    assert findings_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("allowed", "file", "expected"),
    [
        ("irq-load-balancing.crio.io", "", [("CP8328", 1)]),
        ("irq-load-balancing.crio.io", "/etc/default/irqbalance", []),
        ("cpu-quota.crio.io", "", []),
    ],
)
def test_irqbalance_of_debian_reads_another_file(
    tmp_path: Path, allowed: str, file: str, expected: list[tuple[str, int]]
) -> None:
    folder = tmp_path / "etc" / "crio" / "crio.conf.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc" / "default").mkdir()
    (tmp_path / "etc" / "default" / "irqbalance").write_text("")
    own = f'[crio.runtime]\nirqbalance_config_file = "{file}"\n' if file else ""
    handler = "[crio.runtime.runtimes.high-performance]\ninherit_default_runtime = true\n"
    (folder / "10-site.conf").write_text(f'{own}{handler}allowed_annotations = ["{allowed}"]\n')
    assert findings_of(tmp_path) == expected


@pytest.mark.parametrize(("placed", "expected"), [(True, []), (False, ["CP8328"])])
def test_irqbalance_that_has_its_list_from_the_plan(
    tmp_path: Path, placed: bool, expected: list[str]
) -> None:
    node = plan(
        platform="kubernetes",
        version="1.34",
        spec={"isolation": {"irqAffinity": placed}, "runtime": {"handler": "fast"}},
    )
    root = make_root(node, tmp_path)
    (root / "etc" / "default").mkdir(exist_ok=True)
    (root / "etc" / "default" / "irqbalance").write_text("")
    answers = traps(checked.subject(root, node))
    assert [answer.finding.code for answer in answers if answer.finding] == expected
