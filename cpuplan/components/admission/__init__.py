"""Admission of pods that ask for shared CPUs: rules in CEL for policy objects.

OpenShift's API server has a plugin (autoscaling.openshift.io/MixedCPUs: openshift/kubernetes#1799)
that refuses more than one of the resource, pods that are not Guaranteed, and namespaces without the
annotation, and adds the annotation that CRI-O reads. The rules here are these, and more: the plugin
lets pods through that then silently get nothing, or that take shared CPUs without asking. All
expressions are here, each with its reason; `backends.admission` makes objects of them.
"""

from cpuplan.components.admission.cel import (
    ALLOWED,
    ANNOTATE,
    ASKS_FOR_SHARED_CPUS,
    BINDING_ANNOTATES,
    BINDING_REFUSED,
    CONCERNS_SHARED_CPUS,
    IS_NEW_OR_ANNOTATED,
    RESIZE_REFUSED,
    RESOURCE,
    VARIABLES,
)
from cpuplan.components.admission.rules import Rule, hints, rules, runtime_classes
from cpuplan.components.admission.servers import (
    adds_annotation,
    api_server,
    check,
    keeps_quota,
    mutating_api,
)

__all__ = [
    "ALLOWED",
    "ANNOTATE",
    "ASKS_FOR_SHARED_CPUS",
    "BINDING_ANNOTATES",
    "BINDING_REFUSED",
    "CONCERNS_SHARED_CPUS",
    "IS_NEW_OR_ANNOTATED",
    "RESIZE_REFUSED",
    "RESOURCE",
    "VARIABLES",
    "Rule",
    "adds_annotation",
    "api_server",
    "check",
    "hints",
    "keeps_quota",
    "mutating_api",
    "rules",
    "runtime_classes",
]
