"""The lock, and what was compiled before: the CP240 to CP249."""

from cpuplan.codes.code import Code

CODES = {
    "CP240": Code(
        "lock does not hold",
        "the locked layout of class {name} in cluster {cluster} breaks a rule: {problem}",
        "undo the edit: restore the entry from Git, and say in the intent what should be otherwise",
        "`intents/plan.lock.yaml` holds the solved layouts so that a compile without changes moves no CPU and needs no "
        "solver. It was changed by hand into something that the intent does not allow, or that no layout is. After a change of the "
        "intent or the machine a layout that does not fit is solved anew, with the fewest CPUs moved, and no error.",
    ),
    "CP241": Code(
        "damaged lock",
        "the lock {problem}",
        "restore it from Git: `git checkout HEAD -- intents/plan.lock.yaml`, or the last commit where it was whole",
        "`intents/plan.lock.yaml` is written by cpuplan: a list of classes, each with cluster, class, solvedFrom and pools. It "
        "says where the CPUs of running nodes are: without it every layout would be solved afresh, and nodes reboot.",
    ),
    "CP242": Code(
        "lock of another form",
        "the lock is {found}, and this cpuplan reads {expected}",
        "compile with the cpuplan that wrote it, or with a later one",
        "Another cpuplan wrote `intents/plan.lock.yaml`. Without a lock that can be read nothing says where CPUs are now: "
        "layouts would be solved afresh, CPUs move, and nodes reboot.",
    ),
    "CP243": Code(
        "empty lock",
        "{path} is empty: the layouts that were solved are gone",
        "restore it from Git: `git checkout HEAD -- {path}`, or the last commit where it was whole",
        "A lock without classes says so (`classes: []`). A file without a character was emptied by something else, and to "
        "take it for a first compilation would solve every layout afresh: CPUs move, and nodes reboot. `cpuplan compile "
        "--resolve` does that where it is meant.",
    ),
    "CP244": Code(
        "cluster gone",
        "cluster {cluster} was compiled before and is gone: {many} with {nodes} ({classes})",
        "bring back its Nodes documents and the intents that select them, or let it go with `cpuplan compile --allow-removal`",
        "Objects of `out/clusters/` that are gone are taken away from the cluster, and nodes lose their partitioning. That "
        "is said by name, and done only when it is meant. The locked layouts stay in `intents/plan.lock.yaml`, so that a "
        "cluster that comes back finds them, until `cpuplan compile --prune`.",
    ),
    "CP245": Code(
        "pool gone",
        "pool {pool} of cluster {cluster} was compiled before and is gone: {nodes} of {classes}",
        "correct `pool` of the target, or let it go with `cpuplan compile --allow-removal`",
        "The MachineConfigPool and all that belongs to it would be taken away, and its nodes would follow another pool.",
    ),
    "CP246": Code(
        "class gone",
        "class {name} of cluster {cluster} was compiled before and is gone: {nodes}{pool}, with the layout {layout}",
        "let an intent select its nodes again, or let it go with `cpuplan compile --allow-removal`",
        "No intent selects its nodes any more, or they are in no inventory: a letter in a selector is enough. What was "
        "compiled for them would vanish from `out/`. The locked layout stays in `intents/plan.lock.yaml` until `cpuplan "
        "compile --prune`. A class of another name that has its nodes takes its layout over, and nothing is gone.",
    ),
    "CP247": Code(
        "selector of everything",
        "the selector of {intent} says nothing, so it takes every node of every cluster: {nodes} in {clusters}",
        "say which ones: `matchLabels`, `nodes` or `clusters`",
        "An empty selector is allowed, and takes nodes that are added later, of clusters that are added later, too.",
        severity="warning",
    ),
    "CP248": Code(
        "both sides of a merge",
        "the lock has both sides of a merge: {what}",
        "run `cpuplan compile`: of each class it takes the layout that fits, and writes the file anew",
        "Two branches changed the layout of one class, and Git left both. Which one counts depends on the intents as they "
        "are merged: the one that was solved from them, else one that satisfies every rule, else the layout with the "
        "fewest moves from the first. `validate` and `compile --check` judge nothing that is not settled.",
    ),
}
