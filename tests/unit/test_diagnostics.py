"""Which findings count on a day."""

from cpuplan.diagnostics import as_of, counting
from tests.unit.render.diagnostics.examples import ERROR, NOTE, WAIVED, WARNING


def test_what_counts_on_a_day() -> None:
    expired = WARNING._replace(code="CP295", after="2031-01-01")
    found = [ERROR, WAIVED, expired]
    assert as_of(found, "2031-01-01") == [ERROR, WAIVED]
    assert as_of(found, "2031-01-02") == [ERROR, WAIVED._replace(waiver=None), expired]
    assert counting(as_of(found, "2031-01-01"), strict=True) == [ERROR]
    assert len(counting(as_of(found, "2031-01-02"), strict=True)) == 3
    assert counting([WARNING, NOTE], strict=True) == [WARNING]
