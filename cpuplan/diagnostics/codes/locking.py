"""The lock, and what was compiled before: the CP240 to CP249."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP240": Code(
        "invalid locked layout",
        "the locked layout of class {name} in cluster {cluster} breaks a rule: {problem}",
        "undo the edit: restore the entry from Git, and state in the intent what should be different",
        "`intents/plan.lock.yaml` contains the solved layouts, so that a compilation without changes moves no CPU and "
        "needs no solver. It was edited by hand into something that the intent does not allow, or that is not a "
        "layout. If the intent or the machine changes and a layout no longer fits, it is solved again with the fewest "
        "CPUs moved, without an error.",
    ),
    "CP241": Code(
        "damaged lock",
        "the lock {problem}",
        "restore it from Git: `git checkout HEAD -- intents/plan.lock.yaml`, or the last commit where it was whole",
        "`intents/plan.lock.yaml` is written by cpuplan: a list of classes, each with cluster, class, solvedFrom and "
        "pools. It records where the CPUs of running nodes are. Without it, every layout would be solved from scratch "
        "and nodes would reboot.",
    ),
    "CP242": Code(
        "lock of another version",
        "the lock is {found}; this release of cpuplan reads {expected}",
        "compile with the release of cpuplan that wrote it, or with a later one",
        "Another release of cpuplan wrote `intents/plan.lock.yaml`. Without a readable lock, nothing records where "
        "CPUs are now: layouts would be solved from scratch, CPUs would move, and nodes would reboot.",
    ),
    "CP243": Code(
        "empty lock",
        "{path} is empty: the solved layouts are gone",
        "restore it from Git: `git checkout HEAD -- {path}`, or the last commit where it was whole",
        "A lock without classes contains `classes: []`. A file without any characters was emptied by something else. "
        "If it were treated as a first compilation, every layout would be solved from scratch: CPUs would move, and "
        "nodes would reboot. If that is intended, run `cpuplan compile --resolve`.",
    ),
    "CP244": Code(
        "cluster gone",
        "cluster {cluster} was compiled before and no longer exists: {many} with {nodes} ({classes})",
        "restore its Nodes documents and the intents that select them, or accept this with `cpuplan compile --allow-removal`",
        "Objects that disappear from `out/clusters/` are deleted from the cluster, and nodes lose their partitioning. "
        "cpuplan names what would be lost, and does it only on request. The locked layouts stay in "
        "`intents/plan.lock.yaml`, so that a cluster that comes back gets them again, until `cpuplan compile --prune`.",
    ),
    "CP245": Code(
        "pool gone",
        "pool {pool} of cluster {cluster} was compiled before and no longer exists: {nodes} of {classes}",
        "correct `pool` of the target, or accept this with `cpuplan compile --allow-removal`",
        "The MachineConfigPool and everything that belongs to it would be deleted, and its nodes would belong to "
        "another pool.",
    ),
    "CP246": Code(
        "class gone",
        "class {name} of cluster {cluster} was compiled before and no longer exists: {nodes}{pool}, with the layout {layout}",
        "let an intent select its nodes again, or accept this with `cpuplan compile --allow-removal`",
        "No intent selects its nodes any more, or no inventory lists them: one wrong letter in a selector is enough. "
        "Its files would disappear from `out/`. The locked layout stays in `intents/plan.lock.yaml` until `cpuplan "
        "compile --prune`. If a class with another name has its nodes, that class takes over the layout, and nothing "
        "is lost.",
    ),
    "CP247": Code(
        "empty selector",
        "the selector of {intent} is empty, so it selects every node of every cluster: {nodes} in {clusters}",
        "limit it with `matchLabels`, `nodes` or `clusters`",
        "An empty selector is allowed. It also selects nodes and clusters that are added later.",
        severity="warning",
    ),
    "CP248": Code(
        "unresolved merge",
        "the lock has both sides of a merge: {what}",
        "run `cpuplan compile`: for each class it keeps the layout that fits, and writes the file again",
        "Two branches changed the layout of one class, and Git kept both. The merged intents decide which one counts: "
        "the layout that was solved from them, else one that satisfies every rule, else the layout with the fewest "
        "moves from the first. `validate` and `compile --check` do not judge a lock before the merge is resolved.",
    ),
}
