"""What configuration may say where a commit is made or a remote is reached."""

from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.git import remotes
from cpuplan.git import remotes as owns
from cpuplan.git.program import opened, run_as_user, users_paths
from cpuplan.git.remotes import Refused
from tests.git_projects import commit, git, write
from tests.hostile_git import CONFIG

#: Keys that name programs, or files that Git would write: all of them are of the user alone.
PROGRAMS = (
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultkeycommand", "core.sshcommand"),
    *("core.askpass", "credential.helper", "credential.https://x.example.helper"),
    *("core.gitproxy", "http.cookiefile", "http.savecookies", "http.sslverify", "hook.x.command"),
    *("remote.x.uploadpack", "remote.x.receivepack", "remote.x.vcs", "protocol.ext.allow"),
    *("core.hookspath", "core.fsmonitor", "core.alternaterefscommand", "trailer.x.cmd"),
    *("filter.x.clean", "diff.external", "merge.x.driver", "alias.x", "sequence.editor"),
)
VALUES = (
    *("user.name", "user.email", "user.signingkey", "commit.gpgsign", "gpg.format"),
    *("http.https://x.example/.extraheader", "http.proxy", "author.name", "committer.email"),
)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    write(tmp_path / "top", "a", "first\n")
    git(tmp_path / "top", "init", "-q")
    commit(tmp_path / "top", "first")
    return tmp_path / "top"


def _seen(top: Path) -> dict[str, str]:
    """What Git sees where it acts for the user."""
    with opened(top, writes=True) as repository:
        owns.prepare(repository)
        listed = run_as_user(repository, "config", "--global", "--list", "-z")
        return dict(part.split("\n", 1) for part in listed.parts)


@pytest.mark.parametrize("how", ["local", "worktree", "include"])
def test_a_repository_says_values_and_names_no_program(top: Path, tmp_path: Path, how: str) -> None:
    git(top, "config", "extensions.worktreeConfig", "true")
    place = [f"--{how}"] if how != "include" else ["--file", str(tmp_path / "more")]
    for key in (*PROGRAMS, *VALUES):
        git(top, "config", *place, key, 'a "value" of\\it')
    git(top, "config", "include.path", str(tmp_path / "more"))
    assert _seen(top) == dict.fromkeys(VALUES, 'a "value" of\\it')


def test_a_user_says_both(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    for key in ("gpg.program", "credential.helper", "core.sshcommand", "core.hookspath"):
        git(top, "config", "--file", str(own), key, "mine")
    git(top, "config", "--file", str(tmp_path / "more"), "user.name", "of this folder")
    git(top, "config", "--file", str(own), f"includeIf.gitdir:{top}/.path", str(tmp_path / "more"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.email")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "a@b")
    assert _seen(top) == {
        "gpg.program": "mine",
        "credential.helper": "mine",
        "core.sshcommand": "mine",
        "user.name": "of this folder",
        "user.email": "a@b",
    }


def test_every_program_of_the_hostile_configuration_is_left_out(top: Path) -> None:
    text = CONFIG.format(spy="/spy", hooks="/h", worktree=".", attributes="/a", canary="/c")
    with (top / ".git/config").open("a") as file:
        file.write(text.replace("[extensions]\n\tpartialClone = x\n", ""))
    assert _seen(top) == {}


def _url(top: Path, remote: str, *, pushes: bool = False) -> list[str]:
    with opened(top) as repository:
        return owns.urls(repository, owns.prepare(repository), remote, pushes=pushes)


def test_urls_of_remotes(top: Path, tmp_path: Path) -> None:
    git(top, "remote", "add", "origin", "short:a/b.git")
    git(top, "config", "url.https://git.example.com/.insteadOf", "short:")
    git(top, "config", "url.ssh://git@example.com/.pushInsteadOf", "short:a/")
    assert _url(top, "origin") == ["https://git.example.com/a/b.git"]
    assert _url(top, "origin", pushes=True) == ["ssh://git@example.com/b.git"]
    git(top, "config", "--add", "remote.origin.pushurl", "short:c")
    git(top, "config", "--add", "remote.origin.pushurl", "git@example.com:d")
    assert _url(top, "origin", pushes=True) == ["https://git.example.com/c", "git@example.com:d"]
    assert _url(top, "short:x") == ["https://git.example.com/x"]
    git(tmp_path, "init", "-q", "--bare", "beside")
    assert _url(top, "../beside") == [str(tmp_path / "beside")]
    assert _url(top, f"file://{tmp_path}/beside") == [f"file://{tmp_path}/beside"]


@pytest.mark.parametrize(
    "url",
    [
        *("ext::sh -c x", "ext://x", "fd::7", "git://example.com/x", "ftp://x/y", "x::y", "-x"),
        *("", "nowhere", "a", "../top", "../top/.git", "file://{top}/a", "file://{top}/%61"),
        *("../link", "https://x/\ny"),
    ],
)
@pytest.mark.parametrize("how", ["given", "configured", "rewritten"])
def test_remotes_that_are_not_asked(top: Path, tmp_path: Path, url: str, how: str) -> None:
    (tmp_path / "link").symlink_to(top / "a")
    url = url.format(top=top)
    if how == "configured" and url:
        git(top, "config", "remote.x.url", url)
    elif how == "rewritten" and url and "\n" not in url:  # Git has no such key
        git(top, "config", f"url.{url}.insteadOf", "short:")
    remote = {"given": url, "configured": "x", "rewritten": "short:"}[how]
    if not url or ("\n" in url and how == "rewritten"):
        remote = url
    with pytest.raises(Refused):
        _url(top, remote)
    with opened(top, writes=True) as repository, pytest.raises(CpuplanError, match="CP696"):
        remotes.push(repository, remote, "HEAD", "deploy")
    assert "refs/heads/deploy" not in git(top, "for-each-ref").stdout


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("HOME", ".gitconfig"),
        ("XDG_CONFIG_HOME", "git/config"),
        ("GIT_CONFIG_GLOBAL", ""),
        ("GIT_CONFIG_SYSTEM", ""),
    ],
)
def test_a_users_configuration_in_the_work_tree_is_none(
    top: Path, monkeypatch: pytest.MonkeyPatch, variable: str, file: str
) -> None:
    """Jobs have such homes, and a commit could put anything there."""
    place = top / "home"
    write(place, file or "config", "[gpg]\n\tprogram = evil\n[safe]\n\tdirectory = *\n")
    if not variable.startswith("GIT_"):
        monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.setenv(variable, str(place if file else place / "config"))
    assert "gpg.program" not in _seen(top)
    with opened(top) as repository:
        assert users_paths(repository, "safe.directory") == []
