"""Findings that are alike, as one."""

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics.report import grouped

from .examples import ERROR


def test_groups_are_of_one_code_and_folder() -> None:
    def stale(code: str, path: str) -> Diagnostic:
        return Diagnostic(code, f"../p/{path} is missing", "", Position(path, 0, 0))

    files = [stale("CP608", f"out/nodes/lab/a/etc/{number}") for number in range(5)]
    others = [stale("CP608", f"out/nodes/lab/b/{number}") for number in range(4)]
    changed = [stale("CP609", f"out/nodes/lab/a/{number}") for number in range(4)]
    findings = grouped([*files, *others, *changed, ERROR])
    assert [finding.stands_for for finding in findings] == [1, 5, *[1] * 8]
    assert (
        findings[1].message
        == "../p/out/nodes/lab/a (5 files: etc/0, etc/1, etc/2 and 2 more) is missing"
    )
