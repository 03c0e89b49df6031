"""Reports: formats, paths, files, and the options that hold for every command."""

import json
import os
import re
from contextlib import chdir
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

from cpuplan.cli.folders import Names, find_project
from cpuplan.cli.main import COMMANDS, cli, run
from cpuplan.render.diagnostics import FORMATS
from tests.projects import make_project, plain_environment, run_in
from tests.rejected_cases import around, cases, compile_first
from tests.sampled import spread

Capture = pytest.CaptureFixture[str]
MACHINE = [name for name in FORMATS if name != "text"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project with a mistake in its intent, in a folder whose name must be escaped."""
    project = make_project(tmp_path / "repo/site a%b")
    (tmp_path / "repo/.git").mkdir()
    intent = project / "intents/main.yaml"
    intent.write_text(intent.read_text().replace("cores: 1", "cores: x"))
    return tmp_path / "repo"


SHOWN = "site a%b/intents/main.yaml"
#: Said on standard error alone: the report is the same with and without a cache.
BESIDE_REPORTS = {"CP6120"}


def read(name: str, text: str) -> list[dict[str, Any]]:
    """The findings of a document, which must be whole: file, line and code of each."""
    if name == "json":
        return [
            _place(finding["file"], finding["line"], finding["code"])
            for finding in json.loads(text)["diagnostics"]
        ]
    if name == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        assert [row["type"] for row in rows].count("summary") == 1
        return [
            _place(row["file"], row["line"], row["code"])
            for row in rows
            if row["type"] == "finding"
        ]
    if name == "sarif":
        return [_of_sarif(result) for result in json.loads(text)["runs"][0]["results"]]
    if name == "gitlab":
        return [
            _place(
                finding["location"]["path"],
                finding["location"]["lines"]["begin"],
                finding["check_name"],
            )
            for finding in json.loads(text)
        ]
    if name == "junit":
        cases = list(ElementTree.fromstring(text).iter("testcase"))  # noqa: S314 - made here
        assert cases
        # Of a check, a case is a fact, or an error that kept it from being looked at; of other
        # commands, a finding.
        causes = [cause for case in cases for cause in case if cause.tag in ("failure", "error")]
        facts = [cause.get("type", "") for cause in causes]
        places = [
            _place(case.get("file"), int(case.get("line", 0)), case.get("name", "").split()[0])
            for case in cases
            if case.get("file")
        ]
        return places or [_place(None, 0, code) for code in facts]
    lines = re.findall(
        r"^::\w+ (?:file=(.*?),)?(?:line=(\d+),)?.*?title=(CP\d{3,4}).*$", text, re.MULTILINE
    )
    assert len(lines) == len(text.splitlines())
    return [_place(file.replace("%25", "%"), int(line or 0), code) for file, line, code in lines]


def _of_sarif(result: Any) -> dict[str, Any]:
    from urllib.parse import unquote

    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uriBaseId"] == "SRCROOT"
    return _place(
        unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"], result["ruleId"]
    )


def _place(file: Any, line: Any, code: str) -> dict[str, Any]:
    return {"file": file, "line": line, "code": code}


@pytest.mark.parametrize("name", MACHINE)
@pytest.mark.parametrize(
    ("folder", "arguments"),
    [
        (".", ["-C", "site a%b", "validate"]),
        (".", ["validate", "-C", "site a%b"]),
        ("site a%b", ["validate"]),
        ("site a%b/intents", ["validate"]),
        ("..", ["-C", "repo/site a%b", "compile", "--check"]),
        ("..", ["-C", "repo/site a%b", "compile"]),
    ],
)
def test_paths_are_those_of_the_repository(
    repository: Path, capsys: Capture, name: str, folder: str, arguments: list[str]
) -> None:
    code, out, _ = run_in(repository / folder, [*arguments, "--format", name], capsys)
    assert code == 1
    assert read(name, out) == [_place(SHOWN, 13, "CP203")]


def test_paths_of_text_too(repository: Path, capsys: Capture) -> None:
    for folder, arguments in (("site a%b/intents", []), (".", ["-C", "site a%b"])):
        err = run_in(repository / folder, [*arguments, "validate"], capsys)[2]
        assert f"\n  --> {SHOWN}:13:23\n  13 |     reserved: {{cores: x" in err


def test_on_a_terminal_paths_are_relative_to_its_user(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names(repository / "site a%b")
    monkeypatch.chdir(repository / "site a%b/inventories")
    assert names.from_here("intents/main.yaml") == "../intents/main.yaml"
    monkeypatch.chdir(repository.parent)
    assert names.from_here("intents/main.yaml") == str(repository / SHOWN)


def test_without_git_paths_are_those_of_the_project(tmp_path: Path) -> None:
    names = Names(make_project(tmp_path / "p"))
    assert names.in_repository("intents/main.yaml") == "intents/main.yaml"
    assert names.in_repository(str(tmp_path / "p/x/../intents/a.yaml")) == "intents/a.yaml"
    assert names.in_repository("/etc/x.yaml") == "/etc/x.yaml"
    os.symlink(tmp_path / "p", tmp_path / "link")
    assert (
        Names(tmp_path / "link").in_repository(str(tmp_path / "link/intents/a.yaml"))
        == "intents/a.yaml"
    )


@pytest.mark.parametrize("name", MACHINE)
@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["validate"], 0, []),
        (["compile"], 0, []),
        (["validate", "--nonsense"], 2, ["CP292"]),
        (["validat"], 2, ["CP292"]),
        (["-C", "nowhere", "validate"], 2, ["CP292"]),
        (["check", "worker-9", "--root", "."], 2, ["CP250"]),
        (["fmt", "--check"], 3, ["CP297", "CP297"]),
        (["fmt", "intents/none.yaml"], 2, ["CP292"]),
        (["compile", "--check"], 3, ["CP608", "CP608", "CP608", "CP620"]),
    ],
)
def test_there_is_always_a_document(
    tmp_path: Path, capsys: Capture, name: str, arguments: list[str], code: int, expected: list[str]
) -> None:
    project = make_project(tmp_path / "p")
    if arguments[0] == "check":
        run_in(project, ["compile"], capsys)
    ended, out, _ = run_in(project, [*arguments, "--format", name], capsys)
    assert ended == code
    codes = [finding["code"] for finding in read(name, out)]
    assert sorted(set(codes)) == sorted(set(expected))
    if expected == ["CP292"]:
        ended, _, _ = run_in(project, [*arguments, f"--format={name}", "-qo", "report"], capsys)
        assert [
            finding["code"] for finding in read(name, (project / "report").read_text())
        ] == expected


#: Whose findings have formats, one of each code; with --stdout, standard output is for objects.
CASES = list(
    {
        case.code: case
        for case in cases()
        if case.arguments[0] in ("validate", "compile", "fmt", "check")
        and "--stdout" not in case.arguments
    }.values()
)


# Six formats in turn and each fifth case: every format is among the plain ones.
@pytest.mark.parametrize(
    "number", spread(range(len(CASES)), 5), ids=lambda number: CASES[number].folder.name
)
def test_every_mistake_is_told_in_a_whole_document(
    number: int, tmp_path: Path, capsys: Capture
) -> None:
    """One format for each: all of them have their turn."""
    case, name = CASES[number], MACHINE[number % len(MACHINE)]
    project = make_project(tmp_path / "project", case.folder)
    compile_first(case, project)
    with around(case, project):
        code, out, _ = run_in(project, [*case.arguments, "--format", name], capsys)
    assert code == case.exit_code
    codes = {finding["code"] for finding in read(name, out)}
    assert (case.code in codes) is (case.code not in BESIDE_REPORTS)


def test_a_report_in_a_file(repository: Path, capsys: Capture) -> None:
    arguments = ["-C", "site a%b", "validate", "--format", "sarif", "-o", "reports/a.sarif"]
    code, out, err = run_in(repository, arguments, capsys)
    assert (code, out) == (1, "")
    assert "error[CP203]" in err
    assert len(read("sarif", (repository / "reports/a.sarif").read_text())) == 1
    assert run_in(repository, [*arguments, "-q"], capsys) == (1, "", "")
    (repository / "site a%b/intents/main.yaml").write_text("[\n")
    (repository / "a.sarif").mkdir()
    code, out, err = run_in(repository, [*arguments[:-1], "a.sarif", "-q"], capsys)
    assert (code, out) == (2, "")
    assert "is a directory" in err
    (repository / "file").touch()
    code, out, err = run_in(repository, [*arguments[:-1], "file/x", "-q"], capsys)
    assert (code, out) == (2, "")
    assert "error[CP607]" in err


@pytest.mark.parametrize("place", ["intents/main.yaml", "inventories/x/../new.sarif"])
def test_a_report_goes_over_no_document(repository: Path, capsys: Capture, place: str) -> None:
    project = repository / "site a%b"
    before = (project / "intents/main.yaml").read_bytes()
    code, out, err = run_in(project, ["validate", "--format", "json", "-o", place], capsys)
    assert (code, out) == (2, "")
    assert f"error[CP601]: {place} is among the documents of " in err
    assert (project / "intents/main.yaml").read_bytes() == before


def test_a_folder_that_was_removed(tmp_path: Path, capsys: Capture) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with chdir(gone):
        gone.rmdir()
        capsys.readouterr()
        assert run(["validate", "--format", "json"]) == 2
        assert [finding["code"] for finding in read("json", capsys.readouterr().out)] == ["CP607"]
        os.chdir(tmp_path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_the_same_bytes_from_everywhere(
    tmp_path: Path, capsys: Capture, name: str
) -> None:
    """Stale files, whose messages tell their paths, too."""
    project = make_project(tmp_path / "repo/p")
    (tmp_path / "repo/.git").mkdir()
    assert run_in(project, ["compile"], capsys)[0] == 0
    for path in (project / "out").rglob("*"):
        if path.is_file() and ".cpuplan" not in path.parts:
            path.unlink()
    names = set()
    for folder, arguments in (
        ("repo", ["-C", "p"]),
        ("repo/p", []),
        ("repo/p/intents", []),
        (".", ["-C", "repo/p"]),
    ):
        words = [*arguments, "compile", "--check", "--format", name, "-q"]
        code, out, err = run_in(tmp_path / folder, words, capsys)
        assert code == 3
        names.add(out or err)
    assert len(names) == 1
    assert "p/out/clusters/lab" in names.pop()


def test_text_in_a_file(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "p")
    assert run_in(project, ["validate", "-o", "found.txt", "--color", "always"], capsys)[0] == 0
    assert (project / "found.txt").read_text() == ""
    assert (
        run_in(project, ["fmt", "--check", "-o", "found.txt", "--color", "always"], capsys)[0] == 3
    )
    assert (project / "found.txt").read_text().startswith("error[CP297]")


def test_quiet(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "p")
    assert run_in(project, ["-q", "validate"], capsys) == (0, "", "")
    assert run_in(project, ["compile", "-q"], capsys) == (0, "", "")
    code, _, err = run_in(project, ["-q", "validate", "-v"], capsys)
    assert (code, "-q and -v cannot be used together" in err) == (2, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_options_of_all(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command
    for _ in range(2):
        taken = [option for parameter in command.params for option in parameter.opts]
        assert len(taken) == len(set(taken))
        assert {"-C", "--color", "-q", "--quiet", "-v", "--verbose"} <= set(taken)
        command = cli.get_command(click.Context(cli), name)
        assert command


def test_what_is_said_last_holds(tmp_path: Path, capsys: Capture) -> None:
    make_project(tmp_path / "p")
    (tmp_path / "q").mkdir()
    code, out, _ = run_in(
        tmp_path,
        ["-C", "q", "--color", "never", "show", "worker-0", "-C", "p", "--color", "always"],
        capsys,
    )
    assert code == 0
    assert "\x1b" in out


@pytest.mark.parametrize("below", ["intents", "out/x/y", "inventories/a"])
def test_the_project_is_found_from_a_folder_in_it(
    tmp_path: Path, capsys: Capture, below: str
) -> None:
    project = make_project(tmp_path / "repo/p")
    (project / below).mkdir(parents=True, exist_ok=True)
    code, _, err = run_in(project / below, ["validate"], capsys)
    up = "/".join([".."] * (below.count("/") + 1))
    assert (code, err) == (0, f"project: {up}\nvalid: 2 nodes in 1 class, each with a layout\n")


@pytest.mark.parametrize("edge", ["git", "home"])
def test_no_project_is_found_beyond_the_repository_and_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edge: str
) -> None:
    make_project(tmp_path / "p")
    inside = tmp_path / "p/user/work"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert find_project() == Path("../..")
    if edge == "git":
        (inside.parent / ".git").write_text("gitdir: elsewhere\n")  # a work tree or a submodule
    else:
        monkeypatch.setenv("HOME", str(inside.parent))
    assert find_project() == Path()


def test_init_never_goes_to_a_project_above(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "p")
    (project / "new").mkdir()
    assert run_in(project / "new", ["init"], capsys)[0] == 0
    assert (project / "new/intents/example.yaml").exists()


def test_stale_files_are_told_by_class_and_cluster(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "p")
    site = project / "inventories/site.yaml"
    site.write_text(site.read_text().replace("worker-[0-1]", "worker-[000-299]"))
    intent = project / "intents/main.yaml"
    intent.write_text(intent.read_text().replace('"1.33"', '"1.33"\n    mechanism: koordinator'))
    assert run_in(project, ["compile"], capsys)[0] == 0
    for path in (project / "out").rglob("*"):
        if path.is_file() and ".cpuplan" not in path.parts:
            path.unlink()
    code, _, err = run_in(project, ["compile", "--check"], capsys)
    assert code == 3
    assert (
        "error[CP608]: out/clusters/lab/manifests (301 files: "
        "20-node-worker-000.yaml, 20-node-worker-001.yaml, 20-node-worker-002.yaml "
        "and 298 more) is missing\n  help:"
    ) in err
    assert err.count("CP608]") < 20
    code, _, err = run_in(project, ["compile", "--check", "-v"], capsys)
    assert all(
        f"error[CP608]: out/clusters/lab/manifests/20-node-worker-{n:03}.yaml is missing" in err
        for n in range(300)
    )
    data = json.loads(run_in(project, ["compile", "--check", "--format", "json"], capsys)[1])
    assert [
        finding["count"]
        for finding in data["diagnostics"]
        if finding["file"] == "out/clusters/lab/manifests"
    ] == [301]
    sarif = json.loads(run_in(project, ["compile", "--check", "--format", "sarif"], capsys)[1])
    results = sarif["runs"][0]["results"]
    assert [
        result["occurrenceCount"]
        for result in results
        if "lab/manifests" in result["message"]["text"]
    ] == [301]
