"""Workflow commands of GitHub Actions."""

from cpuplan.render import diagnostics

from .examples import ALL, ERROR, report


def test_github_escapes_what_would_end_a_property_or_the_message() -> None:
    (line,) = diagnostics.render("github", report(ERROR)).splitlines()
    head, _, text = line.removeprefix("::").partition("::")
    assert head == (
        "error file=a%2Cb%3Ac%25d/é.yaml,line=3,col=5,endLine=3,endColumn=9,title=CP102 "
        "duplicate key"
    )
    assert text.startswith("50%25 of it,\\r%0Aall: \\x1b[31m\\0 ]]> <&\"'")
    assert text.endswith("%0Ahelp: do: this,%0Athen that")


def test_github_tells_the_worst_first_and_what_it_will_not_show() -> None:
    lines = diagnostics.render("github", report(*ALL, verbose=True)).splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::notice", "::notice"]
    assert "file=out/x,title" in lines[1]
    assert lines[2].startswith("::notice title=CP296")
    assert lines[3].endswith("::x%0Awaived until 2031-01-01: on, purpose")
    assert diagnostics.notice("github", report(*ALL)) == ""
    assert "ten" not in diagnostics.notice("github", report(*[ERROR] * 11))
    assert diagnostics.notice("github", report(*[ERROR] * 11)).startswith(
        "GitHub shows 10 annotations"
    )
