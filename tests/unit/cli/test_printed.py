"""`compile --stdout`, as the plugin of Argo CD runs it."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from cpuplan.cli.compilation import PARAMETERS
from tests.git_projects import cpuplan
from tests.projects import REPOSITORY, run_in

CASES = REPOSITORY / "tests" / "cases"


@pytest.fixture
def case() -> str:
    """A project with hosted clusters, unless a test says another one."""
    return "hosted-clusters"


@pytest.fixture
def compiled(case: str, tmp_path: Path) -> Path:
    """The project with its `out/`."""
    folder = tmp_path / "compiled"
    shutil.copytree(CASES / case, folder)
    assert cpuplan(folder, "compile", "-q") == 0
    return folder


@pytest.fixture
def project(compiled: Path, tmp_path: Path) -> Path:
    """A copy of its inputs and its lock: `out/` is not committed."""
    target = tmp_path / "project"
    shutil.copytree(compiled, target, ignore=shutil.ignore_patterns("out"))
    return target


def files(folder: Path) -> list[Path]:
    paths = sorted((folder / "manifests").glob("*.yaml"))
    return [path for path in paths if path.name != "kustomization.yaml"]


def parameters(**given: str) -> str:
    return json.dumps([{"name": name, "string": value} for name, value in given.items()])


def clusters(compiled: Path) -> list[str]:
    return sorted(path.name for path in (compiled / "out" / "clusters").iterdir())


@pytest.mark.parametrize(("case", "hosting"), [("hosted-clusters", "true"), ("telco-du", "false")])
def test_the_objects_are_those_of_out(
    compiled: Path,
    project: Path,
    hosting: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = sorted(project.rglob("*"))
    seen = 0
    for cluster in clusters(compiled):
        monkeypatch.setenv(PARAMETERS, parameters(cluster=cluster, hosting=hosting))
        code, out, _ = run_in(project, ["compile", "--stdout"], capfd)
        assert code == 0
        folder = compiled / "out" / "clusters" / cluster
        expected = files(folder / "hosting" if hosting == "true" else folder)
        assert list(yaml.safe_load_all(out)) == [
            yaml.safe_load(path.read_text()) for path in expected
        ]
        seen += len(expected)
    assert seen
    assert sorted(project.rglob("*")) == before


def test_options_say_the_same_as_parameters(
    compiled: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cluster = clusters(compiled)[0]
    monkeypatch.setenv(PARAMETERS, parameters(cluster=cluster, hosting="true"))
    by_parameter = run_in(project, ["compile", "--stdout"], capfd)[1]
    monkeypatch.delenv(PARAMETERS)
    words = ["compile", "--stdout", "--hosting", "--cluster", cluster]
    assert run_in(project, words, capfd)[1] == by_parameter != ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{", "is not a list of parameters"),
        ("{}", "exactly one cluster"),
        ('[{"name": "cluster"}]', "is not a list of parameters"),
        ('["cluster"]', "is not a list of parameters"),
        ('[{"name": "clustr", "string": "x"}]', "unknown parameter clustr"),
        ('[{"name": "cluster", "string": "nowhere"}]', "--cluster nowhere matches nothing"),
        ("", "exactly one cluster"),
    ],
)
def test_wrong_parameters_print_nothing(
    project: Path,
    given: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(PARAMETERS, given)
    code, out, error = run_in(project, ["compile", "--stdout"], capfd)
    assert code == 2
    assert out == ""
    assert message in error


def test_a_lock_that_would_change_is_an_error(
    compiled: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lock = project / "intents" / "plan.lock.yaml"
    lock.unlink()
    words = ["compile", "--stdout", "--cluster", clusters(compiled)[0]]
    code, out, error = run_in(project, words, capfd)
    assert (code, out) == (2, "")
    assert "CP679" in error
    assert not lock.exists()


@pytest.mark.parametrize("case", ["koordinator"])
def test_topologies_are_printed_for_each_node(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    site = project / "inventories/site.yaml"
    site.write_text(site.read_text().replace("name: worker-0", "name: worker-[0-2]"))
    words = ["compile", "--stdout", "--topologies"]
    code, out, _ = run_in(project, words, capfd)
    printed = list(yaml.safe_load_all(out))
    assert code == 0
    nodes = [topology["metadata"]["name"] for topology in printed]
    assert nodes == ["worker-0", "worker-1", "worker-2"]
    assert {topology["kind"] for topology in printed} == {"NodeResourceTopology"}
    assert printed[0]["zones"] == printed[1]["zones"]
    code, out, _ = run_in(project, [*words, "--node", nodes[1]], capfd)
    assert (code, list(yaml.safe_load_all(out))) == (0, [printed[1]])
    assert run_in(project, [*words, "--node", "nobody"], capfd)[:2] == (2, "")
    assert run_in(project, ["compile", "--topologies"], capfd)[:2] == (2, "")


def test_topologies_of_a_paused_class_are_those_that_stay(
    compiled: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "--stdout", "--topologies", "--cluster", clusters(compiled)[0]]
    before = run_in(compiled, words, capfd)
    for intent in (compiled / "intents").glob("*.yaml"):
        intent.write_text(intent.read_text().replace("\nspec:", "\nspec:\n  paused: true"))
    assert run_in(compiled, words, capfd)[:2] == before[:2]
    assert run_in(compiled, ["compile"], capfd)[0] == 0
    assert run_in(compiled, words, capfd)[:2] == before[:2]


@pytest.mark.parametrize("word", ["--check", "--force", "--resolve", "--prune", "--node=x"])
def test_options_of_writing_are_refused(
    project: Path, word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_in(project, ["compile", "--stdout", word], capfd)
    assert (code, out) == (2, "")


def test_an_error_of_the_inputs_prints_nothing(
    compiled: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    intent = next((project / "intents").glob("*.yaml"))
    intent.write_text(intent.read_text() + "---\nkind: Nothing\n")
    words = ["compile", "--stdout", "--cluster", clusters(compiled)[0]]
    code, out, _ = run_in(project, words, capfd)
    assert code == 1
    assert out == ""


def test_the_plugin_runs_this_command() -> None:
    plugin = yaml.safe_load((REPOSITORY / "templates" / "argocd" / "plugin.yaml").read_text())
    assert plugin["spec"]["generate"]["command"] == ["cpuplan", "compile", "--stdout"]
    names = {parameter["name"] for parameter in plugin["spec"]["parameters"]["static"]}
    assert names == {"cluster", "hosting"}
