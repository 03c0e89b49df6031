"""The rule for names of what becomes a file or an object, such as documents and nodes.

Names are RFC 1123 subdomains, label by label, as apimachinery's IsDNS1123Subdomain takes them, and
good as file names on every system where a repository is checked out.
"""

import re
from hashlib import sha256

#: Characters of a DNS label, of what Kubernetes takes labels for (namespaces), and of the value of
#: an object's label.
LONGEST_LABEL = 63
#: Characters of an object's name (apimachinery, DNS1123SubdomainMaxLength).
LONGEST_OBJECT = 253
#: Bytes of a file's name (NAME_MAX of Linux, and what Windows and macOS take of ASCII).
LONGEST_FILE = 255
#: What stands around a name at most where files and objects are called after it; a test compares
#: them with what is written: the prediction of a MachineConfig, a Tuned, a NodeResourceTopology,
#: and a document while it is written.
AROUND_PROFILE = ("machineconfig-50-performance-", ".yaml")
AROUND_TUNED = ("openshift-node-performance-", "")
AROUND_NODE = ("", ".yaml")
AROUND_DOCUMENT = (".hardware-", ".yaml.cpuplan-stage")


def _room(around: tuple[str, str], longest: int = LONGEST_FILE) -> int:
    return longest - len("".join(around))


#: Of a document, and of a class of nodes, after which objects are called where each class has a
#: separate pool.
LONGEST_NAME = min(
    _room(AROUND_PROFILE), _room(AROUND_TUNED, LONGEST_OBJECT), _room(AROUND_DOCUMENT)
)
#: Of a node.
LONGEST_NODE = min(_room(AROUND_NODE), LONGEST_OBJECT)

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#: Devices of Windows, whatever follows after a dot (Microsoft, "Naming Files, Paths, and
#: Namespaces").
_DEVICE = r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)"
#: For editors, and for `problem_of`; lengths are checked separately.
LABEL_PATTERN = f"^(?!{_DEVICE}){_LABEL}$"
NAME_PATTERN = rf"^(?!{_DEVICE}){_LABEL}(\.{_LABEL})*$"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAMED_AS_DEVICE = re.compile(_DEVICE.replace("$", r"\Z"))
#: Keys and values of labels (apimachinery, IsQualifiedName and IsValidLabelValue), for editors too.
_PART = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_KEY_PATTERN = rf"^({_LABEL}(\.{_LABEL})*/)?{_PART}$"
LABEL_VALUE_PATTERN = f"^({_PART})?$"
_VALUE = re.compile(_PART)


def is_namespace(text: str) -> bool:
    """Whether a text is the name of a namespace."""
    return len(text) <= LONGEST_LABEL and bool(re.fullmatch(_LABEL, text))


def is_label_key(text: str) -> bool:
    """Whether a text is the key of a label: a name, perhaps after a DNS domain and a slash."""
    prefix, slash, name = text.rpartition("/")
    return (not slash or is_subdomain(prefix)) and bool(_VALUE.fullmatch(name))


def is_label_value(text: str) -> bool:
    """Whether a text is the value of a label."""
    return not text or bool(_VALUE.fullmatch(text))


def problem_of(name: str, longest: int = LONGEST_NAME, *, dots: bool = True) -> str:
    """Why `name` is none, as a sentence after it; empty where it is one."""
    if len(name) > longest:
        return (
            f"has {len(name)} characters; the limit is {longest}, because longer names are "
            "derived from it"
        )
    if other := re.search("[^-a-z0-9.]" if dots else "[^-a-z0-9]", name):
        allowed = (
            "lower-case letter, digit, dash or dot" if dots else "lower-case letter, digit or dash"
        )
        return f"has {other[0]!r}, which is not a {allowed}"
    labels = name.split(".")
    if "" in labels:
        return "is empty" if not name else "has a dot without letters or digits on both sides"
    if wrong := next(
        (label for label in labels if label.startswith("-") or label.endswith("-")), ""
    ):
        return (
            "begins or ends with a dash"
            if wrong == name
            else f"has the part {wrong!r}, with a dash at an end"
        )
    if _NAMED_AS_DEVICE.match(name):
        return (
            f"begins with {labels[0]!r}, which Windows reserves for a device: no file can "
            "have this name there"
        )
    return ""


def is_subdomain(name: str) -> bool:
    """Whether the API server takes `name` as that of an object; `problem_of` refuses more."""
    return len(name) <= LONGEST_OBJECT and bool(_SUBDOMAIN.fullmatch(name))


def is_label(key: str, value: str) -> bool:
    """Whether the API server takes this label."""
    return is_label_key(key) and is_label_value(value)


def name_from(text: str, default: str, longest: int = LONGEST_NAME, *, dots: bool = True) -> str:
    """A name that is as much as possible like `text`; `default` where there is nothing like it."""
    labels = re.split(r"\.+" if dots else r"\.", text.lower())
    found = [re.sub("[^-a-z0-9]+", "-", label).strip("-") for label in labels]
    name = ("." if dots else "-").join(filter(None, found))[:longest].strip("-.")
    return (
        f"{default}-{name}"[:longest].strip("-.")
        if _NAMED_AS_DEVICE.match(name)
        else name or default
    )


def shortened(name: str, longest: int) -> str:
    """The name, or a beginning of it with a digest that tells it from others."""
    if len(name) <= longest:
        return name
    digest = sha256(name.encode()).hexdigest()[:8]
    return f"{name[: longest - 9].rstrip('-.')}-{digest}"


def instead_of(text: object, longest: int = LONGEST_NAME, *, dots: bool = True) -> str:
    """The beginning of a remedy: a name like `text`; empty where there is nothing like it."""
    name = name_from(text, "", longest, dots=dots) if isinstance(text, str) else ""
    return f'write "{name}", or ' if name and not problem_of(name, longest, dots=dots) else ""
