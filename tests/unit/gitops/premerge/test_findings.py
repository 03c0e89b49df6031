"""Findings are compared by what they are about, not by where they are."""

from cpuplan.diagnostics import Diagnostic, Severity, Waiver
from cpuplan.diagnostics.source import Position
from cpuplan.gitops.merging import brought_in

OLD = Diagnostic(
    "CP289", "2 nodes lack labels", "", Position("a.yaml", 3, 1), field="Intent/a:spec.targets.0"
)


def test_moved_lines_and_other_numbers_make_nothing_new() -> None:
    moved = OLD._replace(message="3 nodes lack labels", position=Position("b.yaml", 9, 4))
    assert brought_in([moved], [OLD]) == []
    assert brought_in([], [OLD]) == []


def test_another_field_code_or_number_of_findings_is_new() -> None:
    for other in (OLD._replace(field="Intent/b:spec.targets.0"), OLD._replace(code="CP290")):
        assert brought_in([OLD, other], [OLD]) == [other]
    assert brought_in([OLD, OLD], [OLD]) == [OLD]


def test_a_further_class_is_new_and_fewer_are_not() -> None:
    old = OLD._replace(classes=("lab/a",))
    both = OLD._replace(classes=("lab/a", "lab/b"))
    assert brought_in([both], [old]) == [both]
    assert brought_in([old], [both]) == []


def test_without_a_field_file_and_message_count() -> None:
    old = OLD._replace(field="")
    assert brought_in([old._replace(position=Position("a.yaml", 90, 1))], [old]) == []
    for other in (
        old._replace(message="another"),
        old._replace(position=Position("b.yaml", 3, 1)),
    ):
        assert brought_in([other], [old]) == [other]
    whole = old._replace(position=Position("a.yaml", 0, 0))
    assert brought_in([whole._replace(message="another")], [whole]) == []
    nowhere = old._replace(position=None)
    assert brought_in([nowhere], [nowhere]) == []


def test_a_waiver_that_is_gone_brings_its_finding_back() -> None:
    warning = OLD._replace(severity=Severity.WARNING)
    waived = warning._replace(waiver=Waiver("later", "2030-01-01"))
    assert brought_in([waived], [waived]) == []
    assert brought_in([waived], [warning]) == []
    assert brought_in([warning], [waived]) == [warning]
