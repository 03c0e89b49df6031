"""Objects that verify nodes, and the agent: CP670 to CP672, CP893, CP895, CP896, CP6140 and on."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP670": Code(
        "different Jobs for one cluster",
        "verify.{key} is {mine}; intent {first}, for the same cluster {cluster}, says {other}",
        "write the same {key} in all intents of the cluster that have verify.waitFor",
        "One Job waits after each sync until all nodes of a cluster hold their plan, so its image, its namespace and "
        "its time are the same in all intents that ask for it.",
    ),
    "CP671": Code(
        "namespace of others",
        "verify.namespace {namespace} {problem}",
        "write a namespace that nothing else uses, such as cpuplan",
        "cpuplan creates the namespace, lets its pods mount folders of the host, and removes it once no intent has "
        "`verify`.",
    ),
    "CP672": Code(
        "expected state too large",
        "the expected state of class {name} has {size} kB; a ConfigMap has room for {limit} kB",
        "split the intent, so that its classes have fewer nodes or settings, or check its nodes from outside of the "
        "cluster with `cpuplan check`",
        "The agents of a class read what its nodes must show from a ConfigMap, whose size the API server limits.",
    ),
    "CP6140": Code(
        "token of agents not held to its node",
        "Kubernetes {version} cannot hold the token of an agent to its node: with verify.{fields}, one that is stolen "
        "can {power}",
        "leave out verify.condition and verify.events, and read the agents' metrics (verify.prometheus), until the "
        "cluster has Kubernetes 1.30",
        "From Kubernetes 1.30 on, tokens name the node of their pod, and cpuplan writes a ValidatingAdmissionPolicy by "
        "which an agent changes the condition CPUPlanHolds of its own node and nothing else. Releases before have "
        "neither; RBAC knows no fields of an object.",
        severity="warning",
    ),
    "CP6141": Code(
        "agents with more power",
        "with verify.access {access}, an agent that is taken over {power}",
        "leave out verify.access; with /var/lib/kubelet/config.yaml in verify.files, an agent verifies the kubelet's "
        "configuration without it where the file is readable for all",
        "An agent with `access: user` can change nothing on its node, as the kernel lets no other user write, and "
        "reads what any user may. docs/checking.md has a table of the facts that need more.",
        severity="note",
    ),
    "CP6142": Code(
        "metrics open to all pods",
        "the NetworkPolicy of the agents lets pods of every namespace connect to port {port}",
        "write verify.prometheus.namespace: the namespace of the Prometheus that reads the metrics",
        "The agents' metrics say which facts of the plan differ on which node. cpuplan does not know where a cluster's "
        "Prometheus runs.",
        severity="note",
    ),
    "CP6143": Code(
        "file that agents have already",
        "verify.files has {path}, which is {problem}",
        "take it out of verify.files",
        "Files of verify.files are mounted one by one, below folders that agents do not have. Folders, keys and "
        "sockets are none.",
    ),
    "CP893": Code(
        "not in this installation",
        "cpuplan {command} needs {module}, which is not installed here",
        "run it where cpuplan is installed with all packages that it needs",
        "The file that `cpuplan bundle` writes has the commands agent, check, explain and snapshot, for nodes. What "
        "needs models of documents, or the solver, is not in it.",
    ),
    "CP895": Code(
        "no API server",
        "conditions and events need the cluster's API server: {problem}",
        "run the agent as a pod with a service account, or without --condition and --events",
        "The agent uses the service account of its pod, and no kubeconfig.",
    ),
    "CP896": Code(
        "address in use",
        "cannot listen on {address}: {problem}",
        "give another address with --listen, or none with `--listen off`",
        "The agent serves /metrics, /healthz and /readyz at this address.",
    ),
}
