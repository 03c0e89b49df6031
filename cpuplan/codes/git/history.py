"""Commits and trees of the repository that a project is in."""

from cpuplan.codes.code import Code

CODES = {
    "CP688": Code(
        "Git gives no answer",
        "Git cannot be used in {path}: {problem}",
        "run the command in a clone of the repository, with `git` installed and allowed to read it",
        "cpuplan runs the program `git` and repeats what it says. In containers and CI, Git refuses a repository of "
        "another user until `safe.directory` names it.",
    ),
    "CP689": Code(
        "no such commit",
        "{ref} is not a commit in the repository of {path}",
        "correct the name, or fetch it: `git fetch origin`",
        "A branch of a remote needs the remote's name, such as `origin/main`. CI systems often fetch only the commit "
        "that they build: GitHub's `actions/checkout` fetches the others with `fetch-depth: 0`, GitLab with "
        '`GIT_DEPTH: "0"`.',
    ),
    "CP690": Code(
        "no common commit",
        "{ours} and {theirs} have no common commit here: {problem}",
        "fetch more history (`git fetch --unshallow`, or `git fetch --deepen=100`), or name a commit to compare with",
        "What a branch changes is what differs from the commit where it left the main branch. A shallow clone may not "
        "contain that commit.",
    ),
    "CP6110": Code(
        "too large in Git",
        "{path} is not read from Git: {problem}",
        "take what does not belong there out of the commit, or name another one",
        "An object of a few kilobytes in a repository can have gigabytes. cpuplan asks Git for the sizes before it reads "
        "anything: the limits are those of files on disk for one file, 512 MiB in all, and a million files.",
    ),
    "CP6111": Code(
        "name of two commits",
        "{ref} is the name of {names}",
        "give the whole name, such as `refs/heads/main` or `refs/remotes/origin/main`",
        "Git takes a tag before a branch of the same name. A tag called `origin/main` would otherwise decide what a change "
        "is compared with.",
    ),
}
