"""Why nobody reads a file that was given by name, and what it was perhaps meant to be."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cpuplan.base.text import nearest
from cpuplan.diagnostics.source import Source
from cpuplan.language.read.pods import KINDS
from cpuplan.simulate.files.kubelet_owners import KUBELET_ARG
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND, STRUCTS

_ANYTHING = (
    "give documents of cpuplan, objects of OpenShift, or files for kubelets: of kubeadm, K3s, Talos"
)


class Reason(NamedTuple):
    """What a file is, and what to do."""

    what: str
    hint: str


def reason(sources: Sequence[Source]) -> Reason:
    """What the file is, and what to do."""
    if not sources:
        return Reason("it has no document", _ANYTHING)
    data: Any = sources[0].data
    kind = str(data.get("kind") or "")
    what = f"it is a {kind}" if kind else "it has no kind that says what it is"
    if near := nearest(kind, (KIND,)) if kind else None:
        return Reason(what, f"did you mean {near!r}?")
    if kind in KINDS:
        return Reason(what, "`cpuplan simulate` reads pods, and workloads with them")
    if not kind:
        return Reason(what, _hint_of_keys(data))
    return Reason(what, _ANYTHING)


def of_template(name: str) -> Reason:
    """A template of Helm, or of the containerd of K3s and RKE2."""
    what = "it has templates, which a program has still to fill in"
    if name.endswith((".toml.tmpl", ".toml")):
        return Reason(what, "give --containerd the config.toml that K3s or RKE2 writes of it")
    return Reason(what, "run `helm template`, and give cpuplan what it prints")


def _hint_of_keys(data: Any) -> str:
    """By the keys: fields of a kubelet's configuration, or a misspelt option of K3s."""
    if any(name in STRUCTS[KIND] for name in data):
        return f"for the kubelet, write `apiVersion: {API_VERSION}` and `kind: {KIND}` above"
    if any(nearest(str(name), (KUBELET_ARG,)) for name in data):
        return f"did you mean {KUBELET_ARG!r}?"
    return _ANYTHING
