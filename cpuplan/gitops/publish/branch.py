"""The branch that is published to, where it is now, and where the next commit goes."""

from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.git import remotes
from cpuplan.git.door import checked_out
from cpuplan.git.program import ask, run
from cpuplan.git.repository import Repository


class Branch(NamedTuple):
    """A branch of a repository; a commit is None where there is none."""

    repository: Repository
    name: str
    #: Where the branch is.
    local: str | None
    #: Where it is at its remote, as far as is known.
    remote: str | None
    #: The later one of the two, which the next commit follows.
    tip: str | None


def find(repository: Repository, name: str, push_to: str | None) -> Branch:
    """The branch, with its state at the remote `push_to`, which is asked.

    Raises CpuplanError: CP688, CP691, CP696.
    """
    _check_name(repository, name)
    _check_not_checked_out(repository, name)
    local = _commit(repository, f"refs/heads/{name}")
    if push_to is None:
        remote = _tracked(repository, name)
    else:
        remote = remotes.fetch(repository, push_to, name)
    return Branch(repository, name, local, remote, _later(repository, name, local, remote))


def _check_name(repository: Repository, name: str) -> None:
    if run(repository, "check-ref-format", f"refs/heads/{name}").code:
        hint = "give the name of a branch, such as `deploy`"
        raise _unusable(name, "it is not a valid name", hint)
    if _commit(repository, f"refs/tags/{name}"):
        raise _unusable(name, "it is a tag", "give another name with `--branch`")


def _check_not_checked_out(repository: Repository, name: str) -> None:
    place = checked_out(repository, name)
    if place is not None:
        hint = "commit out/ there with `git commit`, or give another branch with `--branch`"
        raise _unusable(name, f"it is checked out in {place}", hint)


def _commit(repository: Repository, ref: str) -> str | None:
    done = run(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return None if done.code else done.line


def _tracked(repository: Repository, name: str) -> str | None:
    """Where the branch was at its only remote that has it, when that was fetched last."""
    pattern = f"refs/remotes/*/{name}"
    found = ask(repository, "for-each-ref", "--format=%(objectname)", pattern).line.split()
    return found[0] if len(found) == 1 else None


def _later(repository: Repository, name: str, local: str | None, remote: str | None) -> str | None:
    if local is None or remote is None or local == remote:
        return local or remote
    if is_ancestor(repository, local, remote):
        return remote
    if is_ancestor(repository, remote, local):
        return local
    problem = "it and the branch at the remote both have commits that the other one lacks"
    raise _unusable(name, problem, "merge the two, or let the branch be where its remote is")


def is_ancestor(repository: Repository, first: str, second: str) -> bool:
    """Whether the commit `second` contains `first`."""
    return run(repository, "merge-base", "--is-ancestor", first, second).code == 0


def _unusable(name: str, problem: str, hint: str) -> CpuplanError:
    return CpuplanError([diagnose("CP691", branch=name, problem=problem, hint=hint)])


def with_other_inputs(name: str) -> Diagnostic:
    """CP691 for a branch whose own documents would not give what is published."""
    problem = "it has inventories and intents of its own, and they are not those of out/"
    hint = "merge the inputs into it and compile there, or publish to a branch without inputs"
    return diagnose("CP691", branch=name, problem=problem, hint=hint)
