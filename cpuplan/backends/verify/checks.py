"""What `verify` of intents cannot be, or costs: CP670 to CP672, CP6140 to CP6143."""

import re
from collections.abc import Container, Iterator, Sequence

from cpuplan.backends.verify import access, daemonset, job, objects
from cpuplan.components import admission_rules
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import versions
from cpuplan.language.model.rollout import Verify
from cpuplan.plan import ConfiguredPlan, NodePlan

#: Namespaces of the cluster itself.
_OF_THE_CLUSTER = re.compile(r"default|(kube|openshift)(-.*)?")
#: Fields of `verify` that the one Job of a cluster has from its intents.
_OF_THE_JOB = {"image": "image", "namespace": "namespace", "waitFor": "wait_for"}

#: What the right behind each field is power over, where nothing holds a token to its node.
_TOKEN = {
    "condition": "set readiness, addresses, amounts and labels of every node of its class",
    "events": "create Events about any object of the namespace default",
}
#: What an agent can do with more than a user's access.
_POWER = {
    "root": "reads the keys of its node, and can write what its container runtime leaves writable",
    "tracing": "is root of its node: SYS_PTRACE leads past every read-only mount",
}
#: Files that nobody should hand to a container.
_SECRET = re.compile(r"/pki/|/secrets?/|token|kubeconfig|shadow|\.(key|pem|p12|sock)\Z")


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP670, CP671 and CP6140 to CP6143, for all classes of a cluster; each intent once."""
    shared = {name for plan in plans for name in plan.spec.runtime.shared_namespaces}
    of_intents = {plan.node_class.intent: plan for plan in plans}
    for plan in of_intents.values():
        yield from _namespace(plan, shared, locate)
        if plan.spec.verify:
            yield from _power(plan, plan.spec.verify, locate)
            yield from _files(plan, plan.spec.verify, locate)
    yield from _jobs(job.asking(list(of_intents.values())), locate)


def _namespace(plan: NodePlan, shared: Container[str], locate: Locate) -> Iterator[Diagnostic]:
    """CP671 for a namespace that is somebody else's."""
    verify = plan.spec.verify
    if verify is None:
        return
    name = verify.namespace
    if _OF_THE_CLUSTER.fullmatch(name):
        problem = "is one of the cluster itself"
    elif name in shared:
        problem = "is among runtime.sharedNamespaces, whose pods share CPUs"
    else:
        return
    yield diagnose("CP671", _place(plan, "namespace", locate), namespace=name, problem=problem)


def _power(plan: NodePlan, verify: Verify, locate: Locate) -> Iterator[Diagnostic]:
    """CP6140 to CP6142: what an agent, or who takes one over, can do."""
    asked = [field for field in _TOKEN if getattr(verify, field)]
    if asked and not access.is_known(plan):
        server = admission_rules.api_server(plan)
        yield diagnose(
            "CP6140",
            _place(plan, asked[0], locate),
            version=versions.to_text(server) if server else plan.node_class.target.version,
            fields=" and verify.".join(asked),
            power=" and ".join(_TOKEN[field] for field in asked),
        )
    if verify.access in _POWER:
        place = _place(plan, "access", locate)
        yield diagnose("CP6141", place, access=verify.access, power=_POWER[verify.access])
    if verify.prometheus and verify.prometheus.namespace is None:
        yield diagnose("CP6142", _place(plan, "prometheus", locate), port=daemonset.PORT)


def _files(plan: ConfiguredPlan, verify: Verify, locate: Locate) -> Iterator[Diagnostic]:
    """CP6143 for a file that would be mounted twice, or that is none to hand out."""
    folders = [folder.path for folder in daemonset.folders(plan, verify)]
    for at, path in enumerate(verify.files):
        inside = (folder for folder in folders if f"{path}/".startswith(f"{folder}/"))
        if folder := next(inside, ""):
            problem = f"in {folder}, which agents have as a whole"
        elif path in verify.files[:at]:
            problem = "there twice"
        elif _SECRET.search(path):
            problem = "a key, a token, a kubeconfig or a socket by its name"
        else:
            continue
        place = _place(plan, f"files.{at}", locate)
        yield diagnose("CP6143", place, path=path, problem=problem)


def check_size(plan: NodePlan, state: str, locate: Locate) -> Iterator[Diagnostic]:
    """CP672 for an expected state that no ConfigMap has room for."""
    size = len(state.encode())
    if size > objects.MOST:
        yield diagnose(
            "CP672",
            locate(plan.node_class.place("verify")),
            name=plan.node_class.name,
            size=f"{-(-size // 10_000) * 10:,}",
            limit=f"{objects.MOST // 1000:,}",
        )


def _jobs(asking: Sequence[tuple[NodePlan, Verify]], locate: Locate) -> Iterator[Diagnostic]:
    """CP670 where intents of a cluster want different Jobs: it has one."""
    for plan, verify in asking[1:]:
        first, of_first = asking[0]
        for key, field in _OF_THE_JOB.items():
            mine, other = getattr(verify, field), getattr(of_first, field)
            if mine != other:
                position = _place(first, key, locate)
                text = f"intent {first.node_class.intent}"
                yield diagnose(
                    "CP670",
                    _place(plan, key, locate),
                    labels=[Label(position, text)] if position else [],
                    cluster=plan.node_class.cluster,
                    key=key,
                    mine=mine,
                    other=other,
                    first=first.node_class.intent,
                )


def _place(plan: NodePlan, key: str, locate: Locate) -> Position | None:
    """The field of `verify`; the whole where only the default says so."""
    place = plan.node_class.place
    return locate(place(f"verify.{key}")) or locate(place("verify"))
