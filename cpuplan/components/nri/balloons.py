"""BalloonsPolicy (config.nri/v1alpha1): the configuration of the NRI balloons policy for the nodes
of a class.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.components.emission import emit
from cpuplan.components.nri import policies, types
from cpuplan.components.nri.policies import PolicyInputs
from cpuplan.components.reasons import of_mechanism
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting
from cpuplan.upstream.nri.api import BALLOON, RESERVED

if TYPE_CHECKING:
    from cpuplan.upstream.nri.balloons.balloons_policy import Policy
    from cpuplan.upstream.nri.balloons.config import Config

NAME = rows.BALLOONS
KIND = "BalloonsPolicy"
#: The annotation of pods by which they come to a balloon, for all of their containers.
ANNOTATION = BALLOON


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the object; those of a type together."""
    if not plan.node_class.target.has_balloons:
        return
    yield from policies.settings(plan, rows.BALLOONS_POLICY)
    only_cpus = of_mechanism(plan, "it gives out CPUs only: memory stays the kernel's")
    yield from emit(plan, rows.BALLOONS_POLICY.pin_memory, False, (only_cpus,))
    yield from policies.agent(plan, rows.BALLOONS_POLICY)
    because = of_mechanism(plan)
    for known in types.of_plan(plan):
        why = (*known.because, because)
        yield from emit(plan, rows.BALLOON_TYPE, known.fields, why, type=known.name)


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods come to the balloon of a pool or set; empty where there is none for it."""
    if not plan.node_class.target.has_balloons:
        return ""
    if name.startswith(PARTITION):
        return f"those with the annotation {ANNOTATION}: {name}"
    others = {
        RESERVED: f"those of {policies.reserved_namespaces_text(plan)}",
        types.BEST_EFFORT: "BestEffort pods, except those of partitions",
    }
    return others.get(name, "")


def policy_inputs(plan: NodePlan) -> "PolicyInputs[Config]":
    """The planned machine, and the object as it is written: the API server adds nothing to it."""
    return PolicyInputs(policies.planned_machine(plan), config_of(tuple(settings(plan))))


def config_of(given: Sequence[Setting]) -> "Config":
    """What the policy reads in the object of these settings."""
    from cpuplan.upstream.nri.balloons.setup import decode_object

    return decode_object(document(given))


def started(plan: NodePlan) -> "Policy":
    """The policy on the planned machine; NriError or PanicError where it does not start."""
    from cpuplan.upstream.nri.balloons.balloons_policy import Policy  # for few plans

    return Policy(*policy_inputs(plan))


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    return policies.document(settings, KIND)


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return policies.render(settings, KIND)


#: The same fields of an object's YAML.
parse = policies.parse
