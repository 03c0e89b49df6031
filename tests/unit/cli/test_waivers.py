"""Warnings that somebody has looked at: waived by code and place, with a reason, until a day."""

import json
from pathlib import Path
from typing import Any

import pytest

from cpuplan.cli import output
from tests.projects import REJECTED, make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]
DAY = "2031-05-31"
#: The intent of this project selects nothing: CP225 at it, and CP221 at the nodes.
LAYER = REJECTED / "CP225-nothing-selected"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plain_environment(monkeypatch)
    on(monkeypatch, "2031-01-01")
    return make_project(tmp_path / "project", LAYER)


def on(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    monkeypatch.setattr(output, "today", lambda: day)


def waive(project: Path, *rules: tuple[str, str]) -> None:
    """Waive codes at places: `files:` before a pattern, else a document or a field."""
    rows = []
    for code, place in rules:
        key, _, pattern = place.partition("files:")
        where = f'files: "{pattern}"' if pattern else f"at: {key}"
        rows.append(f'  - {{code: {code}, {where}, reason: "change 47: 11", expires: "{DAY}"}}\n')
    head = (
        "apiVersion: cpuplan.io/v1alpha1\nkind: Waivers\nmetadata: {name: lab}\nspec:\n  waivers:\n"
    )
    (project / "intents/waivers.yaml").write_text(head + "".join(rows))


BOTH = (("CP225", "Intent/main"), ("CP221", "files:inventories/*.yaml"))


@pytest.mark.parametrize(
    "place",
    [
        "Intent/main",
        "Intent/main:spec",
        "Intent/main:spec.selector",
        "files:intents/main.yaml",
        "files:intents/*",
        "files:*.yaml",
    ],
)
def test_a_waived_warning_does_not_count(project: Path, capsys: Capture, place: str) -> None:
    assert run_in(project, ["validate", "--strict"], capsys)[0] == 1
    waive(project, ("CP225", place), BOTH[1])
    code, _, err = run_in(project, ["validate", "--strict"], capsys)
    assert (code, "CP225" in err) == (0, False)
    assert err.startswith("2 waived\n")
    code, _, err = run_in(project, ["validate", "--strict", "-v"], capsys)
    assert code == 0
    assert "warning[CP225]" in err
    assert f"  waived until {DAY}: change 47: 11\n  field: Intent/main:spec.selector\n" in err


@pytest.mark.parametrize(
    "place",
    [
        "Intent/other",
        "Intent/main:spec.select",
        "Intent/main:spec.pools",
        "files:intents",
        "files:main.yaml",
    ],
)
def test_a_waiver_for_another_place_is_told(project: Path, capsys: Capture, place: str) -> None:
    waive(project, ("CP225", place), BOTH[1])
    code, _, err = run_in(project, ["validate", "--strict"], capsys)
    assert code == 1
    assert "warning[CP225]" in err
    assert (
        f"note[CP296]: the waiver of CP225 for {place.removeprefix('files:')} matches nothing"
        in err
    )


def test_after_its_last_day_the_warning_counts_again(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waive(project, *BOTH)
    on(monkeypatch, DAY)
    assert run_in(project, ["validate", "--strict"], capsys)[0] == 0
    on(monkeypatch, "2031-06-01")
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 0
    assert f"warning[CP295]: the waiver of CP225 for Intent/main expired on {DAY}" in err
    assert "4 warnings" in err
    assert run_in(project, ["validate", "--strict"], capsys)[0] == 1
    code, out, _ = run_in(project, ["validate", "--format", "sarif"], capsys)
    assert not [result for result in sarif(out) if "suppressions" in result]


def sarif(text: str) -> list[Any]:
    results: list[Any] = json.loads(text)["runs"][0]["results"]
    return results


def test_waived_findings_in_every_format(project: Path, capsys: Capture) -> None:
    waive(project, *BOTH)
    results = sarif(run_in(project, ["validate", "--format", "sarif"], capsys)[1])
    why = {
        "kind": "external",
        "status": "accepted",
        "justification": f"change 47: 11 (until {DAY})",
    }
    assert [result["suppressions"] for result in results] == [[why], [why]]
    data = json.loads(run_in(project, ["validate", "--format", "json"], capsys)[1])
    assert (data["diagnostics"], data["summary"]["waived"], data["summary"]["warnings"]) == (
        [],
        2,
        0,
    )
    data = json.loads(run_in(project, ["validate", "--format", "json", "-v"], capsys)[1])
    assert [finding["waived"] for finding in data["diagnostics"]] == [
        {"reason": "change 47: 11", "expires": DAY}
    ] * 2
    out = run_in(project, ["validate", "--strict", "--format", "junit", "-v"], capsys)[1]
    assert 'tests="2" failures="0" errors="0" skipped="2"' in out
    out = run_in(project, ["validate", "--format", "github", "-v"], capsys)[1]
    assert out.count("::notice file=") == 2
    assert run_in(project, ["validate", "--format", "github"], capsys)[1] == ""
    assert json.loads(run_in(project, ["validate", "--format", "gitlab"], capsys)[1]) == []


def test_strict_compiling_writes_nothing(project: Path, capsys: Capture) -> None:
    code, _, err = run_in(project, ["compile", "--strict"], capsys)
    assert (code, (project / "out").exists(), (project / "intents/plan.lock.yaml").exists()) == (
        1,
        False,
        False,
    )
    assert "with --strict, warnings count as errors" in err
    assert run_in(project, ["compile", "--check", "--strict"], capsys)[0] == 1
    waive(project, *BOTH)
    assert run_in(project, ["compile", "--strict"], capsys)[0] == 0
    assert run_in(project, ["compile", "--strict"], capsys)[0] == 0
    assert run_in(project, ["compile", "--check", "--strict"], capsys)[0] == 0


def test_a_compiled_project_does_not_forget_its_warnings(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waive(project, *BOTH)
    assert run_in(project, ["compile"], capsys)[0] == 0
    before = {path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()}
    on(monkeypatch, "2031-06-01")
    assert run_in(project, ["compile", "--strict"], capsys)[0] == 1
    assert run_in(project, ["validate", "--strict"], capsys)[0] == 1
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert {
        path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()
    } == before


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            '{code: CP225, at: Intent/main, reason: x, expires: "2031-02-30"}',
            "a day of the calendar",
        ),
        (
            '{code: CP225, at: Intent/main, files: "*", reason: x, expires: "2031-02-01"}',
            "one of at and files",
        ),
        ('{code: CP225, reason: x, expires: "2031-02-01"}', "one of at and files"),
        (
            '{code: CP225, at: Intent/main, reason: " ", expires: "2031-02-01"}',
            "spec.waivers.0.reason",
        ),
        ("{code: CP225, at: Intent/main, reason: x}", "expires is missing"),
        ('{code: CP225, at: Intent/main, expires: "2031-02-01"}', "reason is missing"),
        ("{code: CP225, at: Intent/main, reason: x, expires: 2031-02-01}", "CP10"),
        ('{code: 225, at: Intent/main, reason: x, expires: "2031-02-01"}', "spec.waivers.0.code"),
    ],
)
def test_waivers_are_read_strictly(project: Path, capsys: Capture, rule: str, problem: str) -> None:
    waive(project)
    path = project / "intents/waivers.yaml"
    path.write_text(f"{path.read_text()}  - {rule}\n")
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 1
    assert problem in err


def test_errors_are_never_waived(project: Path, capsys: Capture) -> None:
    intent = project / "intents/main.yaml"
    intent.write_text(
        intent.read_text().replace("wroker", "worker").replace("cores: 1", "cores: 5")
    )
    waive(project, ("CP401", "Intent/main"))
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 1
    assert "error[CP401]" in err
    assert "error[CP294]: CP401 cannot be waived: it is an error" in err


def test_fingerprints_hold_when_lines_move_and_files_are_renamed(
    project: Path, capsys: Capture
) -> None:
    def prints() -> list[str]:
        results = sarif(run_in(project, ["validate", "--format", "sarif"], capsys)[1])
        names = [
            result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
            for result in results
        ]
        assert "Intent/main:spec.selector" in names
        return sorted(result["partialFingerprints"]["cpuplan/v2"] for result in results)

    before = prints()
    intent = project / "intents/main.yaml"
    intent.write_text(f"# a comment\n{intent.read_text()}")
    intent.rename(project / "intents/other.yaml")
    assert prints() == before


CLAIMS = REJECTED / "CP7201-limit-below-the-claim"


@pytest.mark.parametrize(
    ("code", "is_waived"), [("CP718", True), ("CP7201", True), ("CP7200", False)]
)
def test_a_waiver_of_a_code_that_was_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, code: str, *, is_waived: bool
) -> None:
    """It waives all that the code stood for; one of a new code waives that alone."""
    plain_environment(monkeypatch)
    on(monkeypatch, "2031-01-01")
    project = make_project(tmp_path / "project", CLAIMS)
    waive(project, (code, "files:claims.yaml"))
    _, _, err = run_in(project, ["simulate", "worker-0", "claims.yaml"], capsys)
    assert ("warning[CP7201]" in err, "1 waived" in err) == (not is_waived, is_waived)


def test_errors_of_a_divided_code_cannot_be_waived(project: Path, capsys: Capture) -> None:
    waive(project, *BOTH, ("CP872", "Intent/main"))
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 1
    assert "error[CP294]" in err
    assert "CP872" in err
    assert "it is an error" in err
