"""The KubeletConfiguration: its fields, its defaults, and what the kubelet refuses."""
