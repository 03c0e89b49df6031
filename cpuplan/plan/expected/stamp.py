"""The stamp: a file on each node that says whose files it has."""

from typing import NamedTuple

from cpuplan.base.emit import to_json
from cpuplan.base.fits import Form
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.plan.expected.state import Expected

#: On nodes whose files are delivered as files.
PATH = "/etc/cpuplan/plan.json"


_KEYS = ("cluster", "class", "digest")
_FILE = Form(
    {
        "type": "object",
        "required": [*_KEYS],
        "properties": {key: {"type": "string"} for key in _KEYS},
    }
)


class Stamp(NamedTuple):
    """The class that files were compiled for, and the digest of its plan."""

    cluster: str
    name: str
    digest: str


def of(expected: Expected) -> Stamp:
    """The stamp of the nodes of a class."""
    return Stamp(expected.cluster, expected.name, expected.digest)


def render(stamp: Stamp) -> str:
    """The file of a stamp."""
    return to_json({"class": stamp.name, "cluster": stamp.cluster, "digest": stamp.digest})


def parse(text: str) -> Stamp | None:
    """The stamp of a file; None for anything else."""
    try:
        data = read_json(text, _FILE)
    except ForeignError:
        return None
    return Stamp(data["cluster"], data["class"], data["digest"])
