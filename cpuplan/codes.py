"""The table of diagnostic codes: one place to compare their tone, and what the documentation is made from.

`CP` + stage digit (1 reading, 2 intent and inventory, 3 topology, 4 solving, 5 components and backends, 6 writing,
7 simulation, 8 the node differs, 9 a bug) + two digits. A code is never reused. A message names the value and the
rule; a remedy is something to do. `{gaps}` are filled by `diagnostics.diagnose`.
"""

from typing import NamedTuple


class Code(NamedTuple):
    """One kind of diagnostic. `about` is the paragraph that the documentation gives it."""

    title: str
    message: str
    remedy: str
    about: str
    severity: str = "error"


READING = {
    "CP101": Code(
        "invalid YAML",
        "this is not valid YAML: {problem}",
        "correct the syntax here or just before",
        "The YAML parser (libyaml) stopped. Nothing after this place in the file was read.",
    ),
    "CP102": Code(
        "duplicate key",
        "key {key!r} is written twice in one mapping",
        "keep one of the two",
        "YAML readers keep one of two equal keys in silence, some the first and some the last, so cpuplan refuses both.",
    ),
    "CP103": Code(
        "ambiguous scalar",
        "{text} is {first} to YAML 1.1 and {second} to YAML 1.2",
        "quote it if text is meant ({quoted}), else write {plain}",
        "Readers of YAML 1.1 (PyYAML, Go's yaml.v2) and 1.2 (ruamel, yaml.v3) understand this scalar differently: "
        "`on`, `yes`, `017`, `1_000`, `12:30`, dates. cpuplan takes true, false, null, decimal integers and text.",
    ),
    "CP104": Code(
        "number with a fraction",
        "{text} is read as the number {value}, which loses how it was written",
        "quote it: {quoted}",
        "A version such as 4.20 becomes 4.2 when it is read as a number. No field of cpuplan is a fraction.",
    ),
    "CP105": Code(
        "anchor, alias or tag",
        "{what} {text!r} is not taken",
        "write the value out",
        "Aliases can expand a small file to gigabytes (CVE-2019-11253) and hide what a reviewer reads; tags change "
        "types. Inventories and intents are read by people, so every value stands where it holds.",
    ),
    "CP106": Code(
        "document too large",
        "the file has {found} {what}, more than the {limit} that are read",
        "split it into several files",
        "Files are read up to 64 MiB, 2,000,000 values, 64 levels of nesting and scalars of 1 MiB.",
    ),
    "CP107": Code(
        "not a mapping with text keys",
        "{what}",
        "write `key: value` pairs",
        "Each document is a mapping, and every key is text.",
    ),
    "CP108": Code(
        "unreadable file",
        "{path} cannot be read: {problem}",
        "correct the path or its permissions",
        "The operating system refused to open or read the file, or its bytes are not UTF-8.",
    ),
    "CP109": Code(
        "nothing to read",
        "{path} holds no Hardware, Nodes or Intent document",
        "run `cpuplan init` for a first project, or `cpuplan -C DIR` for another folder",
        "cpuplan reads every .yaml and .yml file under `inventories/` and `intents/` of the project folder.",
    ),
}

WRITING = {
    "CP601": Code(
        "not a place to write to",
        "{path} is {kind}, where cpuplan writes {wanted}",
        "remove or rename it, or choose another place",
        "The output is a folder of its own: not a file, not a symbolic link, and not the current folder or one above it, "
        "because the folder is exchanged as a whole. A single file is not written through a symbolic link.",
    ),
    "CP602": Code(
        "foreign file in the way",
        "{path} is {kind} that cpuplan did not write, where {wanted} belongs",
        "move it elsewhere, then compile again",
        "Beside its own files, the output folder may hold anything. cpuplan changes and deletes only what "
        "`.cpuplan/manifest.json` lists, so a foreign file that stands where a new one belongs stops the compilation, "
        "also with `--force`.",
    ),
    "CP603": Code(
        "edited by hand",
        "{path} is not as cpuplan wrote it",
        "say it in the intent and restore the file, or drop the edit with `cpuplan compile --force`",
        "The file's SHA-256 differs from the one in `.cpuplan/manifest.json`, and from what would be written now. The "
        "edit would be lost without a word.",
    ),
    "CP604": Code(
        "damaged manifest",
        "{path} is not a manifest of cpuplan: {problem}",
        "restore it from Git; after a merge conflict take either side whole, then `cpuplan compile --force`",
        "The manifest says which files of the output folder belong to cpuplan. Without it nothing is changed or "
        "deleted.",
    ),
    "CP605": Code(
        "mount point",
        "{path} is a mount point",
        "mount the folder above the output folder instead, and nothing inside it",
        "The output folder is replaced in one step by exchanging it with a folder beside it (renameat2(2)), which needs "
        "both on one file system. In a container, mount the project and not only its output folder.",
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
}

CODES: dict[str, Code] = {**READING, **WRITING}
