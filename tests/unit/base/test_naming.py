"""Names of what becomes files and objects."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cpuplan
from cpuplan.base import naming
from cpuplan.base.naming import is_subdomain, name_from, problem_of
from cpuplan.diagnostics.codes import CODES
from cpuplan.importers.base import node_name
from cpuplan.language.model.base import name_form
from cpuplan.language.model.inventory import NodesSpec
from cpuplan.write.tree import stage_of
from tests import named_cases
from tests.projects import REPOSITORY, make_project, plain_environment, run_in

GOOD = [
    "a",
    "0",
    "worker-0",
    "w.a.b",
    "worker-0.lab.example.com",
    "a--b",
    "console",
    "com",
    "com10",
    "com0-1",
    "nul1",
]
BAD = [
    "", "W", "w\n", "w\r\n", " w", "w\t", "a..b", "a.-b", "a-.b", "-a", "a-", ".a", "a.", "..",
    "a/b", "a\\b", "ä", "a_b", "con", "prn", "aux", "nul", "com0", "com9", "lpt0", "lpt9",
    "con.lab", "nul.a.b", "a\0", "w\u2028", "x" * 254,
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_names(name: str) -> None:
    assert problem_of(name) == ""


@pytest.mark.parametrize("name", BAD)
def test_no_names(name: str) -> None:
    assert problem_of(name)
    assert problem_of(name, naming.LONGEST_NODE)


def test_labels_have_no_dots() -> None:
    assert (
        problem_of("a.b", dots=False) == "has '.', which is not a lower-case letter, digit or dash"
    )
    assert problem_of("a-b", dots=False) == ""
    assert problem_of("a" * 64, naming.LONGEST_LABEL, dots=False)


near = st.text(alphabet="abcnoulpx0.-\nA", max_size=8)


@given(st.one_of(near, st.sampled_from(BAD), st.from_regex(naming.NAME_PATTERN)))
def test_editors_know_the_rule(name: str) -> None:
    """But for a line end, which Python's `$` takes for the end, and that of JavaScript does not."""
    known = jsonschema.Draft7Validator(name_form(naming.LONGEST_NAME)).is_valid(name)
    assert known == (not problem_of(name)) or name.endswith("\n")


@given(near)
def test_the_api_server_takes_every_name(name: str) -> None:
    assert is_subdomain(name) or problem_of(name)


@given(st.one_of(near, st.text()), st.booleans())
def test_a_name_is_made_of_anything(text: str, dots: bool) -> None:
    made = name_from(text, "host", 20, dots=dots)
    assert problem_of(made, 20, dots=dots) == ""
    if not problem_of(text, 20, dots=dots):
        assert made == text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a..b.json", "a.b"),
        ("con.lab.json", "host-con.lab"),
        ("nul.txt", "host-nul"),
        ("x" * 300 + ".json", "x" * 250),
    ],
)
def test_nodes_called_after_files(path: str, name: str) -> None:
    assert node_name(Path("/tmp", path)) == name


@pytest.mark.parametrize("value", ["lab\n", "con", "a.b", "", 7])
def test_fields_of_documents(value: object) -> None:
    from pydantic_core import ValidationError

    nodes = [{"name": "worker-0"}]
    assert NodesSpec.model_validate({"cluster": "lab", "nodes": nodes}).cluster == "lab"
    with pytest.raises(ValidationError):
        NodesSpec.model_validate({"cluster": value, "nodes": nodes})


def test_the_longest_names_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of the greatest lengths that are taken make files and objects that are taken."""
    plain_environment(monkeypatch)
    project = make_project(tmp_path / "project")
    node = ".".join(["n" * 50] * 5)[:250].strip(".")
    node += "n" * (naming.LONGEST_NODE - len(node))
    intent = "i" * (naming.LONGEST_NAME - len("-small"))
    inventory, main = project / "inventories/site.yaml", project / "intents/main.yaml"
    text = (
        inventory.read_text()
        .replace("worker-[0-1]", node)
        .replace("role: worker", "role: worker, pool: x")
    )
    inventory.write_text(text.replace("cluster: lab", f"cluster: {'c' * 63}"))
    for mode in "mco", "performanceProfile":
        target = f'platform: openshift\n    mode: {mode}\n    pool: {"p" * 63}\n    version: "4.20"'
        old = 'platform: kubernetes\n    version: "1.33"'
        spec = (make_project(tmp_path / mode) / "intents/main.yaml").read_text()
        assert old in spec
        main.write_text(spec.replace(old, target).replace("name: main", f"name: {intent}"))
        code, _, err = run_in(project, ["compile"], capsys)
        assert code == 0, err
        paths = list((project / "out").rglob("*"))
        assert max(len(path.name) for path in paths) <= naming.LONGEST_FILE
        objects = [path.read_text() for path in paths if path.suffix == ".yaml"]
        names = [
            name
            for text in objects
            for name in re.findall(r"^ +-? *name: (\S+)$", text, re.MULTILINE)
        ]
        assert max(map(len, names)) <= naming.LONGEST_OBJECT
    main.write_text(main.read_text().replace(intent, intent + "i"))
    code, _, err = run_in(project, ["validate"], capsys)
    assert code == 1
    assert "CP234" in err


def test_what_stands_around_names() -> None:
    longest = "n" * naming.LONGEST_NAME
    assert len(stage_of(Path(f"hardware-{longest}.yaml")).folder.name) <= naming.LONGEST_FILE


def test_a_dollar_is_no_end() -> None:
    r"""Python's `$` also matches before a line end: `\Z` or a full match is the end."""
    for module in sources():
        loaded = importlib.import_module(module.name)
        names = {
            name
            for name, value in vars(loaded).items()
            if isinstance(value, re.Pattern) and has_dollar(value)
        }
        text = Path(str(loaded.__file__)).read_text()
        if not names and "import re" not in text:
            continue  # nothing below can be a use of a pattern, and parsing takes most of the time
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=value, attr="match" | "search" | "sub" | "split"),
                    args=args,
                ):
                    used = ast.unparse(value)
                    assert used not in names, f"{module.name}:{node.lineno}: {used}"
                    if (
                        used == "re"
                        and isinstance(args[0], ast.Constant)
                        and "MULTILINE" not in ast.unparse(node)
                    ):
                        assert not has_dollar(re.compile(str(args[0].value))), (
                            f"{module.name}:{node.lineno}"
                        )


def has_dollar(pattern: re.Pattern[str]) -> bool:
    """Whether it has a `$` that is not meant for ends of lines."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    bare = re.sub(r"\\.|\[(\\.|[^\]])*\]", "", text)
    return "$" in bare and not pattern.flags & re.MULTILINE


def sources() -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.walk_packages(cpuplan.__path__, "cpuplan.")


def test_every_file_can_be_checked_out_on_windows() -> None:
    paths = {path for name in named_cases.CASES for path in named_cases.compiled(name).files}
    paths |= {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "out").rglob("*")}
    assert len(paths) > 200
    for part in {part for path in paths for part in path.split("/")}:
        assert not re.search(r'[<>:"|?*\\\x00-\x1f]|[. ]\Z', part), part
        assert not re.match(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|\Z)", part, re.IGNORECASE), (
            part
        )


def test_the_documents_tell_the_lengths() -> None:
    for text in (REPOSITORY / "docs/inventory.md").read_text(), CODES["CP207"].about:
        numbers = {int(number) for number in re.findall("[0-9]+", text)}
        assert {naming.LONGEST_NAME, naming.LONGEST_NODE, naming.LONGEST_LABEL} <= numbers
