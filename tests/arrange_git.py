"""What cases of `tests/rejected/` need of Git: commits have the same names everywhere."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.git_projects import ENVIRONMENT

Step = Callable[[Path], object]
#: So that a commit has the same name whenever it is made.
_WHEN = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def _git(*words: str) -> Step:
    def run(project: Path) -> None:
        command = ["git", "-c", "init.defaultBranch=main", *words]
        environment = {**ENVIRONMENT, **_WHEN}
        subprocess.run(command, cwd=project, env=environment, capture_output=True, check=True)

    return run


def _write(path: str, text: str) -> Step:
    def write(project: Path) -> None:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)

    return write


def _replace(path: str, old: str, new: str) -> Step:
    def replace(project: Path) -> None:
        text = (project / path).read_text()
        assert old in text, text
        (project / path).write_text(text.replace(old, new, 1))

    return replace


def _append(path: str, text: str) -> Step:
    def append(project: Path) -> None:
        with (project / path).open("a") as file:
            file.write(text)

    return append


def _zeros(path: str, size: int) -> Step:
    """A file that is large, and small in Git."""

    def write(project: Path) -> None:
        with (project / path).open("wb") as file:
            file.truncate(size)

    return write


_INIT = (_git("init", "-q"), _git("config", "user.name", "a"), _git("config", "user.email", "a@b"))
_COMMIT = (_git("add", "-A"), _git("commit", "-q", "-m", "all"))
_REPOSITORY = (*_INIT, *_COMMIT)
#: Repositories that need nothing compiled.
BEFORE: dict[str, tuple[Step, ...]] = {
    "CP1110-bare": (
        _write("inventories/lab/HEAD", "ref: refs/heads/main\n"),
        _write("inventories/lab/objects/info/keep", ""),
        _write("inventories/lab/refs/heads/keep", ""),
    ),
    "CP6110-zeros": (
        *_INIT,
        _zeros("intents/notes.yaml", 65 * 1024 * 1024),
        *_COMMIT,
        _git("rm", "-q", "intents/notes.yaml"),
    ),
    "CP6111-tag": (*_REPOSITORY, _git("tag", "main")),
    "CP688-moved": (_write(".git", "gitdir: elsewhere\n"),),
    "CP689-not-fetched": _REPOSITORY,
    "CP690-two-roots": (
        *_REPOSITORY,
        _git("checkout", "-q", "--orphan", "imported"),
        _git("commit", "-q", "-m", "imported"),
    ),
    "CP698-one-line": (
        *_REPOSITORY,
        _git("checkout", "-q", "-b", "change"),
        _append("intents/main.yaml", "  objective: [canonical]\n"),
        _git("commit", "-q", "-a", "-m", "ours"),
        _git("checkout", "-q", "main"),
        _append("intents/main.yaml", "  paused: false\n"),
        _git("commit", "-q", "-a", "-m", "theirs"),
        _git("checkout", "-q", "change"),
    ),
}
#: After the project was compiled.
AFTER: dict[str, tuple[Step, ...]] = {
    "CP6115-edited-in-the-branch": (
        *_REPOSITORY,
        _git("checkout", "-q", "-b", "change"),
        _replace("intents/main.yaml", "spec:\n", "spec:\n  paused: true\n"),
        _replace("out/nodes/lab/main-small/cmdline", "irqaffinity=0,4", "irqaffinity=0,5"),
    ),
    "CP691-checked-out": _REPOSITORY,
    "CP692-not-committed": (*_REPOSITORY, _append("intents/main.yaml", "# a comment\n")),
    "CP693-no-name": (*_REPOSITORY, _git("config", "user.name", "")),
    "CP694-no-key": (
        *_REPOSITORY,
        _git("config", "commit.gpgsign", "true"),
        _git("config", "gpg.format", "ssh"),
    ),
    "CP695-lock": (*_REPOSITORY, _write(".git/refs/heads/deploy.lock", "")),
    "CP696-no-remote": _REPOSITORY,
    "CP697-folder": (
        *_INIT,
        _write("note", "of others\n"),
        _git("update-index", "--add", "note"),
        _git("commit", "-q", "-m", "a file called out"),
        _git("mv", "note", "out.note"),
        _git("branch", "-q", "-m", "deploy"),
        _git("commit", "-q", "--amend", "-m", "theirs"),
        _git("checkout", "-q", "-b", "main"),
        *_COMMIT,
    ),
    "CP699-foreign": (_write("out/README", "of others\n"),),
}
