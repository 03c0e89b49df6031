"""Commits and trees of the repository that a project is in."""

from cpuplan.diagnostics.codes.code import Code

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
    "CP6115": Code(
        "changed file of a paused class in this branch",
        "{path} of the paused {intent} is neither as in {commit}, where this branch left the main branch, nor what the "
        "inputs give",
        "restore the file (`git checkout {commit} -- {path}`) and its digest, or remove `paused: true` and compile",
        "The files of a paused intent are not made of the inputs, and their digests lie in the commit that may have changed "
        "them. So `compile --check` and `verify-output` compare them with the main branch.",
    ),
    "CP6116": Code(
        "unproven files of a paused class",
        "nothing shows that the files of {name} are those that were compiled before {intent} was paused: {problem}",
        "run the command in a clone with the history of the main branch (`git fetch --unshallow origin`), or compare the files "
        "with the last commit that you trust",
        "The files of a paused intent are not made of the inputs, and their digests lie in the commit that may have changed "
        "them. Without the commit where the branch left the main branch, there is nothing to compare them with. This is a "
        "warning, which no waiver covers: with `--strict`, it is an error.",
        "warning",
    ),
}
