"""Patches of Argo CD's own settings: health checks, and by what it knows its objects."""

from collections.abc import Iterable
from typing import Any

from cpuplan.backends.argocd import health
from cpuplan.backends.base import Files, to_file
from cpuplan.language.model.delivery import DeliverySpec

#: Not the default label, which applications use for themselves.
_LABEL = "argocd.argoproj.io/instance"


def files(delivery: DeliverySpec, kinds: Iterable[tuple[str, str]]) -> Files:
    """A patch for installations with a ConfigMap, and one for those of the operator.

    Neither is in the Kustomization: what they belong to is not cpuplan's.
    """
    given = frozenset(kinds)
    checks = health.of_config_map(given) if delivery.health_checks else {}
    data = {**_tracking(delivery), **checks}
    if not data:
        return {}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": delivery.namespace},
        "data": data,
    }
    return {
        "argocd/argocd-cm.yaml": to_file(config_map),
        "argocd/argocd.yaml": to_file(_operator(delivery, given)),
    }


def _tracking(delivery: DeliverySpec) -> dict[str, str]:
    if delivery.tracking is None:
        return {}
    label = {"application.instanceLabelKey": _LABEL} if delivery.tracking == "label" else {}
    return {**label, "application.resourceTrackingMethod": delivery.tracking}


def _operator(delivery: DeliverySpec, kinds: frozenset[tuple[str, str]]) -> dict[str, Any]:
    """The same as fields of the ArgoCD object; OpenShift GitOps calls it as its namespace."""
    spec: dict[str, Any] = {}
    if delivery.tracking == "label":
        spec["applicationInstanceLabelKey"] = _LABEL
    if delivery.health_checks:
        spec["resourceHealthChecks"] = health.of_operator(kinds)
    if delivery.tracking is not None:
        spec["resourceTrackingMethod"] = delivery.tracking
    return {
        "apiVersion": "argoproj.io/v1beta1",
        "kind": "ArgoCD",
        "metadata": {"name": delivery.namespace, "namespace": delivery.namespace},
        "spec": spec,
    }
