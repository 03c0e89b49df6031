"""The architecture page, the folders and the import contracts say the same."""

import re
import tomllib

from tests.projects import REPOSITORY

PACKAGE = REPOSITORY / "cpuplan"
PAGE = (REPOSITORY / "docs/architecture.md").read_text()


def floors_of_the_page() -> list[list[str]]:
    table = PAGE.partition("| floor |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE)
    return [sorted(re.findall(r"`(\w+)`", row)) for row in rows]


def floors_of_the_contract() -> list[list[str]]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [sorted(layer.split(" | ")) for layer in layers]


def test_the_page_has_the_floors_of_the_contract() -> None:
    assert floors_of_the_page() == floors_of_the_contract()


#: Modules whose data runs code where it is read, or makes whatever it names.
_ACTING = re.compile(
    r"\b(?:import|from) (?:pickle|_pickle|marshal|shelve|dill|cloudpickle|joblib|jsonpickle)\b"
)
#: Who needs one all the same, and why.
_MAY_ACT = {
    "workers/executors.py": "sends work to workers that run what they get; they read it",
}


def test_nothing_that_is_read_can_act() -> None:
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if _ACTING.search(path.read_text())
    }
    assert users == _MAY_ACT.keys()
    source = (PACKAGE / "workers/executors.py").read_text()
    assert source.count("pickle.loads") == 1
    _, _, on_a_worker = source.partition("def do(")
    assert "pickle.loads" in on_a_worker


def test_every_place_on_the_page_exists() -> None:
    places = set(re.findall(r"`((?:\w+/)+|(?:\w+/)*\w+\.py)`", PAGE))
    assert len(places) > 40
    missing = [
        place
        for place in places
        if not ((PACKAGE / place).exists() or (REPOSITORY / place).exists())
    ]
    assert not sorted(missing)


def test_every_decision_is_on_the_page_in_its_order() -> None:
    files = sorted((REPOSITORY / "docs/decisions").iterdir())
    titles = {file.name: file.read_text().partition("\n")[0] for file in files}
    listed = re.findall(r"^\* \[(.*)\]\(decisions/(.*)\)$", PAGE, re.MULTILINE)
    expected = [(f"# {number}. {title}", name) for number, (title, name) in enumerate(listed, 1)]
    assert [(title, name) for name, title in titles.items()] == expected
    assert all(name.startswith(f"{number:04d}-") for number, name in enumerate(titles, 1))


def test_every_place_in_a_decision_exists() -> None:
    texts = "".join(file.read_text() for file in (REPOSITORY / "docs/decisions").iterdir())
    places = set(re.findall(r"`(cpuplan/[\w/.]+)`", texts))
    assert len(places) > 20
    assert sorted(place for place in places if not (REPOSITORY / place).exists()) == []
