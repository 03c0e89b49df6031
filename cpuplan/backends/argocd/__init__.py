"""What Argo CD is given: a project, a set of Applications, and patches of its own settings."""

from cpuplan.backends.argocd import applications, plugin, project, settings
from cpuplan.backends.argocd.inputs import Inputs as Inputs
from cpuplan.backends.base import Files, to_file


def files(given: Inputs) -> Files:
    """The files below `argocd/`; what its Kustomization lists is applied by hand."""
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["appproject.yaml", "applicationset.yaml"],
    }
    return {
        "argocd/appproject.yaml": to_file(project.document(given)),
        "argocd/applicationset.yaml": to_file(applications.document(given)),
        "argocd/kustomization.yaml": to_file(listed),
        **settings.files(given.delivery, given.kinds),
        **(plugin.files() if given.delivery.plugin else {}),
    }
