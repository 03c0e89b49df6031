"""Names of PerformanceProfiles in the API."""

API_VERSION = "performance.openshift.io/v2"
KIND = "PerformanceProfile"
#: Prefix of the operator's annotations, for switches that have no field in the spec.
ANNOTATION_PREFIX = "performance.openshift.io/"
#: The annotation with a KubeletConfiguration as JSON.
SNIPPET = "kubeletconfig.experimental"
