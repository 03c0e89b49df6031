"""The topology manager (pkg/kubelet/cm/topologymanager)."""
