"""What `simulate` starts from: pods of files or of intents, state files, amounts of resources."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.cli.output import shown_path
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose, errors
from cpuplan.language.read.files import refusal
from cpuplan.language.read.manifests import read_files
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission, manifests
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.workloads import pods_of
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import Quantity

#: Bytes of a state file: with 110 pods they have some 20 kB.
_MAX_STATE = 16 * 1024 * 1024


def read_pods(
    paths: Sequence[Path], *, with_claims: bool = False
) -> tuple[list[Item], list[Diagnostic]]:
    """The pods of files and folders, and what is wrong with these."""
    for path in paths:
        if not path.exists():
            raise click.UsageError(
                f"no such file or folder: {path}; a node or class must be the first name"
            )
    sources, problems = read_files(paths, shown_path)
    made = manifests.read(sources, with_claims=with_claims)
    problems += made.diagnostics
    if not made.items and not errors(problems):
        problems.append(diagnose("CP721", files=", ".join(map(str, paths))))
    return list(made.items), problems


def pods_of_workloads(plans: Sequence[ConfiguredPlan]) -> list[Item]:
    """The pods that the intent of the nodes says there must be room for."""
    intents = sorted({plan.node_class.intent for plan in plans})
    pods = pods_of(plans[0]) if len(intents) == 1 else []
    if pods:
        return [Item(pod) for pod in pods]
    several = len(intents) > 1
    why = "the nodes have several intents" if several else f"intent {intents[0]} has no workloads"
    raise click.UsageError(f"missing file with manifests: {why}")


def read_state(paths: Sequence[Path]) -> Node:
    """The state of a kubelet that ran before."""
    texts = []
    for path in paths:
        try:
            texts.append(read_regular(path, limit=_MAX_STATE).decode(errors="replace"))
        except Unreadable as error:
            raise CpuplanError([refusal(shown_path(path), error)]) from None
    return admission.read_state(texts)


def read_resources(texts: Iterable[str]) -> dict[str, Quantity]:
    """Amounts of the form `NAME=AMOUNT`. Raises UsageError for what is not one."""
    amounts = {}
    for text in texts:
        name, _, amount = text.partition("=")
        try:
            if not name:
                raise KubeletError("no name")
            amounts[name] = quantity.parse(amount)
        except KubeletError:
            problem = f"--resource is {text!r}; use NAME=AMOUNT, such as ephemeral-storage=100Gi"
            raise click.UsageError(problem) from None
    return amounts
