"""Targets that name a mechanism, or anything else, for nothing: CP734."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP734": Code(
        "target of no cluster",
        "{target} is never used: {former} is for {clusters}",
        "let targets name different clusters, or write an intent for each: a node has one target, and one mechanism",
        "The nodes of a cluster have the first target that names their cluster, or that names none and is for all. What a "
        "later one asks for, such as another mechanism, would be dropped without a word.",
    ),
}
