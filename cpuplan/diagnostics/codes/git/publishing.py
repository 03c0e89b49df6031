"""What is published: the branch, its commits, and where they come from."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP691": Code(
        "unpublishable branch",
        "{branch} cannot be published to: {problem}",
        "{hint}",
        "`cpuplan publish` moves a branch without touching any index or work tree. If the branch were checked out "
        "somewhere, Git would show the published files as changed there. A name must be valid for a branch. A branch "
        "with inventories and intents of its own gets no files that these do not give.",
    ),
    "CP692": Code(
        "inputs in no commit",
        "{path} is {state}",
        "commit it first, also if Git ignores it, or publish with `--allow-dirty`: the message then says that "
        "the inputs are in no commit",
        "What is published names the commit of its inputs, so that anyone can compile it again and compare. Files "
        "under `inventories/`, `intents/` and `pods/` count, including the lock and files that Git ignores.",
    ),
    "CP693": Code(
        "nobody to commit as",
        "Git does not know who commits in {path}",
        "set `git config user.name` and `user.email` there, or the variables GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, "
        "GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL",
        "cpuplan commits as whoever runs it, and invents no name. CI jobs usually have none.",
    ),
    "CP694": Code(
        "commit refused",
        "Git makes no commit in {path}: {problem}",
        "correct what Git says; with `commit.gpgsign`, the key must be usable here, and only your own configuration can "
        "name a program that signs (`git config --global gpg.program`)",
        "Commits are signed if `commit.gpgsign` is set. A repository cannot name the program, since whoever made it would "
        "run what they like. No branch was moved.",
    ),
    "CP695": Code(
        "branch moved",
        "{branch} was not moved to the new commit: {problem}",
        "run `cpuplan publish` again, after correcting what Git says if it says something else",
        "Another run or a person changed the branch in the meantime, or a lock of Git is in the way. Git compares where "
        "the branch is in the same step that moves it, so no commit is lost. A lock that a killed `publish` left is "
        "removed by the next one; of another's, cpuplan names the file. No hook runs.",
    ),
    "CP696": Code(
        "remote refused",
        "{branch} of {remote} was not reached or not changed: {problem}",
        "correct what Git says, then run `cpuplan publish` again",
        "With `--push`, the remote's branch is fetched first, the new commit goes on top of it, and the local branch "
        "moves only after the remote accepted the commit. Nothing is ever forced.",
    ),
    "CP697": Code(
        "branch changed by others",
        "{path} was {change} ({commit})",
        "{hint}",
        "A file that cpuplan published differs from the last commit that cpuplan made on the branch, or a file that it "
        "did not publish is where a published one belongs. Nothing was written.",
    ),
    "CP698": Code(
        "merge conflict",
        "{what}: {problem}",
        "{hint}",
        "Reported by `cpuplan merge-check`, which merges in memory and changes nothing. Conflicts in `out/` are not "
        "reported, because `cpuplan compile` writes it again after the merge.",
    ),
    "CP699": Code(
        "not what the inputs give",
        "{path} {problem}",
        "{hint}",
        "Reported by `cpuplan verify-output`. It compiles the project again, without records, and compares every file. "
        "A provenance statement names the SHA-256 of every published file and every input.",
    ),
}
