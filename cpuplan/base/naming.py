"""Names of what becomes a file or an object, and ranges of node names: `worker-[00-11]`.

Names are RFC 1123 subdomains, label by label, as apimachinery's IsDNS1123Subdomain takes them, and
good as file names on every system where a repository is checked out.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

from cpuplan.base.patterns import expression

_NODE_RANGE = expression(r"\[([0-9]+)-([0-9]+)\]")
#: The most names of one pattern, or of all patterns of a selector.
MOST = 100_000
TOO_MANY = f"with those before it, it expands to more than {MOST:,} names"
#: Characters of a node's name (apimachinery, DNS1123SubdomainMaxLength).
_LONGEST = 253


def expand_names(pattern: str) -> list[str]:
    """Expand `worker-[00-11]` into its names, zeros kept; of several ranges, the last runs first.

    Raises ValueError for a range that runs backwards, for more than 100,000 names, and for ranges
    of which each name is longer than that of a node.
    """
    _check(pattern)
    names = [""]
    at = 0
    for match in _NODE_RANGE.finditer(pattern):
        first, last = int(match[1]), int(match[2])
        numbers = [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
        names = [
            name + pattern[at : match.start()] + number for name in names for number in numbers
        ]
        at = match.end()
    return [name + pattern[at:] for name in names]


def expand_all(patterns: Iterable[str]) -> list[str]:
    """The names of several patterns, which are as many as one may have; ValueError like it."""
    names: list[str] = []
    for pattern in patterns:
        names += expand_names(pattern)
        if len(names) > MOST:
            raise ValueError(TOO_MANY)
    return names


def _check(pattern: str) -> None:
    """Raise ValueError for a pattern whose names are too many or too long, before any is made."""
    count, length = 1, len(pattern)
    for match in _NODE_RANGE.finditer(pattern):
        digits = len(match[1])
        length += digits - len(match[0])
        if max(digits, len(match[2])) > _LONGEST:
            raise ValueError(f"a number of a range has more than {_LONGEST} digits")
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise ValueError(f"the range {match[0]} runs backwards")
        count *= last - first + 1
        if count > MOST:
            raise ValueError(f"it expands to more than {MOST:,} names")
    if count > 1 and length > _LONGEST:
        raise ValueError(f"its names are longer than {_LONGEST} characters")


def fold_names(names: Iterable[str]) -> list[str]:
    """`worker-[0-2]` for worker-0, worker-1, worker-2; `expand_names` undoes it.

    The last number of a name's first label becomes a range.
    """
    runs: list[tuple[str, str, list[str]]] = []
    parts = sorted(
        map(_split_at_number, names), key=lambda part: (part[0], part[2], _order(part[1]))
    )
    for prefix, digits, suffix in parts:
        same_names = bool(runs) and runs[-1][:2] == (prefix, suffix)
        if same_names and digits and _follows(runs[-1][2][-1], digits):
            runs[-1][2].append(digits)
        else:
            runs.append((prefix, suffix, [digits]))
    return [f"{prefix}{_range_of(digits)}{suffix}" for prefix, suffix, digits in runs]


def _split_at_number(name: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"([^.]*?)(\d{0,9})((?:[^.\d][^.\d]*)?(?:\..*)?)", name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _order(digits: str) -> tuple[int, int]:
    return int(digits or 0), len(digits)


def _follows(last: str, digits: str) -> bool:
    """Whether a range from `last` to `digits` has just these two numbers, zeros included."""
    if not last or int(digits) != int(last) + 1:
        return False
    # `expand_names` pads each number to the width of the first
    return str(int(digits)).zfill(len(last)) == digits


def _range_of(digits: list[str]) -> str:
    return f"[{digits[0]}-{digits[-1]}]" if len(digits) > 1 else digits[0]


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
_SUBDOMAIN = expression(rf"{_LABEL}(\.{_LABEL})*")
_NAMED_AS_DEVICE = expression(_DEVICE.replace("$", r"\Z"))
#: Keys and values of labels (apimachinery, IsQualifiedName and IsValidLabelValue), for editors too.
_PART = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_KEY_PATTERN = rf"^({_LABEL}(\.{_LABEL})*/)?{_PART}$"
LABEL_VALUE_PATTERN = f"^({_PART})?$"
_VALUE = expression(_PART)


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
    cleaned = [re.sub("[^-a-z0-9]+", "-", label).strip("-") for label in labels]
    name = ("." if dots else "-").join(filter(None, cleaned))[:longest].strip("-.")
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
