"""Reading files: the CP10x."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP101": Code(
        "invalid YAML",
        "invalid YAML: {problem}",
        "correct the syntax at or just before this position",
        "The YAML parser (libyaml) stopped here. The rest of the file was not read.",
    ),
    "CP102": Code(
        "duplicate key",
        "key {key!r} appears twice in one mapping",
        "keep only one of them",
        "YAML readers silently keep one of two equal keys, some the first and some the last. cpuplan refuses both.",
    ),
    "CP103": Code(
        "ambiguous scalar",
        "{text} is {first} in YAML 1.1 and {second} in YAML 1.2",
        "if text is meant, quote it: {quoted}{alternative}",
        "Readers of YAML 1.1 (PyYAML, Go's yaml.v2) and 1.2 (ruamel, yaml.v3) interpret this scalar differently: `on`, "
        "`yes`, `017`, `1_000`, `12:30`, dates. cpuplan accepts true, false, null, decimal integers and text.",
    ),
    "CP104": Code(
        "not a decimal integer",
        "YAML reads {text} as the number {value}, which is neither a decimal integer nor text",
        "if text is meant, quote it: {quoted}; otherwise write a decimal integer",
        "A version such as 4.20 becomes 4.2 when it is read as a number, 0x1f becomes 31, and integers of more than 64 "
        "bits are rounded. No field of cpuplan is a fraction. Integers are written like 0, 17 or -3.",
    ),
    "CP105": Code(
        "anchor, alias or tag",
        "{what} {text!r} is not supported",
        "write out the value",
        "Aliases can expand a small file to gigabytes (CVE-2019-11253) and hide values from a reviewer. Tags change "
        "types. Inventories and intents are read by people, so every value is written where it applies.",
    ),
    "CP106": Code(
        "document too large",
        "the file exceeds the limit of {limit} {what}",
        "make it smaller, or split it into several files",
        "The limits are 64 MiB per file, 2,000,000 keys and values, 64 levels of nesting, 1,048,576 characters per "
        "scalar, and 1000 errors, after which the rest of a file is not checked.",
    ),
    "CP107": Code(
        "not a mapping with text keys",
        "{what}",
        "write `key: value` pairs; quote a key that looks like a number, true or null",
        "Each document must be a mapping, and every key must be text.",
    ),
    "CP108": Code(
        "unreadable file or folder",
        "{path} cannot be read: {problem}",
        "correct the path, its permissions or its encoding",
        "The operating system refused to open or read the file or folder, a link is broken or circular, or the name or "
        "the content of a file is not UTF-8. A file that cannot be read may contain anything, so nothing is compiled "
        "without it.",
    ),
    "CP109": Code(
        "no documents",
        "no Hardware, Nodes or Intent document in {path}",
        "run `cpuplan init` to create a first project, or `cpuplan -C DIR` to use another folder",
        "cpuplan reads every .yaml and .yml file under `inventories/` and `intents/` of the project folder.",
    ),
    "CP113": Code(
        "tab outside quotes",
        "not every YAML reader accepts a tab here",
        "use a space instead, or quote the text",
        "YAML 1.2 allows tabs between values and inside plain text. PyYAML, ruamel and others reject them there. Tabs "
        "are allowed in quoted text, in block text and in comments.",
    ),
    "CP114": Code(
        "file not rewritten",
        "{path} cannot be rewritten: {problem}",
        "simplify the document, or leave it out: `cpuplan fmt` accepts the files to format",
        "`fmt` reads its own result again before it writes it: as it reads every file, and with ruamel.yaml. The file is "
        "changed only if both find the same values and comments, and each comment stands with the same key or item as "
        "before. `import` asks ruamel.yaml too before it changes a file of an inventory: nothing but the values that "
        "it found may differ, and only comments that stood with a removed value are removed, with a note.",
    ),
    "CP110": Code(
        "link to outside the project",
        "{path} is not read: {problem}",
        "put a copy of the file or folder there, or run cpuplan on the folder that contains both (`cpuplan -C DIR`)",
        "A reviewer of a repository sees the link and not its target, and the target differs between machines. Links "
        "to files and folders inside the project are followed. A file that is reached twice is read once.",
    ),
    "CP111": Code(
        "not a file",
        "{path} is not read: {problem}",
        "remove it, or give it a name that does not end in .yaml or .yml",
        "Reading a pipe waits for its writer, perhaps forever, and reading a device may never end. Git stores neither. "
        "`import` reads a pipe that is given on the command line (`<(...)`, `-`).",
    ),
    "CP112": Code(
        "too many files",
        "{path} is not read: {problem}",
        "remove files that do not belong there, or split the project",
        "The limits are 100,000 files in the input folders of a project, and 1,000,000 names that are searched to find "
        "them. For limits within one file see CP106.",
    ),
    "CP1110": Code(
        "repository inside the project",
        "{path} is a Git repository inside the project",
        "move what makes it one (`HEAD`, `objects` and `refs`, or `.git`) out of the project; a submodule belongs beside "
        "the project's own folders",
        "A folder with `HEAD`, `objects` and `refs`, or the name `.git`, is a repository for every program of Git that "
        "starts below it, and its configuration names programs that these start. cpuplan's own folders (`inventories/`, "
        "`intents/`, `pods/`, `out/`) hold none, so nobody needs to ask whose it is.",
    ),
    "CP1175": Code(
        "input that takes too much",
        "{problem}; the file that was read last is {path}",
        "make the input smaller, or less nested; if it is of a usual size, give the command more memory, and report it",
        "What is read is bounded, and what a valid input needs is known: a machine's CPUs, the depth of a document. An "
        "input that takes all memory that the process may have, or more nesting than Python follows, is not worked on. "
        "The file is the last one that was begun; what takes so much may stand in one before it. Files are written whole or not at all.",
    ),
    "CP139": Code(
        "written for a later cpuplan",
        "{what} has version {found}; this release of cpuplan reads {expected}",
        "upgrade cpuplan",
        "The file was written with, or for, a later release, and this release could misinterpret it. Versions of "
        "`cpuplan.io` are ordered as in Kubernetes: v1alpha1, v1alpha2, v1beta1, v1, v2alpha1.",
    ),
}
