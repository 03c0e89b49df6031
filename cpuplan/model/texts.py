"""Types of texts in documents: bounded, visible, and on one line but for reasons (pydantic).

Whoever wrote a document may be hostile, and its texts reach scripts, reports and terminals. So a
field of type `str` by itself is none of ours: a test finds it.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from cpuplan import naming
from cpuplan.model.base import matching, problem
from cpuplan.printable import printable

#: Controls, line ends, and what is invisible or changes the direction of text; `printable` escapes
#: the same, and blanks that do not break.
_HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff0-\ufffb\ufffe\uffff"
)
#: As above, but line ends and tabs, and what joins the letters of some scripts.
_HIDDEN_IN_WORDS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff0-\ufffb\ufffe\uffff"
)
_LONGEST_LINE = 1_000
_LONGEST_WORDS = 4_000


def visible(text: str) -> str:
    """The text, if it has no tags (U+E0000 and on), which no pattern for all readers can name."""
    if any("\U000e0000" <= letter <= "\U000e0fff" or letter in "\ufffe\uffff" for letter in text):
        raise problem("hidden_text", "text without invisible characters")
    return text


#: A name or title on one line, in any language.
Line = Annotated[
    str,
    matching(rf"^[^{_HIDDEN}]*$", "text on one line, without control and invisible characters"),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]


def _escaped(text: str) -> str:
    return printable(text)[:_LONGEST_LINE]


#: What firmware, a kernel or a driver says of a machine, which nobody can correct: escapes stand
#: for what is not visible, as everywhere that it is shown.
MachineText = Annotated[str, AfterValidator(_escaped)]
#: The field of a document that something is about.
Place = Annotated[
    str,
    matching(
        rf"^[A-Z][A-Za-z]*/[a-z0-9.-]+(:[^\s{_HIDDEN}]+)?$",
        "a document such as Intent/ran-du, or a field of it such as "
        "Intent/ran-du:spec.pools.shared",
        "Intent/ran-du:spec.pools.shared",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]
#: A line that is not empty.
NonEmptyLine = Annotated[Line, Field(min_length=1)]
#: Sentences, perhaps in a block of lines.
Words = Annotated[
    str,
    matching(
        rf"^[^{_HIDDEN_IN_WORDS}]*$", "text in words, without control and invisible characters"
    ),
    Field(max_length=_LONGEST_WORDS),
    AfterValidator(visible),
]


def _said(text: str) -> str:
    if not text.strip():
        raise problem("no_words", "a reason in words")
    return text


#: A reason for later readers.
Reason = Annotated[Words, AfterValidator(_said)]

LabelKey = Annotated[
    str,
    matching(
        naming.LABEL_KEY_PATTERN,
        "the key of a label, such as node-role.kubernetes.io/worker",
        "node-role.kubernetes.io/worker",
    ),
]
LabelValue = Annotated[
    str,
    matching(
        naming.LABEL_VALUE_PATTERN,
        "the value of a label: up to 63 letters, digits, dots, dashes and underscores",
        "worker",
    ),
]
Labels = dict[LabelKey, LabelValue]
#: A node's name, or a range of names: each must be a name (CP228), so no rule is repeated here.
NodeNames = Annotated[str, Field(min_length=1, max_length=_LONGEST_LINE)]
#: Names of nodes that something is for, with ranges and `*`.
NodePattern = Annotated[
    str,
    matching(
        rf"^[^\s{_HIDDEN}]+$",
        "names of nodes without blanks, such as worker-[00-11]",
        "worker-[00-11]",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(visible),
]
#: A file or folder of a node.
AbsolutePath = Annotated[
    str,
    matching(rf"^/[^{_HIDDEN}]*$", "an absolute path", "/etc/crio/crio.conf.d/05-logs.conf"),
    Field(max_length=4096),
    AfterValidator(visible),
]
#: A key of settings that others define: options of the kubelet, resources, feature gates.
Key = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,250}[A-Za-z0-9])?$",
        "a name of letters, digits, dots, dashes, underscores and slashes",
        "cpu",
    ),
]
#: A quantity, percentage or switch of such a key; which one is asked of the program that reads it.
KeyValue = Annotated[
    str,
    matching(
        r"^((-?[0-9.+]|[A-Za-z])[A-Za-z0-9.%+-]{0,63})?$",
        "letters, digits, dots, signs or a percent sign",
        "500Mi",
        "10%",
    ),
]
_URL = r"[A-Za-z0-9._~:/?@!&*+,=%\[\]-]"
#: Never with what templates, shells or Markdown read (braces, quotes, `$`, blanks).
WebAddress = Annotated[
    str,
    matching(rf"^https?://[A-Za-z0-9\[]{_URL}*$", "a URL without blanks, quotes and fragment"),
    Field(max_length=_LONGEST_LINE),
]
_USER = "([A-Za-z0-9][A-Za-z0-9._~%+:-]*@)?"
#: A host that begins with a dash would be an option of ssh (CVE-2017-1000117).
Repository = Annotated[
    str,
    matching(
        rf"^((https|ssh)://{_USER}[A-Za-z0-9\[]|git@[A-Za-z0-9\[]){_URL}*$",
        "a URL without blanks and quotes that begins with https://, ssh:// or git@",
        "https://git.example.com/platform/cpus.git",
    ),
    Field(max_length=_LONGEST_LINE),
]


def _reference(text: str) -> str:
    """The text, if Git takes it as a branch (git-check-ref-format)."""
    parts = text.split("/")
    is_wrong = any(part.startswith(".") or part.endswith(".lock") for part in parts)
    if is_wrong or "" in parts or ".." in text or text.endswith("."):
        raise problem("git_reference", "a branch or tag as Git takes it, such as release/4.20")
    return text


#: What no program takes for an option, and Git for nothing else.
Revision = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9_][A-Za-z0-9_.+/#=,-]*$",
        "a branch or tag: letters, digits, dots, dashes, slashes",
        "main",
    ),
    Field(max_length=_LONGEST_LINE),
    AfterValidator(_reference),
]
