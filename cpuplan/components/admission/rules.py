"""The rules of policies: each is a list of offenders, a variable, that must be empty.

So the refusal can name them.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.components.admission.cel import (
    ALLOWED,
    ENVIRONMENT,
    GUARANTEED,
    HOOK,
    QUOTA_HOOK,
    RESOURCE,
    SETS_VARIABLE,
)
from cpuplan.facts import versions
from cpuplan.facts.versions import Version


class Rule(NamedTuple):
    """What must hold: a variable that lists offenders, and the refusal.

    `text` is CEL and may name the offenders.
    """

    variable: str
    offenders: str
    message: str
    text: str


def _named(before: str, variable: str, after: str) -> str:
    """A text with the offenders in it."""
    return f"'{before} ' + variables.{variable}.join(', ') + ' {after}'"


_RULES: tuple[Rule, ...] = (
    # Who may use shared CPUs is for those to say who may annotate namespaces.
    Rule(
        "notAllowed",
        f"has(namespaceObject.metadata.annotations) && '{ALLOWED}' in "
        "namespaceObject.metadata.annotations "
        "? [] : variables.asking.map(c, c.name)",
        f"the namespace is not allowed for {RESOURCE}: annotate it with {ALLOWED}",
        f"'namespace ' + namespaceObject.metadata.name + ' is not allowed for {RESOURCE}: "
        f"annotate it with {ALLOWED}'",
    ),
    # The number says nothing but yes. OpenShift's plugin lets 0 through, annotates the pod, and
    # nobody counts it.
    Rule(
        "notOne",
        "variables.asking.filter(c, "
        f"quantity(c.resources.requests['{RESOURCE}']).compareTo(quantity('1')) != 0)"
        ".map(c, c.name)",
        f"a container asks for more or less than a single {RESOURCE}: set the request to 1 or "
        "remove it",
        _named(
            "container",
            "notOne",
            f"asks for more or less than a single {RESOURCE}: set the request to 1 or remove it",
        ),
    ),
    # Only Guaranteed pods get exclusive CPUs, beside which the shared ones are meant. OpenShift's
    # plugin does not look at init containers, and takes a request of 0 for equal to its limit.
    Rule(
        "notGuaranteed",
        "variables.asking.size() == 0 ? [] : variables.containers.filter(c, "
        f"!({GUARANTEED})).map(c, c.name)",
        f"the pod asks for {RESOURCE} and is not of QoS class Guaranteed",
        _named(
            f"the pod asks for {RESOURCE} and is not of QoS class Guaranteed: container",
            "notGuaranteed",
            "needs cpu and memory limits, and requests that equal them",
        ),
    ),
    # Fractions get no exclusive CPUs, and CRI-O's hooks pass over containers without (their shares
    # are no multiple of 1024). `cpu` is looked for, since a container without it is refused above
    # and must not be an error here.
    Rule(
        "notWhole",
        "variables.asking.filter(c, 'cpu' in c.resources.requests && "
        "!quantity(c.resources.requests['cpu']).isInteger()).map(c, c.name)",
        f"a container asks for {RESOURCE} and for a fraction of a CPU: exclusive CPUs are "
        "whole ones",
        _named(
            "container",
            "notWhole",
            f"asks for {RESOURCE} and for a fraction of a CPU: exclusive CPUs are whole ones",
        ),
    ),
    # CRI-O only knows of the request by the annotation. OpenShift's plugin has no eye for init
    # containers; on clusters without a policy that adds it, pods bring it.
    Rule(
        "notAnnotated",
        f"variables.asking.filter(c, !('{HOOK}/' + c.name in variables.annotations && "
        f"variables.annotations['{HOOK}/' + c.name] == 'enable')).map(c, '{HOOK}/' + c.name)",
        f"a container asks for {RESOURCE} without the annotation that CRI-O needs: annotate the "
        f"pod with {HOOK}/<container>: enable",
        _named(
            "CRI-O needs an annotation for each container that shares CPUs: annotate the pod with",
            "notAnnotated",
            "= enable",
        ),
    ),
    # The annotation alone would give the CPUs too, past the namespace's leave and the limit of
    # containers.
    Rule(
        "notAsking",
        f"variables.annotations.filter(k, k.startsWith('{HOOK}') && "
        f"!variables.asking.exists(c, k == '{HOOK}/' + c.name))",
        f"the pod has an annotation {HOOK} for a container that does not ask for {RESOURCE}",
        _named(
            "annotation",
            "notAsking",
            f"is for no container that asks for {RESOURCE}: request 1 of it or remove it",
        ),
    ),
    # CRI-O finds the shared CPUs of a running container in its environment: whoever sets the
    # variable gets those CPUs at the next update by the kubelet (internal/runtimehandlerhooks; seen
    # with its code).
    Rule(
        "setsVariable",
        f"variables.containers.filter(c, {SETS_VARIABLE}).map(c, c.name)",
        f"the variable {ENVIRONMENT} is for CRI-O to set",
        _named(
            "container",
            "setsVariable",
            f"sets the variable {ENVIRONMENT}, which is for CRI-O to set: remove it",
        ),
    ),
)
#: Since Kubernetes 1.32. The kubelet's CPU manager passes over such pods (gate
#: PodLevelResourceManagers: off).
_NO_POD_RESOURCES = Rule(
    "ofPod",
    "variables.asking.size() > 0 && has(object.spec.resources) ? variables.asking.map(c, "
    "c.name) : []",
    f"the pod asks for {RESOURCE} and has spec.resources",
    _named(
        "container",
        "ofPod",
        f"asks for {RESOURCE} in a pod with spec.resources, which gets no exclusive CPUs",
    ),
)


def rules(version: Version) -> Iterator[Rule]:
    """What refuses a pod, for the API server of a Kubernetes version."""
    yield from _RULES
    if version >= versions.FEATURES["api.pod_level_resources"]:
        yield _NO_POD_RESOURCES


def runtime_classes(names: Iterable[str]) -> dict[str, str]:
    """The variable with the names of runtime classes, a line for each, so that Git merges them."""
    return {"runtimeClasses": "\n".join(["[]", *(f"+ ['{name}']" for name in names)])}


def hints(*, throttled: bool) -> Iterator[Rule]:
    """What only warns, since it may be right on nodes that cpuplan does not know.

    `throttled`: on some nodes (`keeps_quota`).
    """
    # Other handlers do not allow the annotation: CRI-O drops it without a word.
    yield Rule(
        "otherRuntime",
        "has(object.spec.runtimeClassName) && object.spec.runtimeClassName in "
        "variables.runtimeClasses "
        "? [] : variables.asking.map(c, c.name)",
        "shared CPUs need a runtimeClassName of cpuplan's",
        _named("container", "otherRuntime", "gets no shared CPUs without a runtimeClassName of ")
        + " + variables.runtimeClasses.join(' or ')",
    )
    if throttled:
        yield Rule(
            "throttled",
            f"'{QUOTA_HOOK}' in variables.annotations && "
            f"variables.annotations['{QUOTA_HOOK}'] in ['disable', 'true'] ? [] : "
            "variables.asking.map(c, c.name)",
            f"shared CPUs need the annotation {QUOTA_HOOK}: disable",
            _named(
                "container",
                "throttled",
                f"is throttled to its exclusive CPUs without the annotation {QUOTA_HOOK}: disable",
            ),
        )
