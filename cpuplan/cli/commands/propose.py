"""`cpuplan propose`: an Intent for a pool of a must-gather, by numbers of CPUs."""

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpuplan.base import naming
from cpuplan.cli.documents import HEADER, write_new
from cpuplan.cli.output import echo, print_diagnostics, print_remarks, settings
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.profiles.propose import choice as asked

if TYPE_CHECKING:
    from cpuplan.profiles.propose.cluster import Dump
    from cpuplan.profiles.propose.proposal import Proposal

_HINT = (
    "view the new document with --stdout, then overwrite the file with --force, or choose "
    "another --name"
)


def _choice(words: tuple[str, ...]) -> "click.Choice[str]":
    return click.Choice(words, case_sensitive=False)


@click.command()
@click.argument(
    "must_gather",
    metavar="MUST-GATHER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--pool", help="The MachineConfigPool; on a hosted cluster, the node pool.")
@click.option("--reserved", type=int, metavar="CPUS", help="CPUs for the system.")
@click.option(
    "--split",
    is_flag=True,
    help="Reserve CPUs on every NUMA node, not only on the first one that has room.",
)
@click.option(
    "--offlined", type=int, default=0, metavar="CPUS", help="CPUs to switch off.  [default: 0]"
)
@click.option("--disable-smt", is_flag=True, help="Use one thread of each core: boot with nosmt.")
@click.option("--rt-kernel", is_flag=True, help="Use the real-time kernel.")
@click.option(
    "--power",
    type=_choice(asked.POWER),
    default="default",
    help="Power consumption that is accepted for low latency.",
)
@click.option("--per-pod-power", is_flag=True, help="Let pods save power on their CPUs.")
@click.option(
    "--topology-policy",
    type=_choice(asked.TOPOLOGY_POLICIES),
    default="restricted",
    help="Topology manager policy of the kubelet.",
)
@click.option(
    "--user-level-networking",
    is_flag=True,
    help="Give network devices as many queues as there are reserved CPUs.",
)
@click.option(
    "--hardware-tuning",
    type=click.IntRange(1),
    nargs=2,
    metavar="ISOLATED RESERVED",
    help="Highest frequencies in kHz.",
)
@click.option("--name", default="", help="Name of the Intent.  [default: that of the pool]")
@click.option(
    "--release",
    default="",
    help="OpenShift release, such as 4.20, if the must-gather does not contain it.",
)
@click.option(
    "--cluster", default="", help="Name of the cluster, if the must-gather does not contain it."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the Intent.  [default: intents/]",
)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the Intent and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite an existing Intent.")
@click.option(
    "--list", "to_list", is_flag=True, help="List pools, nodes, NUMA nodes and cores instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(must_gather: Path, output: Path | None, **options: Any) -> int:
    """Propose an Intent for the nodes of a pool in MUST-GATHER, from numbers of CPUs.

    Works like OpenShift's performance profile creator; docs/openshift.md describes the
    improvements.
    """
    from cpuplan.profiles.propose.cluster import Dump

    if options["to_list"]:
        return _list(Dump(must_gather), as_json=options["as_json"])
    request = request_of(**options)
    from cpuplan.profiles.propose.proposal import propose

    proposal = propose(Dump(must_gather), request)
    print_diagnostics(proposal.diagnostics)
    print_remarks(proposal.remarks)
    if proposal.intent is None:
        return 1
    text = render(proposal)
    if options["to_stdout"]:
        echo(text, nl=False)
        return 0
    folder = output or settings().root / "intents"
    return write_new({folder / f"{request.name}.yaml": text}, _HINT, force=options["force"])


def request_of(**options: Any) -> asked.Request:
    """The request of the command's options.

    Raises UsageError for missing and contradicting options, and CpuplanError.
    """
    if not options["pool"] or options["reserved"] is None:
        missing = "--reserved" if options["pool"] else "--pool"
        raise click.UsageError(f"{missing} is missing; --list shows the pools and nodes")
    wanted = asked.Request(
        pool=options["pool"],
        reserved=options["reserved"],
        offlined=options["offlined"],
        split=options["split"],
        disable_smt=options["disable_smt"],
        real_time=options["rt_kernel"],
        power=options["power"],
        per_pod_power=options["per_pod_power"],
        topology_policy=options["topology_policy"],
        user_level_networking=options["user_level_networking"],
        frequencies=options["hardware_tuning"],
        name=options["name"] or options["pool"],
        release=options["release"],
        cluster=options["cluster"],
    )
    if wanted.release and not re.fullmatch(asked.RELEASE_PATTERN, wanted.release):
        raise click.UsageError(
            f"--release is {wanted.release!r}, which is not a valid release; use one such as 4.20"
        )
    if wanted.release:
        from cpuplan.components.checks.releases import unknown
        from cpuplan.facts.programs import OPENSHIFT

        if not OPENSHIFT.find(wanted.release):
            raise CpuplanError([unknown(OPENSHIFT, wanted.release)])
    if problem := asked.contradiction(wanted):
        raise click.UsageError(problem)
    if problem := naming.problem_of(wanted.name):
        instead = naming.instead_of(wanted.name)
        raise CpuplanError([diagnose("CP207", name=wanted.name, problem=problem, instead=instead)])
    return wanted


def render(proposal: "Proposal") -> str:
    """The Intent as YAML; what explains it stands above."""
    from cpuplan.base.emit import to_yaml

    comments = "".join(f"{line}\n" for line in proposal.comments)
    return to_yaml(proposal.intent, HEADER.format(kind="intent") + comments)


def _list(dump: "Dump", *, as_json: bool) -> int:
    from cpuplan.profiles.propose import cluster

    pools = cluster.listed_pools(dump)
    echo(cluster.listing_json(pools) if as_json else cluster.listing_text(pools), nl=False)
    names = chain.from_iterable(pools.values())
    problems = [*dump.diagnostics, *chain.from_iterable(map(dump.problems, names))]
    print_diagnostics(problems)
    print_remarks(dump.remarks)
    return 1 if errors(problems) else 0
