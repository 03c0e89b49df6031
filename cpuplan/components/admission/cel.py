"""The words of CEL about shared CPUs, of which rules and patches are made."""

from cpuplan.components import crio

RESOURCE = "workload.openshift.io/enable-shared-cpus"
#: On a namespace; only the key counts, as for OpenShift's plugin.
ALLOWED = "workload.mixedcpus.openshift.io/allowed"
#: On a pod, for each container that shares: `cpu-shared.crio.io/<container>: enable`.
HOOK = crio.SHARED_HOOK
QUOTA_HOOK = crio.QUOTA_HOOK
#: CRI-O tells a container its shared CPUs by this variable, and reads it back at each update of the
#: container.
ENVIRONMENT = "OPENSHIFT_SHARED_CPUS"

# Init containers count: their requests are part of the pod's QoS class, and CRI-O does not tell
# them apart.
_CONTAINERS = (
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))"
)
# Requests only: the API server copies limits to them, and refuses an extended resource of which
# both are not equal.
_ASKS = f"has(c.resources) && has(c.resources.requests) && '{RESOURCE}' in c.resources.requests"
SETS_VARIABLE = f"has(c.env) && c.env.exists(e, e.name == '{ENVIRONMENT}')"
_HAS_ANNOTATIONS = "has(object.metadata.annotations)"

# Conditions have no variables. CRI-O's filter of annotations works by prefix, so look-alikes count
# too.
CONCERNS_SHARED_CPUS = (
    f"{_CONTAINERS}.exists(c, ({_ASKS}) || ({SETS_VARIABLE})) || "
    f"({_HAS_ANNOTATIONS} && object.metadata.annotations.exists(k, k.startsWith('{HOOK}')))"
)
ASKS_FOR_SHARED_CPUS = f"{_CONTAINERS}.exists(c, {_ASKS})"
# Annotations can be added to a pod that waits to be scheduled, changed and taken away, also with
# its status. All other updates pass: a pod that was admitted before there was a policy must still
# be able to lose a finalizer.
IS_NEW_OR_ANNOTATED = (
    f"request.operation == 'CREATE' || ({_HAS_ANNOTATIONS} && "
    "object.metadata.annotations.exists(k, "
    f"k.startsWith('{HOOK}') && !(has(oldObject.metadata.annotations) && k in "
    "oldObject.metadata.annotations && "
    "oldObject.metadata.annotations[k] == object.metadata.annotations[k]))) || "
    "(has(oldObject.metadata.annotations) && oldObject.metadata.annotations.exists(k, "
    f"k.startsWith('{HOOK}') && !({_HAS_ANNOTATIONS} && k in object.metadata.annotations)))"
)
# A scheduler binds a pod by a Binding object, whose annotations the API server copies to the
# pod (pkg/registry/core/pod/storage, assignPod).
BINDING_ANNOTATES = (
    f"{_HAS_ANNOTATIONS} && object.metadata.annotations.exists(k, k.startsWith('{HOOK}'))"
)
BINDING_REFUSED = f"a binding has an annotation {HOOK}, which only pods may have"
# An update in place of memory brings CRI-O no cpuset: it adds the shared CPUs to nothing, and the
# container loses its exclusive ones (internal/runtimehandlerhooks; seen with its code). The kubelet
# itself refuses to change exclusive CPUs.
RESIZE_REFUSED = (
    "a container with shared CPUs cannot be resized in place: CRI-O would take its exclusive CPUs "
    "from it; delete the pod and create it with the new resources"
)
#: What rules refer to; each may use those before it.
VARIABLES: dict[str, str] = {
    "containers": _CONTAINERS,
    "asking": f"variables.containers.filter(c, {_ASKS})",
    "annotations": f"{_HAS_ANNOTATIONS} ? object.metadata.annotations : {{}}",
}

# cpu and memory, each with a limit, all above 0 and equal to the request: the API server's rule for
# the class Guaranteed (pkg/apis/core/v1/helper/qos), which leaves out amounts of 0.
GUARANTEED = (
    "has(c.resources) && has(c.resources.limits) && has(c.resources.requests) && ['cpu', "
    "'memory'].all(r, "
    "r in c.resources.limits && r in c.resources.requests && "
    "quantity(c.resources.limits[r]).compareTo(quantity('0')) > 0 && "
    "quantity(c.resources.limits[r]).compareTo(quantity(c.resources.requests[r])) == 0)"
)

#: What tells CRI-O: a JSON patch, since the names of annotations are only known with the pod. `add`
#: replaces too. Nobody can know the right quota of shared CPUs, so there should be none.
ANNOTATE = (
    f"({_HAS_ANNOTATIONS} ? [] : "
    f"[JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{}}}}]) + "
    "variables.asking.map(c, JSONPatch{op: 'add', "
    f"path: '/metadata/annotations/' + jsonpatch.escapeKey('{HOOK}/' + c.name), value: 'enable'}})"
    f" + ('{QUOTA_HOOK}' in variables.annotations ? [] : [JSONPatch{{op: 'add', "
    f"path: '/metadata/annotations/' + jsonpatch.escapeKey('{QUOTA_HOOK}'), value: 'disable'}}])"
)
