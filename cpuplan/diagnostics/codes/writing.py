"""Writing output: the CP6xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP601": Code(
        "invalid output path",
        "{path} is {kind}, but cpuplan writes {wanted} there",
        "move it elsewhere, or choose another path",
        "The output folder is replaced as a whole, so it cannot be a file, a symbolic link, the current folder or a "
        "folder above it. A single file is not written through a symbolic link.",
    ),
    "CP602": Code(
        "foreign file in the way",
        "{path} is {kind} that cpuplan did not write, but {wanted} belongs there",
        "move it elsewhere, then compile again",
        "The output folder may contain other files. cpuplan changes and deletes only what `.cpuplan/manifest` "
        "and the files of `.cpuplan/manifests/` list, so a foreign file in the place of a new one stops the compilation, "
        "even with `--force`. A file that Git has in this state does not stop it, because nothing is lost: a merge leaves such files.",
    ),
    "CP603": Code(
        "edited by hand",
        "{path} was edited after cpuplan wrote it",
        "state the change in the intent and restore the file, or discard the edit with `cpuplan compile --force`",
        "The file differs from what this machine wrote last (`.cpuplan/written`, which Git ignores) and from what "
        "would be written now, and Git does not have it in this state: the edit would be lost. A file that Git has, in "
        "a commit, in its index or as a side of a merge, is written again.",
    ),
    "CP604": Code(
        "damaged manifest",
        "{path} is not a valid manifest: {problem}",
        "restore it from Git: `git checkout HEAD -- {path}`",
        "The manifest lists the files of the output folder that belong to cpuplan. Without it, nothing is changed or "
        "deleted. The result of a merge is read, too, even both sides between conflict markers.",
    ),
    "CP605": Code(
        "mount point or image layer",
        "{path} is a mount point, or a layer of a container image contains it",
        "mount the folder that contains the output folder, and nothing inside it",
        "The output folder is replaced in one step by exchanging it with a folder next to it (renameat2(2)), so both "
        "must be on one file system. In a container, mount the project and not only its output folder. A folder of an "
        "image's lower layer cannot be renamed either (overlayfs returns EXDEV).",
    ),
    "CP606": Code(
        "another run is writing",
        "another cpuplan is writing in {path}",
        "wait until it ends, then run again",
        "A run holds a flock(2) on the folder that contains the output folder. The kernel releases it when the run "
        "ends for any reason, so it is never stale.",
    ),
    "CP607": Code(
        "reading or writing failed",
        "{path} cannot be read or written: {problem}",
        "free space, or correct the path or its permissions, then run again",
        "The operating system refused. The output folder is unchanged: the new one is prepared next to it and replaces "
        "it only when complete, so there must be space for both.",
    ),
    "CP608": Code(
        "missing output",
        "{path} is missing",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be added.",
    ),
    "CP609": Code(
        "stale output",
        "{path} does not match the inventories and intents",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be changed.",
    ),
    "CP610": Code(
        "left-over output",
        "{path} is no longer needed",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: an earlier run wrote the file, and cpuplan would delete it now.",
    ),
    "CP611": Code(
        "changed during the run",
        "{path} changed while cpuplan was running",
        "compile again",
        "Nothing was written: a layout that was added to the lock in the meantime would have been lost.",
    ),
    "CP615": Code(
        "layout lost",
        "the layout of {what}, compiled before, is neither in {path} nor in out/.cpuplan/",
        "restore both from Git: `git checkout HEAD -- {path} out`, or the last commit where they were whole",
        "`out/` contains files of an earlier compilation, so the nodes may run with a layout that cpuplan cannot see. "
        "Solving it as if there had been none would move CPUs, and nodes would reboot. If that is intended, run "
        "`cpuplan compile --resolve`.",
    ),
    "CP620": Code(
        "stale lock",
        "{path} does not match the intents and inventories",
        "run `cpuplan compile` and commit the result",
        "`compile --check` compares the lock and `out/` with what it would write, byte by byte, and writes nothing.",
    ),
    "CP621": Code(
        "existing file",
        "{path} already exists",
        "{hint}",
        "`init` never overwrites a file. `import` updates Hardware and Nodes documents, and does not add a new "
        "document to a file that contains something else.",
    ),
}
