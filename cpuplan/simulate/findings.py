"""What is found on simulated nodes beside refusals: as diagnostics."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import traps
from cpuplan.simulate.fleet import Simulated
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.names import full_name, listed
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubernetes.kube_features import Gates

#: No pod can come where the kubelet does not start.
NOT_STARTED = {"CP701", "CP702", "CP703"}
#: Of the intent's workloads, which are not the pods at hand.
_OF_WORKLOADS = {"CP708", "CP712", "CP713", "CP7155", "CP731"}


def of_plans(plans: Iterable[ConfiguredPlan], locate: Locate) -> list[Diagnostic]:
    """What goes wrong on these nodes whatever the pods are."""
    problems = dict.fromkeys(problem for plan in plans for problem in traps.check(plan, locate))
    return [problem for problem in problems if problem.code not in _OF_WORKLOADS]


def of_claims(plans: Iterable[ConfiguredPlan], items: Iterable[Item]) -> Iterator[Diagnostic]:
    """Pods that claim other CPUs than they request, or none, on the first class with such nodes."""
    plan = next((plan for plan in plans if plan.node_class.target.has_dra), None)
    if plan is None:
        return
    from cpuplan.simulate.dra.checking import Given, check  # for few plans

    facts = planned(plan)
    gates = Gates(facts.config.get("featureGates") or {}, facts.version)
    given = (Given(item.pod, full_name(item.pod), item.place()) for item in items)
    if facts.dra:
        yield from check(given, facts.dra, gates)


def of_pods(nodes: Sequence[Simulated]) -> Iterator[Diagnostic]:
    """What the pods at hand bring about."""
    for node in nodes:
        remainder = node.outcome.remainder
        if remainder.overlap:
            pod, cpu, other = remainder.overlap
            whose = f"{other} has exclusively" if other else "is reserved"
            example = f"{pod} gets CPU {cpu}, which {whose}"
            if node.plan.node_class.target.has_koordinator:
                yield diagnose("CP730", name=node.plan.node_class.name, example=example)
            else:
                yield diagnose("CP704", hardware=node.plan.node_class.hardware, example=example)
        for code, example in remainder.findings:
            yield diagnose(code, name=node.plan.node_class.name, example=example)
        for again, refused in remainder.after_restart:
            who = full_name(again) if again else "its own state file"
            problem = f"{refused.reason}: {refused.message}"
            yield diagnose("CP708", node=listed(node.nodes), pod=who, problem=problem)
