"""Writing output: the CP6xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP601": Code(
        "not a place to write to",
        "{path} is {kind}, where cpuplan writes {wanted}",
        "move it elsewhere, or choose another place",
        "The output is a folder of its own: not a file, not a symbolic link, and not the current folder or one above "
        "it, because the folder is exchanged as a whole. A single file is not written through a symbolic link.",
    ),
    "CP602": Code(
        "foreign file in the way",
        "{path} is {kind} that cpuplan did not write, where {wanted} belongs",
        "move it elsewhere, then compile again",
        "Beside its own files, the output folder may hold anything. cpuplan changes and deletes only what "
        "`.cpuplan/manifest` lists, so a foreign file that stands where a new one belongs stops the compilation, also with "
        "`--force`. A file that Git has as it is does not: nothing is lost, and it is what a merge leaves.",
    ),
    "CP603": Code(
        "edited by hand",
        "{path} is not as cpuplan wrote it",
        "say it in the intent and restore the file, or drop the edit with `cpuplan compile --force`",
        "The file differs from what this machine wrote last (`.cpuplan/written`, which Git ignores) and from what would be "
        "written now, and Git does not have it as it is: the edit would be lost without a word. What Git has, in a commit, "
        "in its index or as the sides of a merge, is written anew.",
    ),
    "CP604": Code(
        "damaged manifest",
        "{path} is not a manifest of cpuplan: {problem}",
        "restore it from Git: `git checkout HEAD -- {path}`",
        "The manifest says which files of the output folder belong to cpuplan. Without it nothing is changed or "
        "deleted. What a merge makes of it, both sides between the markers of a conflict too, is read.",
    ),
    "CP605": Code(
        "mount point or image layer",
        "{path} is a mount point or comes from a container image's layer",
        "mount the folder above the output folder from outside, and nothing inside it",
        "The output folder is replaced in one step by exchanging it with a folder beside it (renameat2(2)), which "
        "needs both on one file system. In a container, mount the project and not only its output folder. A folder of "
        "an image's lower layer cannot be renamed either (overlayfs gives EXDEV).",
    ),
    "CP606": Code(
        "another run is writing",
        "another cpuplan is writing in {path}",
        "wait until it has ended, then run again",
        "Writers hold a flock(2) on the folder that contains the output folder. The kernel drops it when a run ends in "
        "any way, so it is never stale.",
    ),
    "CP607": Code(
        "reading or writing failed",
        "{path} cannot be read or written: {problem}",
        "free space, or correct the path or its permissions, then run again",
        "The operating system refused. The output folder is as it was before: the new one is made beside it and "
        "replaces it only when complete, so there must be room for both.",
    ),
    "CP608": Code(
        "missing output",
        "{path} is missing",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be added.",
    ),
    "CP609": Code(
        "stale output",
        "{path} is not what the inventories and intents give now",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be changed.",
    ),
    "CP610": Code(
        "left-over output",
        "{path} is no longer asked for",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: cpuplan wrote the file in an earlier run and would delete it now.",
    ),
    "CP611": Code(
        "changed meanwhile",
        "{path} was changed while cpuplan ran",
        "compile again",
        "Nothing was written: a layout that somebody else put into the lock in the meantime would have been lost.",
    ),
    "CP615": Code(
        "layout lost",
        "the layout of {what}, compiled before, is neither in {path} nor in out/.cpuplan/",
        "restore both from Git: `git checkout HEAD -- {path} out`, or the last commit where they were whole",
        "`out/` has files of a compilation, so the nodes may run with a layout that cpuplan cannot see. To solve it as if "
        "there had been none would move CPUs, and nodes reboot. `cpuplan compile --resolve` does that where it is meant.",
    ),
    "CP620": Code(
        "stale lock",
        "{path} is not what the intents and inventories give",
        "run `cpuplan compile` and commit the result",
        "`compile --check` compares the lock and `out/` with what it would write, byte by byte, and writes nothing.",
    ),
    "CP621": Code(
        "file in the way",
        "{path} is there already",
        "{hint}",
        "`init` never overwrites a file. `import` brings Hardware and Nodes documents up to date, and a new document does not "
        "go into a file that holds something else.",
    ),
}
