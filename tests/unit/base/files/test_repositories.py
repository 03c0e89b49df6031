"""What Git, on some file system, takes for a repository."""

from pathlib import Path

import pytest

from cpuplan.base import files

NAMES = (
    *(".git", ".GIT", ".Git", ".git ", ".git.", ".git. .", "git~1", "GIT~1", ".git:x"),
    ".g\u200cit",
)
OTHERS = (".gitignore", ".gitattributes", "git", ".github", "git~2", ".gitx", "g", ".", "ünï")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_a_repository(name: str) -> None:
    assert files.is_dot_git(name)


@pytest.mark.parametrize("name", OTHERS)
def test_names_of_others(name: str) -> None:
    assert not files.is_dot_git(name)


@pytest.mark.parametrize(
    ("names", "is_one"),
    [
        (["HEAD", "objects", "refs"], True),
        (["HEAD", "commondir"], True),
        (["head", "Objects", "REFS", "a"], True),
        (["HEAD", "objects"], False),
        (["objects", "refs"], False),
        ([], False),
    ],
)
def test_folders(names: list[str], is_one: bool) -> None:
    assert files.is_repository(names) is is_one


def test_links_are_not_followed(tmp_path: Path) -> None:
    for name in ("a/HEAD", "a/objects/x", "a/refs/x", "b/c/d/.git/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "b/link").symlink_to("../a")
    assert list(files.find_repositories(str(tmp_path / "b"))) == [str(tmp_path / "b/c/d/.git")]
    repositories = sorted(
        files.find_repositories(str(tmp_path / "a"), str(tmp_path / "b/c"), "/missing")
    )
    assert repositories == [str(tmp_path / "a"), str(tmp_path / "b/c/d/.git")]


def test_what_a_checkout_of_paths_would_have() -> None:
    paths = ["out/a/HEAD", "out/a/objects/x/y", "out/a/refs/z", "out/b", "c/.GIT/config", "refs/x"]
    assert files.repositories_among(paths) == ["c/.GIT", "out/a"]
    assert files.repositories_among(["HEAD", "objects/x", "refs/y"]) == [""]
