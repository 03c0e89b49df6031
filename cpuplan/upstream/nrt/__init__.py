"""What writes and reads NodeResourceTopology objects (topology.node.k8s.io).

The exporters (resource-topology-exporter, node-feature-discovery), the plugin
NodeResourceTopologyMatch of scheduler-plugins, and the API server's check by the CRD. It knows no
plan and no diagnostics.
"""
