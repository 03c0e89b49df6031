"""`cpuplan simulate --with`: several mechanisms on one layout, side by side."""

from collections.abc import Sequence
from pathlib import Path

import click

from cpuplan.base.text import did_you_mean, listed
from cpuplan.cli import simulation
from cpuplan.cli.output import echo_result, print_remarks, settings, use_colour
from cpuplan.cli.simulation import UNPROVEN, Run, remarks
from cpuplan.simulate.allocators import KUBELET as PLANNED_POLICY
from cpuplan.simulate.allocators import PLANNED
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.simulate.comparison import Under, compare
from cpuplan.simulate.fleet import is_single
from cpuplan.simulate.mechanisms import DRA, KUBELET, MECHANISMS

_ALL = "all"
#: What people call them.
_OTHER_NAMES = {"static": KUBELET}


def run(simulated: Run, svg: Path | None, output_format: str, *, of_workloads: bool) -> int:
    """Simulate the mechanisms that are wanted, and print them; the exit code."""
    wanted = simulated.wanted
    if wanted.beside is None:
        raise click.UsageError("--adapt is for --with")
    mechanisms = mechanisms_of(wanted.beside)
    _check(simulated)
    if svg and not is_single(simulated.chosen):
        raise click.UsageError("--svg needs a single node; give its name")
    start = simulated.start._replace(start=start_planned)
    pods = simulation.pods_of_workloads if of_workloads else lambda _: simulated.items
    locate = simulated.project.locate
    compared = compare(simulated.chosen, pods, mechanisms, start, locate, adapt=wanted.adapt)
    _print(simulated, compared, svg, output_format)
    print_remarks(remarks(simulated))
    results = [under.result for under in compared]
    if any(result is None or result.refuses for result in results):
        return 1
    return 0 if all(result and result.is_complete for result in results) else UNPROVEN


def has_claims(words: str | None) -> bool:
    """Whether claims in manifests matter."""
    return bool(words) and DRA in mechanisms_of(words or "")


def mechanisms_of(words: str) -> tuple[str, ...]:
    """The mechanisms of a list such as `kubelet,dra`, in its order; UsageError for other names."""
    names = [_OTHER_NAMES.get(name, name) for name in map(str.strip, words.split(",")) if name]
    if names == [_ALL]:
        return MECHANISMS
    for name in names:
        if name not in MECHANISMS:
            known = ", ".join(MECHANISMS)
            text = f"--with: there is no mechanism {name!r}; there are {known}, and all"
            raise click.UsageError(f"{text}. {did_you_mean(name, MECHANISMS)}".rstrip(". "))
    if not names:
        raise click.UsageError(f"--with needs mechanisms, such as {listed(list(MECHANISMS), 2)}")
    return tuple(dict.fromkeys(names))


def _check(simulated: Run) -> None:
    """Raise UsageError for options that ask for something else than pods that arrive."""
    wanted = simulated.wanted
    others = (
        ("--policy", wanted.policy != PLANNED_POLICY),
        ("--scheduler", wanted.scheduler != PLANNED),
        ("--any-order", wanted.any_order),
        ("--end", bool(wanted.ending)),
        ("--each", wanted.on_each_node),
        ("--state", simulated.start.state != type(simulated.start.state)()),
    )
    for option, is_given in others:
        if is_given:
            raise click.UsageError(f"--with and {option} exclude each other")


def _print(simulated: Run, compared: Sequence[Under], svg: Path | None, output_format: str) -> None:
    from cpuplan.render.simulation import mechanisms

    if svg:
        _draw(simulated, compared, svg)
    if output_format == "json":
        from cpuplan.base.emit import to_json
        from cpuplan.base.text import printable_values

        echo_result(to_json(printable_values(mechanisms.data(compared)), sort_keys=False))
        return
    text = mechanisms.text(compared, whole=settings().verbose)
    echo_result(text, colour=use_colour() and not settings().output)


def _draw(simulated: Run, compared: Sequence[Under], svg: Path) -> None:
    """One picture of the node under each mechanism, one below the other."""
    from cpuplan.render.map.svg import draw_svgs
    from cpuplan.render.simulation.text import owners_map
    from cpuplan.write.files import write_file

    ((plan, (name,)),) = simulated.chosen
    hardware = simulated.project.hardware_of(plan.node_class)
    maps = []
    for under in compared:
        for node in under.result.nodes if under.result else ():
            drawn = owners_map(node, name, hardware)
            maps.append(drawn._replace(title=f"{under.mechanism}: {drawn.title}"))
    if not maps:
        raise click.UsageError("--svg: no mechanism starts on this node")
    write_file(svg, draw_svgs(f"containers with CPUs of their own on {name}", maps))
