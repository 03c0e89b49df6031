"""Writing output, what a change costs, work that is divided, and bugs: CP6xx and the CP9xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    # Writing output: the CP6xx.
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
    # Work that is divided among processes and machines, and kept: CP622 to CP625, CP6120.
    "CP622": Code(
        "workers ended",
        "processes ended before their part of the work: {number} of {of} parts are not done",
        "look in the kernel's log (`dmesg`) whether memory was short, then use fewer processes: `--jobs 1` does all the "
        "work in one",
        "The parts were given to new processes once, and some of these ended too. Nothing was written.",
    ),
    "CP623": Code(
        "work not done by a scheduler",
        "{what}: {problem}",
        "look at the logs of the scheduler and its workers, or leave out `--dask`: the result is the same on this machine",
        "The scheduler of `--dask` cannot be reached, or its workers end again and again while they do a part of the "
        "work. Nothing was written.",
    ),
    "CP624": Code(
        "another cpuplan on a worker",
        "a worker has {other}, and this is cpuplan {own}",
        "install the same cpuplan and the same Python on the scheduler's workers and here, with the same releases of its "
        "packages (constraints/run.txt)",
        "Two versions may differ in layouts and files. The parts of one result must come from one version. The digits in "
        "brackets are a digest of cpuplan's files and of the packages that results depend on.",
    ),
    "CP625": Code(
        "no Dask",
        "--dask needs the package distributed, which cannot be imported: {problem}",
        "install cpuplan with the extra: `pip install 'cpuplan[dask]'`",
        "The package is not part of an ordinary installation, because only fleets beyond one machine need it.",
    ),
    "CP6120": Code(
        "cache folder not used",
        "the cache folder {path} is not used: {problem}",
        "let `XDG_CACHE_HOME` and `XDG_STATE_HOME` name folders of this user alone, outside of the repository, or set "
        "`CPUPLAN_NO_CACHE=1`; nothing but time is lost",
        "Whoever can write the cache folder or its key could say that a project is valid. So neither is used where others "
        "may write it or a folder above it, where it belongs to somebody else, where a link leads to it, or where it is in "
        "the project's repository. Everything is made anew then. This is said on standard error and is in no report.",
        severity="note",
    ),
    # What a change costs: the CP68x of `cpuplan plan`.
    "CP680": Code(
        "nothing to compare with",
        "{what} has no compiled classes (.cpuplan/classes/)",
        "name a commit (`--against`) or a folder (`--against-folder`) with the result of `cpuplan compile`; for a "
        "first compilation, compare with an empty folder",
        "`cpuplan plan` compares the project with what was compiled before. A commit or a folder without it could be "
        "the wrong one, and a plan that compares with nothing calls every node new, so you must ask for that.",
    ),
    "CP681": Code(
        "damaged class",
        "{path} of {what} is not a class that cpuplan compiled: {problem}",
        "compare with a commit whose out/ is whole, or compile it again there",
        "The plan of each class (`.cpuplan/classes/`) is what `cpuplan plan` compares. A file that cannot be read "
        "could hide any change, so nothing is compared.",
    ),
    "CP682": Code(
        "damaged object",
        "{path} of {what} is not a Kubernetes object that cpuplan compiled: {problem}",
        "compare with a commit whose out/ is whole, or compile it again there",
        "A manifest that differs from the present one, or an object that an operator makes of it, is read to show which "
        "fields change and what that costs. This one cannot be read: it is no YAML, or a field is of another type than "
        "the API server takes.",
    ),
    "CP683": Code(
        "impact above the limit",
        "the impact on {nodes} is {impact}, and {limit} allows at most {allowed}",
        "leave out of the change what causes it (`cpuplan plan` shows the statements), or raise {limit}",
        "`cpuplan plan` fails with exit code 4 if a node would need more than the option `--max-impact`, or the rollout "
        "of its intent, allows: nothing, live, restart, drain, reboot, reinstall, from the least to the worst.",
    ),
    "CP628": Code(
        "pod that loses CPUs of its own",
        "pod {pod} has CPUs of its own with {before}, and shared ones with {after}",
        "give the pod {wanted}, or let these nodes keep {before}",
        "Each mechanism goes by something else: the kubelet's static policy and the NRI policies by the shape of a pod "
        "(Guaranteed, whole CPUs), the DRA CPU driver by resource claims, Koordinator by the label of a QoS class. A pod "
        "without it runs, and nothing says that its CPUs are shared now.",
        "warning",
    ),
    # A mistake in cpuplan itself: the CP9xx.
    "CP901": Code(
        "bug in cpuplan",
        "cpuplan failed: {problem}",
        "report this with {path}; files are written completely or not at all, so none is damaged",
        "This is a mistake in cpuplan and not in its input. The file contains the traceback.",
    ),
}
