"""The operating system of a node: programs beside kubelet and runtime that read settings."""
