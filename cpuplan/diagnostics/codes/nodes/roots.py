"""What of a node's files is read at all."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP8160": Code(
        "root larger than a check reads",
        "reading ended at {path}: {problem}",
        "look for links or mounts that lead around, or to one large folder from many places, below the root; then check "
        "the node again",
        "However its links lead around, one root is asked for 1,000,000 files and folders, lists 2,000,000 names and gives "
        "512 MiB. A node with 100,000 threads and 20,000 control groups stays far below. Facts that were not reached are "
        "not verifiable, and the check fails.",
    ),
}
