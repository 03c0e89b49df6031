"""The same pods under the kubelet alone and under Koordinator, and what each can promise."""

from cpuplan.render.simulation.mechanisms import pods_text, promises_text
from cpuplan.simulate.fleet import Result
from cpuplan.simulate.mechanisms.promises import KOORDINATOR, KUBELET


def text(kubelet: Result, koordinator: Result) -> str:
    """A line for each pod, then one for each promise."""
    pods = pods_text({KUBELET: kubelet, KOORDINATOR: koordinator}, whole=True)
    return f"\n{pods}\n{promises_text([KUBELET, KOORDINATOR], whole=True)}"
