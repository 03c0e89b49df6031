"""What a PerformanceProfile is called in the API."""

API_VERSION = "performance.openshift.io/v2"
KIND = "PerformanceProfile"
#: Before the names of the annotations by which the operator is told what the spec has no field for.
ANNOTATION_PREFIX = "performance.openshift.io/"
#: The annotation with a KubeletConfiguration as JSON.
SNIPPET = "kubeletconfig.experimental"
