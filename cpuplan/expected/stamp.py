"""The stamp: a file on each node that says whose files it has."""

import json
from typing import Any, NamedTuple

from cpuplan.emit import to_json
from cpuplan.expected.state import Expected

#: On nodes whose files are delivered as files.
PATH = "/etc/cpuplan/plan.json"


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
        data: Any = json.loads(text)
        return Stamp(str(data["cluster"]), str(data["class"]), str(data["digest"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
