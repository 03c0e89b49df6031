"""`cpuplan publish` in real repositories: nothing is lost, and nothing moves unseen."""

import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from cpuplan.git import commits, program
from cpuplan.git.program import opened
from cpuplan.gitops import publishing
from tests.git_projects import (
    add_class,
    commit,
    cpuplan,
    edit,
    git,
    repository,
    write,
)
from tests.projects import run_in

PUBLISH = ("publish", "--branch", "deploy")
INTENT = "intents/core.yaml"
CMDLINE = "out/nodes/lab/core-core-hw/cmdline"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = repository(tmp_path_factory.mktemp("publish") / "project")
    git(project, "config", "user.name", "Somebody")
    git(project, "config", "user.email", "somebody@example.com")
    return project


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


@pytest.fixture
def project(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "project", symlinks=True))


def _run(project: Path, *words: str) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    told = io.StringIO()
    with redirect_stderr(told), redirect_stdout(told):
        code = cpuplan(project, *words)
    return code, told.getvalue()


def _publish(project: Path, *words: str) -> str:
    code, told = _run(project, *PUBLISH, *words)
    assert code == 0, told
    return told


def _refused(project: Path, code: str, *words: str) -> str:
    """What is told by a run that publishes nothing."""
    before = _refs(project)
    exit_code, told = _run(project, *PUBLISH, *words)
    assert exit_code != 0
    assert f"[{code}]" in told, told
    assert _refs(project) == before
    return told


def _refs(project: Path) -> str:
    return git(project, "for-each-ref").stdout


def _text(project: Path, path: str, ref: str = "deploy") -> str:
    return git(project, "show", f"{ref}:{path}").stdout


def _names(project: Path, ref: str = "deploy") -> list[str]:
    listed = git(project, "ls-tree", "-rz", "--name-only", ref).stdout
    return [name for name in listed.split("\0") if name]


def _change(project: Path) -> None:
    """Another layout, compiled and committed."""
    edit(project, INTENT, "reserved: {cores: 2}", "reserved: {cores: 3}")
    with redirect_stderr(io.StringIO()):
        assert cpuplan(project, "compile") == 0
    commit(project, "three cores")


def _on_branch(project: Path, message: str, path: str, text: str | None) -> None:
    """A commit of somebody else on the branch; without a text, the file is removed."""
    other = project.parent / "other"
    git(project, "worktree", "add", "-q", str(other), "deploy")
    if text is None:
        (other / path).unlink()
    else:
        write(other, path, text)
    commit(other, message)
    git(project, "worktree", "remove", "--force", str(other))


def test_a_commit_says_what_changes_and_where_it_comes_from(project: Path) -> None:
    _publish(project)
    _change(project)
    told = _publish(project)
    message = git(project, "log", "-1", "--format=%B", "deploy").stdout
    inputs = git(project, "rev-parse", "HEAD").stdout.strip()
    assert message.startswith("cpuplan: changes for lab\n\n")
    assert "* lab/core-core-hw: CPUs 2,18 move from isolated to reserved\n* 11 files" in message
    assert f"\n\nCpuplan-Folder: out\nCpuplan-Inputs-Commit: {inputs}\n" in message
    assert "lab/core-core-hw: CPUs 2,18 move" in told
    assert git(project, "rev-list", "--count", "deploy").stdout == "2\n"
    published = {name for name in _names(project) if "provenance" not in name}
    assert published == {name for name in _names(project, "HEAD") if name.startswith("out/")}


def test_the_result_is_the_commit_or_the_findings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_in(project, list(PUBLISH), capsys)
    assert (code, out) == (0, f"deploy {git(project, 'rev-parse', 'deploy').stdout}")
    code, out, _ = run_in(project, ["publish", "--branch", "json", "--format", "json"], capsys)
    assert (code, json.loads(out)["diagnostics"]) == (0, [])


def test_index_and_work_tree_stay_as_they_are(project: Path) -> None:
    (project / "README").write_text("staged\n")
    git(project, "add", "README")
    (project / "README").write_text("changed again\n")
    index = (project / ".git/index").read_bytes()
    head = git(project, "rev-parse", "HEAD").stdout
    _publish(project)
    assert (project / ".git/index").read_bytes() == index
    assert (project / "README").read_text() == "changed again\n"
    assert git(project, "rev-parse", "HEAD").stdout == head
    assert git(project, "fsck", "--strict").returncode == 0


def test_nothing_is_done_when_nothing_changed(project: Path) -> None:
    _publish(project)
    before = git(project, "rev-parse", "deploy").stdout
    assert "nothing has changed" in _publish(project)
    # Another input, the same files: what the statement says is still true.
    edit(project, INTENT, "kind: Intent", "kind: Intent # of the packet core")
    commit(project, "a comment")
    assert "nothing has changed" in _publish(project)
    assert git(project, "rev-parse", "deploy").stdout == before


def test_files_of_others_stay_with_modes_links_and_names(project: Path) -> None:
    git(project, "checkout", "-q", "--orphan", "deploy")
    git(project, "rm", "-rqf", "--cached", ".")
    other = project / "theirs"
    write(project, 'theirs/ünï "x\t\\', "odd\n")
    write(project, "theirs/run", "#!/bin/sh\n")
    (other / "run").chmod(0o755)
    os.symlink("run", other / "link")
    git(project, "add", "theirs")
    head = git(project, "rev-parse", "main").stdout.strip()
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{head},theirs/part")
    git(project, "commit", "-qm", "theirs")
    git(project, "checkout", "-qf", "main")
    _on_branch(project, "a note", "out/README", "ours\n")
    theirs = git(project, "ls-tree", "-r", "deploy").stdout.splitlines()
    _publish(project)
    after = git(project, "ls-tree", "-r", "deploy").stdout.splitlines()
    assert len(theirs) == 5
    assert set(theirs) <= set(after)
    assert any("120000" in line for line in after)
    assert "out/clusters/lab/cluster.json" not in str(theirs)


@pytest.mark.parametrize(
    ("path", "text", "change"),
    [
        (CMDLINE, "edited\n", "changed by others"),
        (CMDLINE, None, "removed by others"),
        ("out/nodes/lab/hft-hft-hw.json", "{}\n", "changed by others"),
        ("out/.cpuplan/manifest", None, "removed by others"),
    ],
)
def test_a_later_change_of_a_published_file_is_told(
    project: Path, path: str, text: str | None, change: str
) -> None:
    _publish(project)
    _on_branch(project, "a night shift's repair", path, text)
    _change(project)
    told = _refused(project, "CP697")
    assert f"{path} was {change}" in told
    assert "a night shift's repair" in told
    if path != "out/.cpuplan/manifest":
        _publish(project, "--force")
        assert _text(project, path) == (project / path).read_text()
        assert "a night shift's repair" in git(project, "log", "deploy").stdout


def test_a_revert_of_a_published_commit_is_a_change_by_others(project: Path) -> None:
    _publish(project)
    _change(project)
    _publish(project)
    other = project.parent / "other"
    git(project, "worktree", "add", "-q", str(other), "deploy")
    git(other, "revert", "--no-edit", "HEAD")
    git(project, "worktree", "remove", str(other))
    assert "Revert" in _refused(project, "CP697")


@pytest.mark.parametrize("words", [[], ["--force"]])
def test_a_file_of_others_in_the_way_is_never_replaced(project: Path, words: list[str]) -> None:
    _publish(project)
    add_class(project, "new")
    assert _run(project, "compile")[0] == 0
    commit(project, "one more class")
    _on_branch(project, "theirs", "out/nodes/lab/new-new-hw", "a file, not a folder\n")
    told = _refused(project, "CP697", *words)
    assert "out/nodes/lab/new-new-hw was put there by others" in told


def test_a_link_in_the_place_of_the_folder(project: Path) -> None:
    git(project, "checkout", "-q", "--orphan", "deploy")
    git(project, "rm", "-rqf", ".")
    os.symlink("elsewhere", project / "out2")
    git(project, "add", "out2")
    git(project, "commit", "-qm", "a link")
    git(project, "checkout", "-q", "main")
    _refused(project, "CP697", "--folder", "out2")
    _refused(project, "CP697", "--folder", "out2/below")


def test_inputs_that_are_in_no_commit(project: Path) -> None:
    write(project, ".gitignore", "intents/more.yaml\n")
    commit(project, "ignored")
    (project / "intents/core.yaml").rename(project / "intents/more.yaml")
    add_class(project, "new")
    assert _run(project, "compile")[0] == 0
    told = _refused(project, "CP692")
    for state in (
        "intents/core.yaml is changed and not committed",
        "intents/more.yaml is not committed",
        "intents/new.yaml is not committed",
        "intents/plan.lock.yaml is changed",
    ):
        assert state in told
    _publish(project, "--allow-dirty")
    message = git(project, "log", "-1", "--format=%B", "deploy").stdout
    assert "(with changes that are in no commit)" in message


def test_a_folder_outside_of_git(project: Path, tmp_path: Path) -> None:
    shutil.rmtree(project / ".git")
    git(tmp_path, "init", "-q", "--bare", "target")
    words = ("--repository", "../target")
    code, told = _run(project, *PUBLISH, *words)
    assert "[CP692]" in told
    assert code == 1
    code, told = _run(project, *PUBLISH, *words, "--allow-dirty")
    assert "[CP693]" in told  # nobody is configured there
    assert code == 2
    git(tmp_path / "target", "config", "user.name", "x")
    git(tmp_path / "target", "config", "user.email", "x@example.com")
    _publish(project, *words, "--allow-dirty")
    assert _text(tmp_path / "target", CMDLINE) == (project / CMDLINE).read_text()
    assert "Commit: none" in git(tmp_path / "target", "log", "deploy").stdout


def test_output_that_is_not_what_the_inputs_give(project: Path) -> None:
    (project / CMDLINE).write_text("edited\n")
    assert _run(project, *PUBLISH)[0] == 3
    git(project, "checkout", "-q", "--", "out")
    edit(project, INTENT, "reserved: {cores: 2}", "reserved: {cores: 3}")
    assert "[CP620]" in _refused(project, "CP609")


def test_a_branch_that_is_checked_out(project: Path, tmp_path: Path) -> None:
    assert "main cannot be published to" in _run(project, "publish", "--branch", "main")[1]
    _publish(project)
    git(project, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "deploy")
    _change(project)
    assert "elsewhere" in _refused(project, "CP691")


def test_a_branch_with_other_inputs(project: Path) -> None:
    git(project, "branch", "deploy")
    assert "CP691" not in _publish(project)
    git(project, "branch", "--force", "deploy", "HEAD")
    _change(project)
    assert "inventories and intents of its own" in _refused(project, "CP691")


@pytest.mark.parametrize("name", ["a..b", "", "-x/", "a b"])
def test_what_is_no_branch(project: Path, name: str) -> None:
    assert "[CP691]" in _run(project, "publish", "--branch", name)[1]
    git(project, "tag", "v1")
    assert "it is a tag" in _run(project, "publish", "--branch", "v1")[1]


def test_from_a_worktree_with_a_detached_head(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "ci"))
    _publish(tmp_path / "ci")
    assert CMDLINE in _names(project)


def test_a_project_in_a_submodule(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "outer")
    words = ("submodule", "add", "-q", str(project), "sites/lab")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", *words)
    inner = tmp_path / "outer/sites/lab"
    for name in ("user.name", "user.email"):
        git(inner, "config", name, "x@example.com")
    _publish(inner)
    assert CMDLINE in _names(inner)
    assert "deploy" not in _refs(tmp_path / "outer")


def test_a_project_in_a_folder_and_a_delivery_document(project: Path, tmp_path: Path) -> None:
    top = tmp_path / "top"
    write(top, "README", "of all sites\n")
    git(top, "init", "-q")
    for name in ("user.name", "user.email"):
        git(top, "config", name, "x@example.com")
    shutil.copytree(project, top / "sites/lab", ignore=shutil.ignore_patterns(".git"))
    commit(top, "sites")
    assert _run(top / "sites/lab", "publish")[0] == 2  # no branch is named anywhere
    _publish(top / "sites/lab")
    assert f"sites/lab/{CMDLINE}" in _names(top)
    write(
        top,
        "sites/lab/intents/delivery.yaml",
        "apiVersion: cpuplan.io/v1alpha1\nkind: Delivery\nmetadata: {name: git}\n"
        "spec: {repository: 'https://git.example.com/x.git', path: lab, revision: live}\n",
    )
    assert _run(top / "sites/lab", "compile")[0] == 0
    commit(top, "delivery")
    code, told = _run(top / "sites/lab", "publish")
    assert code == 0, told
    assert f"lab/{CMDLINE}" in _names(top, "live")
    # Two projects on one branch: each has its own last commit.
    assert _run(top / "sites/lab", "publish", "--branch", "live", "--folder", "two/out")[0] == 0
    assert "nothing has changed" in _run(top / "sites/lab", "publish")[1]


def test_the_trees_of_one_cluster(project: Path) -> None:
    _publish(project)
    edit(project, "intents/upf.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    _change(project)
    _publish(project, "--cluster", "edge")
    assert _text(project, CMDLINE) == _text(project, CMDLINE, "deploy~1")
    path = "out/.cpuplan/classes/edge/upf-upf-hw.json"
    assert _text(project, path) == (project / path).read_text()
    for manifest in ("manifest", "manifests/edge", "manifests/lab"):
        path = f"out/.cpuplan/{manifest}"
        assert _text(project, path) == _text(project, path, "HEAD")
    assert "clusters/edge/" not in _text(project, "out/.cpuplan/provenance.json")
    assert "clusters/edge/" in _text(project, "out/.cpuplan/provenance/edge.json")
    assert "Cpuplan-Clusters: edge" in git(project, "log", "-1", "deploy").stdout
    changed = git(project, "diff", "--name-only", "deploy~1", "deploy").stdout.split()
    assert not [path for path in changed if "lab" in path or path.endswith("cpuplan/manifest")]
    _publish(project)
    assert "out/.cpuplan/provenance/edge.json" not in _names(project)
    assert "[CP293]" in _run(project, *PUBLISH, "--cluster", "egde")[1]


def test_a_class_that_is_gone_is_removed(project: Path) -> None:
    _publish(project)
    for path in ("inventories/hft.yaml", "inventories/hft-nodes.yaml", "intents/hft.yaml"):
        (project / path).unlink()
    assert _run(project, "compile", "--allow-removal")[0] == 0
    commit(project, "no hft")
    assert "lab/hft-hft-hw: removed, 3 nodes" in _publish(project)
    assert not [name for name in _names(project) if "hft" in name]


def test_pushing_to_a_bare_clone(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(project), "remote.git")
    git(project, "remote", "add", "origin", str(tmp_path / "remote.git"))
    _publish(project)
    assert "deploy" not in _refs(tmp_path / "remote.git")
    assert "pushed deploy" in _publish(project, "--push", "origin")
    remote = git(tmp_path / "remote.git", "rev-parse", "deploy").stdout
    assert remote == git(project, "rev-parse", "deploy").stdout
    # A colleague was faster: the next commit goes on top.
    git(tmp_path, "clone", "-q", "-b", "deploy", "remote.git", "colleague")
    write(tmp_path / "colleague", "README", "read me\n")
    commit(tmp_path / "colleague", "a colleague's")
    git(tmp_path / "colleague", "push", "-q")
    _change(project)
    _publish(project, "--push", "origin")
    assert "README" in _names(project)
    assert git(tmp_path / "remote.git", "rev-list", "--count", "deploy").stdout == "3\n"


def test_a_rejected_push_leaves_everything_as_it_was(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(project), "remote.git")
    _publish(project, "--push", "../remote.git")
    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    _change(project)
    _refused(project, "CP696", "--push", "../remote.git")
    assert git(tmp_path / "remote.git", "rev-list", "--count", "deploy").stdout.strip() == "1"
    _refused(project, "CP696", "--push", "../nowhere.git")
    hook.unlink()
    _publish(project, "--push", "../remote.git")


def test_a_branch_that_diverged_from_its_remote(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(project), "remote.git")
    _publish(project, "--push", "../remote.git")
    git(tmp_path, "clone", "-q", "-b", "deploy", "remote.git", "colleague")
    write(tmp_path / "colleague", "README", "read me\n")
    commit(tmp_path / "colleague", "a colleague's")
    git(tmp_path / "colleague", "push", "-q")
    _change(project)
    _publish(project)
    _refused(project, "CP691", "--push", "../remote.git")


def test_a_branch_that_moves_meanwhile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _publish(project)
    _change(project)
    original = commits.write_commit

    def late(*words: object) -> str:
        made = original(*words)  # type: ignore[arg-type]
        _on_branch(project, "in the last moment", "README", "theirs\n")
        return made

    monkeypatch.setattr(commits, "write_commit", late)
    code, told = _run(project, *PUBLISH)
    assert code == 2
    assert "[CP695]" in told
    assert "in the last moment" in git(project, "log", "-1", "deploy").stdout
    monkeypatch.undo()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    _publish(project)
    assert "README" in _names(project)


def test_a_shallow_clone(project: Path, tmp_path: Path) -> None:
    _publish(project)
    _change(project)
    url = f"file://{project}"

    def clone(name: str) -> Path:
        git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", url, name)
        for key in ("user.name", "user.email"):
            git(tmp_path / name, "config", key, "x@example.com")
        return tmp_path / name

    _publish(clone("first"))
    assert git(tmp_path / "first", "rev-list", "--count", "deploy").stdout == "2\n"
    assert git(tmp_path / "first", "log", "-1", "--format=%B", "deploy").stdout.startswith(
        "cpuplan"
    )
    _on_branch(project, "a note", "out/README", "theirs\n")
    assert "--unshallow" in _refused(clone("second"), "CP690")


@pytest.mark.parametrize("lacks", ["blob:none", "tree:0"])
def test_a_partial_clone(project: Path, tmp_path: Path, lacks: str) -> None:
    for name in ("allowFilter", "allowAnySHA1InWant"):
        git(project, "config", f"uploadpack.{name}", "true")
    _publish(project)
    _on_branch(project, "a note", "theirs/deep/README", "theirs\n")
    git(tmp_path, "clone", "-q", f"--filter={lacks}", f"file://{project}", "clone")
    clone = tmp_path / "clone"
    for key in ("user.name", "user.email"):
        git(clone, "config", key, "x@example.com")
    _change(clone)
    _publish(clone, "--push", "origin")
    assert git(project, "rev-list", "--count", "deploy").stdout == "3\n"
    assert "theirs/deep/README" in _names(project)
    assert git(project, "fsck", "--strict").returncode == 0
    # A colleague was faster.
    _on_branch(project, "another note", "theirs/deep/er/README", "theirs\n")
    edit(clone, INTENT, "reserved: {cores: 3}", "reserved: {cores: 4}")
    assert _run(clone, "compile")[0] == 0
    commit(clone, "four")
    _publish(clone, "--push", "origin")
    assert "theirs/deep/er/README" in _names(project)
    assert git(project, "fsck", "--strict").returncode == 0
    assert (
        git(clone, "rev-parse", "origin/deploy").stdout == git(clone, "rev-parse", "deploy").stdout
    )


def test_nobody_to_commit_as(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(project, "config", "--unset", "user.name")
    git(project, "config", "--unset", "user.email")
    git(project, "config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    assert "git config user.name" in _refused(project, "CP693")


def test_commits_are_signed_if_git_is_told_so(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = tmp_path / "gpg"
    signer.write_text("#!/bin/sh\ncat >/dev/null\nexit 1\n")
    signer.chmod(0o755)
    git(project, "config", "commit.gpgsign", "true")
    own = tmp_path / "own"
    own.write_text(f'[includeIf "gitdir:{project}/"]\n\tpath = signing\n')
    (tmp_path / "signing").write_text(f'[gpg]\n\tprogram = "{signer}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    _refused(project, "CP694")
    signer.write_text(
        "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED D' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    _publish(project)
    assert "BEGIN PGP" in git(project, "cat-file", "commit", "deploy").stdout


def test_line_ends_and_filters_of_a_repository_change_no_byte(project: Path) -> None:
    git(project, "config", "core.autocrlf", "true")
    git(project, "config", "core.splitIndex", "true")
    write(project, ".git/info/attributes", "* text eol=crlf\n")
    _publish(project)
    place = project / ".git/cpuplan-test"
    for name in ("out/.gitattributes", CMDLINE):
        data = git(project, "cat-file", "blob", f"deploy:{name}").stdout
        assert data == (project / name).read_bytes().decode()
    assert not place.exists()
    assert not [*(project / ".git").glob("sharedindex.*")]


def test_a_run_that_ends_anywhere_leaves_the_old_branch_or_the_new_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question to Git in turn is the last thing that a run does."""
    _publish(project)
    _change(project)
    old = git(project, "rev-parse", "deploy").stdout
    index = (project / ".git/index").read_bytes()
    original, asked, last = program.run, 0, 1

    def run(*words: object, **named: object) -> program.Done:
        nonlocal asked
        asked += 1
        if asked == last:
            raise KeyboardInterrupt
        return original(*words, **named)  # type: ignore[arg-type]

    for module in (program, commits):
        monkeypatch.setattr(module, "run", run)
    while True:
        asked = 0
        code, _ = _run(project, *PUBLISH)
        assert (project / ".git/index").read_bytes() == index
        if code == 0:
            break
        assert code == 130
        assert git(project, "rev-parse", "deploy").stdout == old
        last += 1
    assert last > 10
    assert git(project, "rev-list", "--count", "deploy").stdout == "2\n"
    assert git(project, "fsck", "--strict").returncode == 0


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_branch_or_the_new_one(project: Path) -> None:
    """`kill -9` at any moment, also of what Git is doing then."""
    _publish(project)
    _change(project)
    old = git(project, "rev-parse", "deploy").stdout
    command = [sys.executable, "-m", "cpuplan", *PUBLISH]
    begin = time.monotonic()
    with subprocess.Popen([*command[:-1], "first"], cwd=project, stdout=subprocess.DEVNULL):
        pass
    duration = time.monotonic() - begin
    seen: set[bool] = set()
    for step in itertools.count():
        if step >= 30 and len(seen) == 2:
            break
        assert step < 200
        git(project, "update-ref", "refs/heads/deploy", old.strip())
        run = subprocess.Popen(
            command,
            cwd=project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(duration * (0.4 + 0.03 * step))
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        now = git(project, "rev-parse", "deploy").stdout
        seen.add(now != old)
        if now != old:
            assert git(project, "rev-parse", "deploy~1").stdout == old
            assert _text(project, CMDLINE) == (project / CMDLINE).read_text()
        if (project / ".git/refs/heads/deploy.lock").exists():
            _publish(project)  # removes what the killed run left
    assert git(project, "fsck", "--strict").returncode == 0
    assert git(project, "status", "--porcelain").stdout == ""
    _publish(project)


@pytest.mark.slow
def test_ten_thousand_files(base: Path, tmp_path: Path) -> None:
    from cpuplan.gitops.provenance import Provenance
    from cpuplan.gitops.publishing import Origin

    git(tmp_path, "init", "-q", "--bare", "target")
    for name in ("user.name", "user.email"):
        git(tmp_path / "target", "config", name, "x@example.com")
    files = {f"nodes/c{n % 10}/{n}": b"%d\n" % n * 100 for n in range(10_000)}
    origin = Origin("", False, "0" * 64, "0")
    with opened(tmp_path / "target", bare=True, writes=True) as target:
        request = publishing.Request(
            files,
            {},
            (),
            Provenance({}, {}, {}),
            {},
            origin,
            target,
            "deploy",
            "out",
            False,
            None,
        )
        assert publishing.publish(request).is_new
        changed = request._replace(files={**files, "nodes/c1/1": b"changed\n"})
        assert publishing.publish(changed).lines == ("1 file changed",)
        assert not publishing.publish(changed).is_new
    # With the manifest, one for each of ten clusters, and the provenance.
    assert len(_names(tmp_path / "target")) == 10_012
