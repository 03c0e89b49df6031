"""What the kubelet sees of a machine otherwise than the kernel, below its picture."""

from collections.abc import Iterator

from cpuplan.kubelet.view import deviations
from cpuplan.model.topology import Topology

_NOUNS = {"CP360": "cores", "CP361": "last-level caches", "CP363": "NUMA nodes"}


def kubelet_notes(topology: Topology) -> Iterator[str]:
    """A line for each deviation, with the code that explains it."""
    for code, values in deviations(topology):
        if code in _NOUNS:
            yield f"{_NOUNS[code]} that the kubelet sees: {values['found']}; {values['example']} ({code})"
        else:
            yield f"not seen by the kubelet: {values['cpus']} ({code})"
