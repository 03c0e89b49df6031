"""Remarks on many nodes, and what was assumed of them, in the document."""

from pathlib import Path

from cpuplan import importers
from cpuplan.importers import grouped
from cpuplan.importers.documents import documents_of, texts_of
from cpuplan.importers.documents.kinds import kinds_of

TOGETHER = "it is unknown which CPUs belong together; it is assumed"
SUMMARY = """\
Architecture:        x86_64
On-line CPU(s) list: 0-3
Thread(s) per core:  2
Core(s) per socket:  1
Socket(s):           2
NUMA node(s):        2
NUMA node0 CPU(s):   0,2
NUMA node1 CPU(s):   1,3
"""


def test_one_line_for_what_is_said_of_many() -> None:
    remarks = [f"node w{number}: dies are missing" for number in range(100)]
    remarks += ["node x: dies are missing", "node x has no Node object", "p: other", "p: other"]
    assert list(grouped(remarks)) == [
        "101 nodes: x, w[0-99]: dies are missing",
        "node x has no Node object",
        "p: other",
    ]


def test_assumptions_are_in_the_document(tmp_path: Path) -> None:
    """Also the socket and NUMA node of which no source says a word."""
    (tmp_path / "w0.lscpu.txt").write_text(SUMMARY)
    (tmp_path / "w1.lscpu.txt").write_text("CPU CORE\n0 0\n1 1\n")
    kinds = kinds_of(importers.run(None, [tmp_path]))
    texts = texts_of(documents_of(kinds), "", kinds)
    comments = {line for text in texts.values() for line in text.splitlines() if line[0] == "#"}
    assert comments == {
        f"# {TOGETHER} that each NUMA node is one socket",
        "# sockets are missing: one is assumed",
        "# NUMA nodes are missing: one is assumed",
    }


def test_what_another_source_has_is_not_assumed(tmp_path: Path) -> None:
    (tmp_path / "w1.lscpu.txt").write_text("CPU CORE\n0 0\n1 1\n")
    rows = (
        '{"detail":[{"id":0,"core":0,"socket":0,"node":0},{"id":1,"core":1,"socket":0,"node":0}]}'
    )
    (tmp_path / "nrt.yaml").write_text(
        "kind: NodeResourceTopology\nmetadata:\n  name: w1\n  annotations:\n"
        f"    node.koordinator.sh/cpu-topology: '{rows}'\n"
    )
    (node,) = importers.run(None, [tmp_path]).nodes
    assert node.machine.assumptions == ()
