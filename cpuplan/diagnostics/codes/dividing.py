"""Work that is divided among processes and machines, and kept: CP622 to CP625, CP6120."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
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
}
