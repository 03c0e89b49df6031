"""The objects that the API of a cluster must have: written by `compile`, read by `check`.

Each has a file of its own, so that branches which add different ones can be merged.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.diagnostics import Reason
from cpuplan.emit import to_json
from cpuplan.served.json import (
    TEXT,
    TEXTS,
    ForeignError,
    Items,
    Limits,
    Shape,
    load,
    measure,
    misfit,
    path_of,
)

#: The form of a file. A program reads files of its own form only.
FORM = 1
#: Below the folder of a cluster in `out/`.
FOLDER = "expected/objects"
#: Of a file: an object is smaller than what etcd takes (1.5 MB).
_LIMITS = Limits(bytes=4 * 1024**2, values=200_000, depth=100)
_SHAPE: Shape = {
    "object": {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {"name": TEXT, "namespace": TEXT, "labels": TEXTS, "annotations": TEXTS},
    },
    "because": Items({"text": TEXT, "origin": TEXT}),
}


class Compiled(NamedTuple):
    """An object as it was compiled, and why there is one.

    `is_for_host`: it belongs into the cluster that hosts the control plane of this one.
    """

    data: Mapping[str, Any]
    because: tuple[Reason, ...] = ()
    is_for_host: bool = False

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.data["metadata"].get("namespace") or "")

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def file_of(manifest: str) -> str:
    """The name of an object's file, by that of its manifest."""
    return f"{manifest.removesuffix('.yaml')}.json"


def render(compiled: Compiled) -> str:
    """The file of an object."""
    data = {
        "form": FORM,
        "object": compiled.data,
        "because": [reason._asdict() for reason in compiled.because],
        "isForHost": compiled.is_for_host,
    }
    return to_json(data)


def read(text: str) -> Compiled:
    """The object of a file. Raises ValueError with the problem."""
    try:
        data = load(text, _LIMITS)
        measure(data, _LIMITS)
        if data["form"] != FORM:
            raise ValueError(f"its form is {data['form']}, and this release reads form {FORM}")
        if wrong := misfit(data, _SHAPE):
            raise ValueError(f"its {path_of(wrong[0])} is {wrong[1]}")
        return _compiled(data)
    except ForeignError as error:
        raise ValueError(f"it {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it is no compiled object") from error


def _compiled(data: Mapping[str, Any]) -> Compiled:
    reasons = tuple(Reason(each["text"], each["origin"]) for each in data["because"])
    made = Compiled(data["object"], reasons, bool(data["isForHost"]))
    if not (made.kind and made.name and made.data["apiVersion"]):  # what is looked for
        raise ValueError("its object has no kind, name or version")
    return made
