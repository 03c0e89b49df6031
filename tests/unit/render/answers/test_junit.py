"""JUnit: as many cases as facts, each with the verdict that counts."""

from xml.etree import ElementTree

from cpuplan.diagnostics import diagnose
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.render.answers import junit
from cpuplan.render.answers.summary import Checked, counts

FIRST = diagnose("CP801", path="/a")
SECOND = diagnose("CP801", path="/b")
ANSWERS = [
    Answer("pods", Verdict.HELD, "x"),
    Answer("pods", Verdict.UNVERIFIABLE, "y", reason="none runs"),
    Answer("programs", Verdict.DIFFERS, "/a", finding=FIRST),
    Answer("programs", Verdict.DIFFERS, "/b", finding=SECOND),
    # The finding of its cause is that of another fact.
    Answer("kernel nohz_full", Verdict.DIFFERS, "/c", expected="nohz_full=1", observed="missing"),
    Answer("dmesg", Verdict.UNVERIFIABLE, "", reason="it is not here"),
]


def test_one_case_for_each_fact() -> None:
    suites = ElementTree.fromstring(  # noqa: S314 - our own
        junit.render([Checked("n", "lab", "class", "0", ANSWERS)])
    )
    cases = {}
    for case in suites.iter("testcase"):
        cases[case.get("name")] = [part.tag for part in case]
    assert cases == {
        "pods": [],
        "programs": ["failure"],
        "kernel nohz_full": ["failure"],
        "dmesg": ["skipped"],
    }
    suite = suites[0]
    number = counts(ANSWERS)
    assert [suite.get(key) for key in ("tests", "failures", "skipped")] == [
        str(sum(number.values())),
        str(number[Verdict.DIFFERS]),
        str(number[Verdict.UNVERIFIABLE]),
    ]
    first, other = suites.iter("failure")
    assert first.text == "\n\n".join(
        f"{finding.message}\n{finding.remedy}\n{place}"
        for finding, place in ((FIRST, "/a"), (SECOND, "/b"))
    )
    assert other.get("message") == "it is missing; it should be nohz_full=1"
