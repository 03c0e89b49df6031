"""Reading files: the CP10x."""

from cpuplan.codes.code import Code

CODES = {
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
        "YAML readers keep one of two equal keys in silence, some the first and some the last; cpuplan refuses both.",
    ),
    "CP103": Code(
        "ambiguous scalar",
        "{text} is {first} to YAML 1.1 and {second} to YAML 1.2",
        "quote it if text is meant: {quoted}{otherwise}",
        "Readers of YAML 1.1 (PyYAML, Go's yaml.v2) and 1.2 (ruamel, yaml.v3) understand this scalar differently: "
        "`on`, `yes`, `017`, `1_000`, `12:30`, dates. cpuplan takes true, false, null, decimal integers and text.",
    ),
    "CP104": Code(
        "number other than a whole decimal one",
        "{text} is the number {value} to YAML, neither a plain whole number nor text",
        "quote it if text is meant: {quoted}, else write a plain whole number",
        "A version such as 4.20 becomes 4.2 when it is read as a number, 0x1f becomes 31, and whole numbers of more "
        "than 64 bits are rounded. No field of cpuplan is a fraction; its whole numbers are written like 0, 17 or -3.",
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
        "the file exceeds the limit of {limit} {what}",
        "make it smaller, or split it into several files",
        "The limits are 64 MiB per file, 2,000,000 keys and values, 64 levels of nesting, 1,048,576 characters per "
        "scalar, and 1000 errors, after which the rest of a file is not looked at.",
    ),
    "CP107": Code(
        "not a mapping with text keys",
        "{what}",
        "write `key: value` pairs; a key that looks like a number, true or null needs quotes",
        "Each document is a mapping, and every key is text.",
    ),
    "CP108": Code(
        "unreadable file or folder",
        "{path} cannot be read: {problem}",
        "correct the path, its permissions or its encoding",
        "The operating system refused to open or read the file or folder, a link leads to nothing or in a circle, or a name "
        "or the bytes of a file are not UTF-8. What cannot be read may hold anything, so nothing is compiled without it.",
    ),
    "CP109": Code(
        "nothing to read",
        "there is no Hardware, Nodes or Intent document in {path}",
        "run `cpuplan init` for a first project, or `cpuplan -C DIR` for another folder",
        "cpuplan reads every .yaml and .yml file under `inventories/` and `intents/` of the project folder.",
    ),
    "CP113": Code(
        "tab outside of quotes",
        "a tab stands here, which not every reader of YAML takes",
        "put a blank in its place, or quotes around the text",
        "YAML 1.2 has tabs between values and inside of plain text; PyYAML, ruamel and others stop at them. They may stand "
        "in quoted text, in block text and in comments.",
    ),
    "CP114": Code(
        "no canonical form",
        "{path} cannot be put into its canonical form: {problem}",
        "write the document in a plainer way, or leave it out: `cpuplan fmt` takes the files to work on",
        "`fmt` reads a file with a second reader that keeps comments, and reads again what it is about to write. It leaves the "
        "file as it is unless every value is the same.",
    ),
    "CP110": Code(
        "link out of the project",
        "{path} is not read: {problem}",
        "put a copy of the file or folder there, or run cpuplan on the folder that holds both (`cpuplan -C DIR`)",
        "Whoever reviews a repository sees where a link leads, not what is there, and each machine has something else "
        "there. Links to files and folders inside the project are followed; what is reached twice is read once.",
    ),
    "CP111": Code(
        "not a file",
        "{path} is not read: {problem}",
        "remove it, or give it a name that does not end in .yaml or .yml",
        "Reading a pipe would wait for its writer, perhaps for ever, and reading a device may never end. Git stores "
        "neither. A pipe on the command line (`<(...)`, `-`) is read by `import`.",
    ),
    "CP112": Code(
        "too many files",
        "{path} is not read: {problem}",
        "remove what does not belong there, or split the project",
        "The limits are 100,000 files in the input folders of a project and 1,000,000 names that are looked at to find "
        "them. For limits within one file see CP106.",
    ),
    "CP139": Code(
        "written for a later cpuplan",
        "{what} is of version {found}; this cpuplan reads {expected}",
        "upgrade cpuplan",
        "Somebody wrote the file with, or for, a later release, and what this one would make of it is not what they meant. "
        "Of `cpuplan.io` a later version is one that Kubernetes orders so: v1alpha1, v1alpha2, v1beta1, v1, v2alpha1.",
    ),
}
