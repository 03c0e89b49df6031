"""NodeResourceTopology and the scheduler that reads it: CP650 to CP659."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP650": Code(
        "exporter that the API server refuses",
        "cluster {cluster}: {exporter} writes NodeResourceTopology {version}, but the CRD {crd} only serves {served}",
        "install a CRD that serves both versions (nodeResourceTopology.crd: noderesourcetopology-api), or let "
        "nodeResourceTopology.exporter be what runs on the nodes",
        "One group has CRDs of several distributors. The API's own, which resource-topology-exporter, "
        "node-feature-discovery and charts of Koordinator from 1.7 on install, serve v1alpha1 and v1alpha2; the manifest "
        "of scheduler-plugins serves v1alpha2 only, charts of Koordinator up to 1.6 serve v1alpha1 only. Both exporters "
        "write v1alpha2, koordlet v1alpha1. The plugin NodeResourceTopologyMatch reads v1alpha2, Koordinator's scheduler "
        "v1alpha1. Without objects, NodeResourceTopologyMatch passes every node.",
    ),
    "CP651": Code(
        "zones without CPUs or memory",
        "NodeResourceTopologyMatch refuses pods that request {what} on nodes of class {name}: with {settings}, {exporter} "
        "publishes none",
        "use cpuManagerPolicy static and memoryManagerPolicy Static, or a topologyManagerPolicy other than single-numa-node",
        "Exporters ask the kubelet's pod-resources API what can be allocated: it names CPUs with the static CPU manager "
        "only, and memory with the Static memory manager only. Of what no zone has, the plugin lets pods request devices "
        "and storage, but neither CPUs nor memory. It looks into nodes with single-numa-node only. Pods that are not "
        "Guaranteed pass where zones have 0 CPUs, but not where zones have no CPUs or no memory at all.",
        "warning",
    ),
    "CP652": Code(
        "nodes of one kind with unlike zones",
        "cluster {cluster}: nodes of intent {intent} differ in what NodeResourceTopology tells of them: {difference}",
        "give each hardware an intent and a label of its own, and let workloads select their nodes by it; or waive this "
        "where the difference is wanted",
        "NodeResourceTopologyMatch expects that nodes among which it chooses have the same NUMA topology and kubelet "
        "configuration, and cannot check that itself (README of the plugin, Cluster). Scores of unlike nodes cannot be "
        "compared: they are shares of what a zone has, and a pod that fits a NUMA node of one may fit none of the other.",
        "warning",
    ),
    "CP653": Code(
        "nodes that pass the filter unseen",
        "cluster {cluster}: NodeResourceTopologyMatch aligns pods on nodes of {aligned} only, and passes every node of {others}",
        "let pods that must be aligned select their nodes by a label, or set topologyManagerPolicy: single-numa-node on all "
        "nodes that may get them",
        "The plugin filters nodes with single-numa-node and passes those with any other policy (kubernetes-sigs/"
        "scheduler-plugins issue 885): a kubelet with restricted may still refuse the pod, and one with none or best-effort "
        "runs it on several NUMA nodes.",
        "warning",
    ),
    "CP654": Code(
        "more NUMA nodes than the plugin counts",
        "{exporter} does not publish how many NUMA nodes the kubelet allows, so LeastNUMANodes takes 8 for nodes of class "
        "{name}, which have {nodes}: the score of a pod on {too_many} NUMA nodes is {score}",
        "use another scoringStrategy of NodeResourceTopologyMatch, such as LeastAllocated",
        "The kubelet's option max-allowable-numa-nodes is the attribute topologyManagerMaxNUMANodes, which no exporter "
        "writes. A NUMA node more is 12 points less than 100, and the scheduler takes a score below 0 for a failure of the "
        "plugin: the pod stays pending.",
        "warning",
    ),
    "CP655": Code(
        "object that the API server refuses",
        "the API server refuses {object}: {problem}",
        "{hint}",
        "v1alpha1 needs topologyPolicies and zones, v1alpha2 zones only. A zone has name and type, and lists of costs "
        "({name, value}, a whole number), attributes ({name, value}, text) and resources ({name, capacity, "
        "allocatable, available}, quantities). null is no list.",
    ),
    "CP656": Code(
        "field that the API server drops",
        "the API server drops {field} of {object} without a word",
        "leave the field out; v1alpha1 has no attributes at the top, and neither version has a spec",
        "Fields that are not in the schema of the CRD are pruned when an object is stored. A v1alpha2 object loses its "
        "attributes when it is written in v1alpha1, as koordlet does.",
        "warning",
    ),
    "CP657": Code(
        "object on which the scheduler crashes",
        "NodeResourceTopologyMatch crashes on {object}: {problem}",
        "number the zones of type Node from node-0 on without gaps, up to node-63",
        "The plugin keeps the scores of zones in a list that is as long as there are NUMA nodes, at the number in the "
        "zone's name, and zones in a table of 64. A number beyond the end is a Go panic: the scheduler restarts, and "
        "crashes again. Zones of another type are not counted.",
    ),
    "CP658": Code(
        "value that nobody reads",
        "NodeResourceTopologyMatch passes over {value} in {object}",
        "{hint}",
        "Attributes have the kubelet's words, `topologyPolicies` joins policy and scope: SingleNUMANodePodLevel. What is "
        "neither counts as policy none, with which every pod passes. A zone whose name is not node- and a number is no NUMA "
        "node (the plugin's README shows numa-node-0, from which nothing is read).",
        "warning",
    ),
    "CP659": Code(
        "zones that contradict themselves",
        "{object}: {problem}",
        "write capacity, allocatable (without what is reserved) and available (without what pods have exclusively) in "
        "descending order, and each zone once",
        "The CRD checks types only. The plugin reads `available`, Koordinator's scheduler reads `allocatable`. Of two zones "
        "with one name, the plugin takes from both, and fails where one of them has too little.",
        "warning",
    ),
}
