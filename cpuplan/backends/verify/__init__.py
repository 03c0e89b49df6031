"""Objects with which a cluster verifies its nodes: an agent, its alerts, and a Job after syncs.

Only of classes whose intent has `verify`. docs/checking.md says what each object is for.
"""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.backends.base import Files, Manifest
from cpuplan.backends.verify import access, daemonset, job, monitoring, objects
from cpuplan.backends.verify import checks as checks
from cpuplan.backends.verify.objects import manifest
from cpuplan.plan import ConfiguredPlan


def are_in(plans: Iterable[ConfiguredPlan]) -> list[ConfiguredPlan]:
    """The plans whose intents ask to verify their nodes."""
    return [plan for plan in plans if plan.spec.verify]


def manifests(plan: ConfiguredPlan, state: str) -> Iterator[Manifest]:
    """The objects of one class; `state` is what its nodes must show."""
    verify = plan.spec.verify
    if verify is None:
        return
    made = [
        *access.of_class(plan, verify),
        objects.config_map(objects.agent(plan), verify, {objects.state_key(plan): state}),
    ]
    made.append(access.network_policy(plan, verify, daemonset.PORT))
    made.append(daemonset.document(plan, verify))
    if verify.prometheus:
        made.append(monitoring.pod_monitor(plan, verify, verify.prometheus))
        digest = objects.state_digest(state)
        made.append(monitoring.prometheus_rule(plan, verify, verify.prometheus, digest))
    yield from map(manifest, made)


def policies(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """What holds the tokens of agents to their own nodes; `check cluster` compares it."""
    asking = [(plan, plan.spec.verify) for plan in plans]
    yield from map(
        manifest, access.policy_documents([(plan, asked) for plan, asked in asking if asked])
    )


def cluster_manifests(plans: Sequence[ConfiguredPlan], compiled: Files) -> Iterator[Manifest]:
    """What the classes of a cluster share: namespaces, an SCC on OpenShift, and the Job.

    `compiled` is the file with the objects that the cluster must have, by its path below `out/`.
    """
    members = are_in(plans)
    yield from map(manifest, access.of_cluster(members))
    yield from map(manifest, job.documents(plans, members, compiled))
