"""All that happens to nodes without an operator, on every platform but OpenShift."""

from collections.abc import Iterator

from cpuplan.change.impact.impact import Step
from cpuplan.change.impact.rules import deliveries, nodes, settings_only, statefiles
from cpuplan.change.impact.rules.differences import Changed, Half
from cpuplan.change.impact.rules.table import RULES
from cpuplan.plan.expected.state import Expected

_RUNTIMES = ("crio", "containerd")


def steps(before: Half, after: Half, changes: tuple[Changed, ...]) -> Iterator[Step]:
    """What the nodes of a pair need."""
    if after.key is None:
        yield RULES["node-leaves"].step("the nodes are in no class")
        return
    of_api = [each for each in changes if each.component in nodes.OF_API]
    others = [each for each in changes if each.component not in nodes.OF_API]
    state = after.state
    platform = state.release.platform if state else ""
    yield from nodes.of_settings(of_api)
    if platform in settings_only.RULES_OF:
        made = list(settings_only.steps(platform, before, after, others))
        yield from made
        yield from statefiles.steps(before, after, changes) if made else ()
        return
    yield from _runtime(before, state)
    unit = nodes.kubelet_service(after)
    files = [*statefiles.steps(before, after, changes), *nodes.steps(before, after, others, unit)]
    yield from deliveries.steps(before, after, files, (_runtime_unit(state, unit), unit))


def _runtime(before: Half, state: Expected | None) -> Iterator[Step]:
    """A node whose container runtime is another one from now on."""
    old = before.state
    if old and state and old.release.runtime != state.release.runtime:
        names = {"before": old.release.runtime, "after": state.release.runtime}
        yield RULES["other-runtime"].step("the container runtime of the target", **names)


def _runtime_unit(state: Expected | None, kubelet: str) -> str:
    if state is None or not state.platform.has_runtime_unit:
        return kubelet
    return f"{state.release.runtime}.service"
