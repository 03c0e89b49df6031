"""How the kubelet sees a machine differently from the kernel, below its picture."""

from collections.abc import Iterator

from cpuplan.base.cpuset import cpus_text
from cpuplan.base.topology import Topology
from cpuplan.components.checks import kubelet_view
from cpuplan.upstream.kubelet.sysinfo import deviations, unseen_cpus


def kubelet_notes(topology: Topology) -> Iterator[str]:
    """A line for each deviation, with the code that explains it."""
    if unseen := unseen_cpus(topology):
        yield f"not seen by the kubelet: {cpus_text(unseen)} (CP362)"
    for deviation in deviations(topology):
        noun, number = f"{deviation.kind.value}s", deviation.kubelet
        code, *_ = kubelet_view.CODES[deviation.kind]
        sentence = kubelet_view.sentence(deviation)
        yield f"{noun} that the kubelet sees: {number}; {sentence} ({code})"
