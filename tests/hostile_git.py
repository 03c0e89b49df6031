"""Repositories whose configuration, attributes and objects try to start a program: the canary.

`spy` is a program that leaves a file when it runs, under whatever name Git would start it.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.git_projects import git, write

HOOKS = (
    *("reference-transaction", "pre-push", "post-checkout", "post-index-change", "pre-commit"),
    *("commit-msg", "post-commit", "pre-auto-gc", "fsmonitor-watchman", "post-update"),
    *("pre-receive", "update", "post-receive", "proc-receive", "push-to-checkout"),
)
CONFIG = """\
[core]
	repositoryformatversion = 1
	bare = false
	worktree = {worktree}
	fsmonitor = {spy}
	hooksPath = {hooks}
	sshCommand = {spy}
	askPass = {spy}
	pager = {spy}
	editor = {spy}
	gitProxy = {spy}
	attributesFile = {attributes}
	alternateRefsCommand = {spy}
[filter "x"]
	clean = {spy}; cat
	smudge = {spy}; cat
	process = {spy}
	required = true
[merge "x"]
	driver = {spy}; exit 0
[merge]
	default = x
[diff "x"]
	textconv = {spy}
	command = {spy}
[diff]
	external = {spy}
[gpg]
	program = {spy}
[gpg "ssh"]
	program = {spy}
	defaultKeyCommand = {spy}
[remote "x"]
	url = ext::{spy}
	promisor = true
	partialclonefilter = blob:none
	vcs = x
	uploadpack = {spy}
	receivepack = {spy}
[extensions]
	partialClone = x
[protocol "ext"]
	allow = always
[protocol]
	allow = always
[credential]
	helper = !{spy}
[uploadpack]
	packObjectsHook = {spy}
[trailer "x"]
	command = {spy}
	cmd = {spy}
[pager]
	log = {spy}
	config = {spy}
[submodule]
	recurse = true
[submodule "x"]
	update = !{spy}
[fetch]
	recurseSubmodules = true
[trace2]
	eventTarget = {canary}
"""
ATTRIBUTES = "* filter=x merge=x diff=x text ident\n"


def make_spy(place: Path) -> tuple[Path, Path]:
    """The program, and the file that it leaves."""
    spy, canary = place / "spy", place / "canary"
    spy.write_text(f"#!/bin/sh\ntouch {canary}\n")
    spy.chmod(0o755)
    return spy, canary


def poison(git_dir: Path, place: Path, worktree: str = ".", *, included: bool = False) -> None:
    """Let a repository name the spy wherever a program can be named."""
    spy, canary = place / "spy", place / "canary"
    hooks = place / "hooks"
    for folder in (hooks, git_dir / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(spy, folder / name)
    (place / "attributes").write_text(ATTRIBUTES)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text(ATTRIBUTES)
    text = CONFIG.format(
        spy=spy, canary=canary, hooks=hooks, worktree=worktree, attributes=place / "attributes"
    )
    if included:
        (place / "evil").write_text(text.replace("[extensions]\n\tpartialClone = x\n", ""))
        text = f"[include]\n\tpath = {place / 'evil'}\n"
    known = (git_dir / "config").read_text() if included or worktree == "own" else ""
    if worktree == "own":
        text = text.replace("\tworktree = own\n", "")
    (git_dir / "config").write_text(f"{known}{text}")


def embed(folder: Path, place: Path) -> None:
    """A repository in a folder, laid out so that a commit can hold it, with all that is there."""
    git(folder, "init", "-q", ".")
    git(folder, "add", "-Af", ".")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    poison(folder / ".git", place)
    for name in ("HEAD", "config", "objects", "refs", "index", "info"):
        shutil.move(folder / ".git" / name, folder / name)
    shutil.rmtree(folder / ".git")
    # Git has no empty folders.
    write(folder, "refs/heads/keep", (folder / "refs/heads/main").read_text())
    write(folder, "objects/info/keep", "")


def _embedded(name: str) -> Callable[[Path, Path], None]:
    def make(project: Path, place: Path) -> None:
        (project / name).mkdir(parents=True, exist_ok=True)
        embed(project / name, place)

    return make


def _dot_git(name: str) -> Callable[[Path, Path], None]:
    """The name `.git`, as an archive may have it."""

    def make(project: Path, place: Path) -> None:
        folder = project / name
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", ".")
        git(folder, "add", "-Af", ".")
        git(folder, "commit", "-qm", "x", "--allow-empty")
        poison(folder / ".git", place, "own")

    return make


def _gitfile(project: Path, place: Path) -> None:
    git(place, "init", "-q", "elsewhere")
    poison(place / "elsewhere/.git", place, "own")
    write(project, "out/.git", f"gitdir: {place / 'elsewhere/.git'}\n")


def _other_letters(project: Path, place: Path) -> None:
    _dot_git("inventories/a")(project, place)
    (project / "inventories/a/.git").rename(project / "inventories/a/.G\u200cIT")


#: Repositories in what cpuplan reads and writes: each is an error of every command.
NESTED: dict[str, Callable[[Path, Path], None]] = {
    "out": _embedded("out"),
    "inventories": _embedded("inventories"),
    "intents": _embedded("intents"),
    "below-inventories": _embedded("inventories/lab"),
    "below-pods": _embedded("pods/lab"),
    "below-out": _embedded("out/nodes"),
    "the-project": _embedded("."),
    "dot-git-in-out": _dot_git("out"),
    "dot-git-in-intents": _dot_git("intents/deep/er"),
    "gitfile-in-out": _gitfile,
    "other-letters": _other_letters,
}


def _config(project: Path, place: Path) -> None:
    poison(project / ".git", place, "own")


def _included(project: Path, place: Path) -> None:
    poison(project / ".git", place, "own", included=True)


def _of_the_work_tree(project: Path, place: Path) -> None:
    git(project, "config", "extensions.worktreeConfig", "true")
    poison(project / ".git", place, "own")
    shutil.move(project / ".git/config", project / ".git/config.worktree")
    text = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"
    (project / ".git/config").write_text(text)


def _attributes_of_the_tree(project: Path, place: Path) -> None:
    for folder in (".", "out", "intents", "inventories"):
        path = project / "clusters" / folder / ".gitattributes"
        text = path.read_text() if path.exists() else ""
        if folder != "out":
            path.write_text(text + ATTRIBUTES)
    _config(project, place)


def _beside(project: Path, place: Path) -> None:
    """Other folders of the project may be repositories: nothing of cpuplan starts Git there."""
    _embedded("docs")(project, place)


def _linked(project: Path, place: Path) -> None:
    _beside(project, place)
    os.symlink("../docs", project / "pods")


#: Repositories that are the project's own, as an archive may bring them: they are used as data.
OWN: dict[str, Callable[[Path, Path], None]] = {
    "config": _config,
    "include": _included,
    "config-worktree": _of_the_work_tree,
    "attributes": _attributes_of_the_tree,
    "beside": _beside,
}
