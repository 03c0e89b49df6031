"""OpenShift's API server and kubelet: what their own admission does with pods of the platform."""
